"""Output within a budget of tokens: both ends are shown, and what lies between is counted."""

BYTES_A_TOKEN = 4
_STRIDE = 1 << 10


def most_bytes(tokens: int) -> int:
    """Return how many bytes a whole answer may have: its budget and a fifth."""
    return tokens * BYTES_A_TOKEN * 6 // 5


def token_count(size: int) -> int:
    """Return about how many tokens so many bytes are."""
    return -(-size // BYTES_A_TOKEN)


def size_of(text: str) -> int:
    """Return how many bytes a text takes."""
    return len(text) if text.isascii() else len(_bytes(text))


def omission(count: int) -> str:
    """Return the line that stands for bytes that are left out."""
    return f"... {count} bytes omitted ..."


def joined(head: str, tail: str, omitted: int) -> str:
    """Return both ends of an output as one text; if bytes are missing between them, a line says how many."""
    if not omitted:
        return head + tail
    before = "" if not head or head.endswith("\n") else "\n"
    return f"{head}{before}{omission(omitted)}\n{tail}"


def cut_middle(text: str, tokens: int) -> str:
    """Return a text of about so many tokens at most: its two ends, and between them what was cut.

    No character is cut in half, so a few bytes of the budget may stay unused.
    """
    budget = tokens * BYTES_A_TOKEN
    size = size_of(text)
    if size <= budget:
        return text
    head, tail = _ends(text, budget)
    return f"{head}…{token_count(size - budget)} tokens truncated…{tail}"


def bytes_kept(text: str, tokens: int, head: bytes, tail: bytes, omitted: int) -> tuple[int, int]:
    """Return how many bytes are left of the beginning and of the end of an output when its text is cut.

    The text is that of `head` and `tail`, decoded and `joined`.
    """
    first, last = _ends(text, tokens * BYTES_A_TOKEN)
    if not omitted:
        head = tail = head + tail
    shown_of_tail = max(0, len(tail.decode(errors="replace")) - len(last))
    return _bytes_of(head, len(first)), len(tail) - _bytes_of(tail, shown_of_tail)


def shown(
    text: str, tokens: int, *, original_tokens: int | None = None, omitted: int = 0, brief: bool = False
) -> str:
    """Return an output as a model gets it: as it is if it fits, else cut, with a warning above.

    If that is to be `brief`, the place where it was cut has to say so alone.
    `original_tokens` counts all that was printed, also what `text` lacks;
    `omitted` is how many bytes were left out of it where a line says so.
    """
    size = size_of(text)
    if size <= tokens * BYTES_A_TOKEN:
        return text
    body = cut_middle(text, tokens)
    if brief:
        return body
    original = token_count(size) if original_tokens is None else original_tokens
    said = [f"Warning: truncated output (original token count: {original})"]
    if not omitted:
        said.append(f"Total output lines: {line_count(text)}")
    elif omission(omitted) not in body:
        said.append(omission(omitted))
    return "\n".join([*said, "", body])


def line_count(text: str) -> int:
    """Return how many lines a text has; an unfinished one counts."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def _ends(text: str, budget: int) -> tuple[str, str]:
    """Return the two ends of a text that has more bytes than so many."""
    left = budget // 2
    data = _bytes(text)
    start = len(data) - (budget - left)
    while _within(data, left):
        left -= 1
    while _within(data, start):
        start += 1
    return _text(data[:left]), _text(data[start:])


def _bytes_of(data: bytes, characters: int) -> int:
    """Return how many bytes the first characters of some output were; all of them, if it has fewer."""
    if data.isascii():
        return min(characters, len(data))
    try:
        return size_of(data.decode()[:characters])
    except UnicodeDecodeError:
        return _bytes_of_broken(data, characters)


def _bytes_of_broken(data: bytes, characters: int) -> int:
    """Return the same of output that is no text, in which other bytes may stand for a character too."""
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder("utf-8")("replace")
    seen = at = 0
    while at + _STRIDE < len(data) and seen < characters - 2 * _STRIDE:
        seen += len(decoder.decode(data[at : at + _STRIDE]))
        at += _STRIDE
    while at < len(data) and seen < characters:
        seen += len(decoder.decode(data[at : at + 1]))
        at += 1
    return at - 1 if seen > characters else at  # the last byte has also ended what came before it


def _within(data: bytes, place: int) -> bool:
    """True if a place lies inside of a character."""
    return place < len(data) and data[place] & 0xC0 == 0x80


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
