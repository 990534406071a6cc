"""JSON on one line, written and read by the C parts of the standard library alone.

The package around them costs as much as starting the interpreter.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    def _quote(text: str) -> str: ...
    def _quote_ascii(text: str) -> str: ...
    def _scan(text: str, start: int) -> tuple[Any, int]: ...
else:
    from _json import encode_basestring as _quote
    from _json import encode_basestring_ascii as _quote_ascii
    from _json import make_scanner

    class _Settings:
        strict = False
        object_hook = None
        object_pairs_hook = None
        parse_float = float
        parse_int = int
        parse_constant = float

    _scan = make_scanner(_Settings)

# Line ends to some readers, though not to JSON.
_SPECIAL = {"\x7f": "\\u007f", "\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def dump(value: object) -> str:
    """Give a value as JSON on one line: text as it is, half characters escaped."""
    line = _dump(value)
    if line.isascii() and "\x7f" not in line:
        return line
    for character, escape in _SPECIAL.items():
        line = line.replace(character, escape)
    return line


def _dump(value: object) -> str:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return _quote_ascii(value)
        return _quote(value)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ",".join(_quote(key) + ":" + _dump(item) for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_dump, value)) + "]"
    raise TypeError(f"JSON has no {type(value).__name__}")


def load(text: str) -> "Any":
    """Give the value of a JSON text; raise ValueError if it is none."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("no JSON value") from None
    if text[end:].strip():
        raise ValueError("more than one JSON value")
    return value
