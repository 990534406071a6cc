"""How many cells a character takes: none, one or two."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_known: dict[str, int] = {}
_REMEMBERED = 4096
_compiled: "re.Pattern[str] | None" = None


def special() -> "re.Pattern[str]":
    """Return the expression for characters that may take none or two; all others take one."""
    global _compiled  # noqa: PLW0603
    if _compiled is None:
        import re

        one = "\u0000-\u02ff\u0370-\u0482\u048a-\u0590\u1e00-\u200a\u2010-\u2027\u2030-\u205f\u2070-\u20cf"
        one += "\u2100-\u2319\u2400-\u25fc\u2776-\u2793\u27c0-\u2b1a\ue000-\uf8ff\ufffd"
        _compiled = re.compile(f"([^{one}])")
    return _compiled


def width(character: str) -> int:
    """Return the number of cells."""
    size = _known.get(character)
    if size is None:
        from unicodedata import category, east_asian_width

        if category(character) in {"Mn", "Me", "Cf"} or "\u1160" <= character <= "\u11ff":
            size = 0
        else:
            size = 2 if east_asian_width(character) in "WF" else 1
        if len(_known) >= _REMEMBERED:
            _known.clear()
        _known[character] = size
    return size
