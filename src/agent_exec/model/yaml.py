"""Values as YAML that every parser of YAML 1.1 or 1.2 reads back as the same data."""

from agent_exec.model.jsonline import dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KEYWORDS = frozenset("y n yes no on off true false null nan inf".split())
_FORBIDDEN = frozenset(map(chr, (*range(0xD800, 0xE000), 0xFEFF, 0xFFFE, 0xFFFF)))
_STEP = "  "


def dump_yaml(value: "dict[str, Any]") -> str:
    """Return a dict of dicts, lists, texts, numbers, booleans and None as a YAML document."""
    return _block(value, "").lstrip()


def _block(value: object, indent: str) -> str:
    """Return what follows a key or a dash: the rest of its line, or lines of their own after a newline."""
    if isinstance(value, dict) and value:
        lines = [f"{indent}{_key(key)}:{_block(item, indent + _STEP)}" for key, item in value.items()]
    elif isinstance(value, list | tuple) and value:
        # Its first line has room beside the dash.
        lines = [f"{indent}- {_block(item, indent + _STEP).lstrip()}" for item in value]
    elif isinstance(value, str) and _is_plain_text(value):
        lines = [f"{indent}{line}\n" if line else "\n" for line in value.removesuffix("\n").split("\n")]
        return f" |{len(_STEP)}{_chomping(value)}\n{''.join(lines)}"
    else:
        return f" {_scalar(value)}\n"
    return "\n" + "".join(lines)


def _is_plain_text(text: str) -> bool:
    """True if a text of several lines can stand as it is: visible characters, spaces and tabs only."""
    return "\n" in text.strip("\n") and text.replace("\n", "").replace("\t", "").isprintable()


def _chomping(text: str) -> str:
    if not text.endswith("\n"):
        return "-"
    return "+" if text.endswith("\n\n") else ""


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, dict | list | tuple):
        return "{}" if isinstance(value, dict) else "[]"
    return dump(value)


def _quoted(text: str) -> str:
    """Return a text in double quotes: as in JSON, but for characters that a YAML document may not have."""
    if text.isascii() or text.isprintable():
        return dump(text)
    # Two escapes for one character are two characters in YAML, so each half character is escaped by itself.
    inner = [f"\\u{ord(one):04x}" if one in _FORBIDDEN else dump(one)[1:-1] for one in text]
    return f'"{"".join(inner)}"'


def _float(value: float) -> str:
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return text.replace("inf", ".inf").replace("nan", ".nan")
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}{exponent}{power}"


def _key(key: object) -> str:
    text = str(key)
    plain = text.isascii() and text.isidentifier() and text.lower() not in _KEYWORDS
    return text if plain else _scalar(text)
