"""Sets values in the text of a TOML file, and leaves every other character as it is.

Statements are found by the library's parser: a table ends at the first line
that looks like a header and before which the text of the table is whole.
"""

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

from agent_exec.apps.mcp.install.json_text import Mistake, nested

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HEADER = re.compile(r"^[ \t]*\[|\Z", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n?")
_VALUE_END = re.compile(r"[ \t\r]*(?:#|\n|\Z)")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read(text: str) -> dict[str, Any]:
    """Return the value of a text; raise Mistake if it is invalid."""
    try:
        return tomllib.loads(text)
    except ValueError as error:
        found = re.search(r"at line (\d+)", str(error))
        raise Mistake(str(error), int(found[1]) if found else None) from None


def put(text: str, table: "Sequence[str]", values: "dict[str, Any]") -> str:
    """Return the text with these values in a table, which is made at the end if it is missing.

    Values that stay the same are not touched. Raise Mistake for a table that
    is written in another way than under a header of its own.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    now: Any = read(text)
    for name in table:
        now = now.get(name) if isinstance(now, dict) else None
    if now is None:
        gap = "" if not text.strip() or text.endswith(("\n\n", "\n\r\n")) else newline
        gap += newline if gap and not text.endswith("\n") else ""
        lines = [f"[{'.'.join(map(_key, table))}]", *(_assigned(*one) for one in values.items())]
        return text + gap + newline.join(lines) + newline
    for name, value in values.items():
        if not isinstance(now, dict) or now.get(name) != value:
            text = _set(text, table, name, value, newline)
    return text


def _set(text: str, table: "Sequence[str]", name: str, value: Any, newline: str) -> str:
    """Write a value in the place of another, or in a new line below the last one of its table."""
    within = [section for section in _sections(text) if section[2] == nested(table, {})]
    if not within:
        raise Mistake(f"{'.'.join(table)} has no header of its own, and is left to you")
    start, end, _ = within[0]
    last = end
    for line in _LINE.finditer(text, start, end):
        key, equals, _ = line[0].partition("=")
        if equals and _parsed(f"{key}= 0") == {name: 0} and _parsed(text[start : line.start()]) is not None:
            begins = line.start() + len(key) + 1
            begins += len(text[begins:]) - len(text[begins:].lstrip(" \t"))
            for cut in _VALUE_END.finditer(text, begins):
                if _parsed(f"x = {text[begins : cut.start()]}") is not None:
                    return text[:begins] + _shown(value) + text[cut.start() :]
        if line[0].strip() and not line[0].lstrip().startswith("#"):
            last = line.end()
    if any(section[2] == nested((*table, name), {}) for section in _sections(text)):
        raise Mistake(f"{'.'.join((*table, name))} is written in parts, which are left to you")
    gap = "" if text[:last].endswith("\n") else newline
    return f"{text[:last]}{gap}{_assigned(name, value)}{newline}{text[last:]}"


def _sections(text: str) -> "Iterator[tuple[int, int, dict[str, Any] | None]]":
    """Yield where each table begins and ends, and its header as a value: `[a.b]` is `{"a": {"b": {}}}`."""
    start = 0
    for header in _HEADER.finditer(text):
        section = text[start : header.start()]
        if _parsed(section) is not None:  # else it is in a text or a list
            yield start, header.start(), _parsed(section.partition("\n")[0].rstrip("\r"))
            start = header.start()


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def _assigned(name: str, value: Any) -> str:
    return f"{_key(name)} = {_shown(value)}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _shown(name)


def _shown(value: Any) -> str:
    """Return a text, a number, a list or a table of them as TOML; raise Mistake for others."""
    if isinstance(value, dict):
        inner = ", ".join(_assigned(*one) for one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if not isinstance(value, str | int):
        raise Mistake(f"{value} stands beside what is to be changed, which is left to you")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
