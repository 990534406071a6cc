"""Output within a budget of tokens: both ends are shown, and what lies between is counted."""

BYTES_A_TOKEN = 4


def token_count(size: int) -> int:
    """Give about how many tokens so many bytes are."""
    return -(-size // BYTES_A_TOKEN)


def size_of(text: str) -> int:
    """Give how many bytes a text takes."""
    return len(text) if text.isascii() else len(_bytes(text))


def omission(count: int) -> str:
    """Give the line that stands for bytes that are left out."""
    return f"... {count} bytes omitted ..."


def joined(head: str, tail: str, omitted: int) -> str:
    """Give both ends of an output as one text; if bytes are missing between them, a line says how many."""
    if not omitted:
        return head + tail
    before = "" if not head or head.endswith("\n") else "\n"
    return f"{head}{before}{omission(omitted)}\n{tail}"


def cut_middle(text: str, tokens: int) -> str:
    """Give a text of about so many tokens at most: its two ends, and between them what was cut.

    No character is cut in half, so a few bytes of the budget may stay unused.
    """
    budget = tokens * BYTES_A_TOKEN
    size = size_of(text)
    if size <= budget:
        return text
    left = budget // 2
    data = _bytes(text)
    start = size - (budget - left)
    while _within(data, left):
        left -= 1
    while _within(data, start):
        start += 1
    return f"{_text(data[:left])}…{token_count(size - budget)} tokens truncated…{_text(data[start:])}"


def shown(text: str, tokens: int, *, original_tokens: int | None = None, omitted: int = 0) -> str:
    """Give an output as a model gets it: as it is if it fits, else cut, with a warning above.

    `original_tokens` counts all that was printed, also what `text` lacks;
    `omitted` is how many bytes were left out of it where a line says so.
    """
    size = size_of(text)
    if size <= tokens * BYTES_A_TOKEN:
        return text
    body = cut_middle(text, tokens)
    original = token_count(size) if original_tokens is None else original_tokens
    said = [f"Warning: truncated output (original token count: {original})"]
    if not omitted:
        said.append(f"Total output lines: {line_count(text)}")
    elif omission(omitted) not in body:
        said.append(omission(omitted))
    return "\n".join([*said, "", body])


def line_count(text: str) -> int:
    """Give how many lines a text has; an unfinished one counts."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def _within(data: bytes, place: int) -> bool:
    """Tell whether a place lies inside of a character."""
    return place < len(data) and data[place] & 0xC0 == 0x80


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
