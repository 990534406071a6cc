"""Any text made safe to be shown: nothing in it moves the cursor, changes a colour or hides."""

from unicodedata import category

from agent_exec.terminal.widths import width

LONGEST = 8192
"""How many characters of one line are shown."""

TAB = 8
_REMEMBERED = 4096
_KEPT = "\u200c\u200d"  # they join letters and emoji


class _Pictures(dict[int, str]):
    """The visible form of each character that was met, made when first needed."""

    __slots__ = ()

    def __missing__(self, code: int) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        picture = self[code] = _picture(chr(code))
        return picture


def shown(text: str | bytes, limit: int = LONGEST) -> str:
    """Return one line of text, or of bytes, as it can be shown: a control character as its picture.

    What is no UTF-8 is U+FFFD, or in a name of the file system its number.
    Tabs are spaces. What is longer than `limit` ends with how much is left out.
    """
    line = text if isinstance(text, str) else text.decode("utf-8", "replace")
    more = len(line) - limit
    if more > 0:
        line = line[:limit]
    if not line.isprintable():
        line = line.translate(_pictures)
        if "\t" in line:
            line = _untabbed(line)
    return line if more <= 0 else f"{line}… (+{more} characters)"


def clipped(text: str, limit: int) -> str:
    """Return the beginning of a text on one line, safe to be shown; ends of lines are written out."""
    head = text[: limit + 1].replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    line = shown(head[:limit])
    return line if len(head) <= limit else f"{line}..."


def cells(text: str) -> int:
    """Return how many cells a safe line takes on a screen."""
    return len(text) if text.isascii() else sum(map(width, text))


def _untabbed(line: str) -> str:
    if line.isascii():
        return line.expandtabs(TAB)
    parts = line.split("\t")
    column = 0
    for number, part in enumerate(parts[:-1]):
        column += cells(part)
        gap = TAB - column % TAB
        column += gap
        parts[number] = part + " " * gap
    return "".join(parts)


def _picture(character: str) -> str:
    code = ord(character)
    if character == "\t" or character.isprintable() or character in _KEPT:
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if category(character) in ("Zs", "Co"):
        return character
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte of a name that is no text
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_pictures = _Pictures()
