"""Checks that a here-document ends where the syntax tree says, and that nothing in it is overlooked."""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_DELIMITER = re.compile(r"(?:'([\w.-]+)'|\"([\w.-]+)\"|\\?([\w.-]+))", re.ASCII)
_CODE = re.compile(r"`|\\\n|\$[({\[]")


def delimiter(start: str) -> str | None:
    """Return the word that ends a here-document; None if it is not a plain one."""
    found = _DELIMITER.fullmatch(start)
    return None if found is None else found[1] or found[2] or found[3]


def quoted(start: str) -> bool:
    """True if the body is taken as it is."""
    return start[:1] in ("'", '"', "\\")


def ends_at(source: bytes, after: int, word: str, *, tabs: bool) -> int | None:
    """Return where the line begins that ends the body, which begins on the line after this position."""
    at = source.find(b"\n", after)
    wanted = word.encode()
    while at >= 0:
        begin = at + 1
        at = source.find(b"\n", begin)
        line = source[begin : len(source) if at < 0 else at]
        if (line.lstrip(b"\t") if tabs else line) == wanted:
            return begin
    return None


def overlooked(pieces: "Iterable[str]") -> bool:
    """True if the literal pieces of a body that is expanded hold code after all."""
    return any(_CODE.search(re.sub(r"\\[\\$`]", "", piece)) for piece in pieces)
