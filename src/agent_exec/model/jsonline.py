"""JSON on one line, written and read by the C parts of the standard library alone.

The package around them costs as much as starting the interpreter.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    def _quote(text: str) -> str: ...
    def _quote_ascii(text: str) -> str: ...
    def _scan(text: str, start: int) -> tuple[Any, int]: ...
    def _encode(value: object, indent: int) -> tuple[str, ...]: ...
else:
    from _json import encode_basestring as _quote
    from _json import encode_basestring_ascii as _quote_ascii
    from _json import make_encoder, make_scanner

    def _unknown(value: object) -> str:
        raise TypeError(f"JSON has no {type(value).__name__}")

    _scan = make_scanner(
        type(sys.implementation)(  # a plain namespace: a class would cost as much as all else here
            strict=False,
            object_hook=None,
            object_pairs_hook=None,
            parse_float=float,
            parse_int=int,
            parse_constant=float,
        )
    )
    _encode = make_encoder(None, _unknown, _quote, None, ":", ",", False, False, True)

_CODES = (
    *range(0x7F, 0xA0),  # DEL and the C1 controls, which terminals obey; two of them end lines
    *(0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),  # what turns text round
    *(0x2028, 0x2029),  # ends of lines to some readers, though not to JSON
)


def dump(value: object) -> str:
    """Return a value as JSON on one line, safe to be shown on a terminal.

    Text is as it is, but for control characters, those that change the
    direction of text, and half characters, which are escaped.
    """
    text = "".join(_encode(value, 0))
    if text.isascii() and "\x7f" not in text:
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _dump(value)
    return escaped(text)


def escaped(line: str) -> str:
    """Return a JSON text in which characters that a terminal obeys, or that end a line, are escaped."""
    if (line.isascii() and "\x7f" not in line) or line.isprintable():
        return line
    for code in _CODES:
        line = line.replace(chr(code), f"\\u{code:04x}")
    return line


def _dump(value: object) -> str:
    """Return JSON with each text that has half characters escaped, part by part."""
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
    """Return the value of a JSON text; raise ValueError for an invalid one."""
    try:
        value, end = _scan(text, 0)
    except (StopIteration, SystemError):  # the latter is how it fails where the package is not loaded
        raise ValueError("no JSON value") from None
    if text[end:].strip():
        raise ValueError("more than one JSON value")
    return value
