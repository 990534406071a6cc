"""Changes values in the text of a TOML file, and leaves every other character as it is."""

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from agent_exec.apps.mcp.install.json_text import Mistake

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)+")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})|' + r"'''.*?'''(?:'{0,2})|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'",
    re.DOTALL,
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Statement(NamedTuple):
    """A header of a table, or a name and its value: the whole path, and where the value is."""

    path: tuple[str, ...]
    start: int
    end: int
    is_header: bool


def read(text: str) -> dict[str, Any]:
    """Return what a text says."""
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError as error:
        found = re.search(r"at line (\d+)", str(error))
        raise Mistake(str(error), int(found[1]) if found else None) from None


def put(text: str, table: "Sequence[str]", values: "dict[str, Any]") -> str:
    """Return the text with these values in a table, which is made at the end if it is not there.

    What stays the same is not touched. Refuses with a Mistake a table that is
    written in another way than under a header of its own.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    now: Any = read(text)
    for name in table:
        now = now.get(name) if isinstance(now, dict) else None
    if now is None:
        return _append(text, table, values, newline)
    for name, value in values.items():
        if not isinstance(now, dict) or now.get(name) != value:
            text = _set(text, (*table, name), value, newline)
    return text


def _append(text: str, table: "Sequence[str]", values: "dict[str, Any]", newline: str) -> str:
    lines = [
        f"[{'.'.join(map(_key, table))}]",
        *(f"{_key(name)} = {_shown(one)}" for name, one in values.items()),
    ]
    if not text.strip():
        gap = text
    elif text.endswith("\n"):
        gap = text if text.endswith(("\n\n", "\n\r\n")) else text + newline
    else:
        gap = text + newline + newline
    return gap + newline.join(lines) + newline


def _set(text: str, path: tuple[str, ...], value: Any, newline: str) -> str:
    """Write a value in the place of another, or in a new line at the end of its table."""
    end = None
    for one in _statements(text):
        if one.path == path and not one.is_header:
            return text[: one.start] + _shown(value) + text[one.end :]
        if one.path[: len(path)] == path:
            raise Mistake(
                f"{'.'.join(path)} is written in parts, which are left to you", _line(text, one.start)
            )
        if (one.is_header and one.path == path[:-1]) or (
            end and not one.is_header and one.path[:-1] == path[:-1]
        ):
            end = one.end
    if end is None:
        raise Mistake(f"{'.'.join(path[:-1])} has no header of its own, and is left to you")
    stop = text.find("\n", end)
    line = f"{_key(path[-1])} = {_shown(value)}"
    if stop < 0:
        return f"{text}{newline}{line}{newline}"
    return f"{text[: stop + 1]}{line}{newline}{text[stop + 1 :]}"


def _statements(text: str) -> "Iterator[Statement]":
    """Return the statements of a text that is right, in order."""
    place = 0
    table: tuple[str, ...] = ()
    while True:
        found = _BLANK.match(text, place)
        place = found.end() if found else place
        if place >= len(text):
            return
        if text[place] == "[":
            brackets = 2 if text.startswith("[[", place) else 1
            table, end = _path(text, place + brackets)
            end = text.index("]", end) + brackets
            yield Statement(table, place, end, True)
        else:
            key, end = _path(text, place)
            start = text.index("=", end) + 1
            while text[start] in " \t":
                start += 1
            end = _value_end(text, start)
            yield Statement((*table, *key), start, end, False)
        place = end


def _path(text: str, place: int) -> tuple[tuple[str, ...], int]:
    """Read the names of a path; return them, and where they end."""
    names = []
    while text[place] in " \t":
        place += 1
    while found := _KEY.match(text, place):
        word = found[0]
        names.append(read(f"x = {word}")["x"] if word[0] in "\"'" else word)
        place = found.end()
        dot = _DOT.match(text, place)
        if dot is None:
            break
        place = dot.end()
    return tuple(names), place


def _value_end(text: str, place: int) -> int:
    depth = 0
    while place < len(text):
        letter = text[place]
        if letter in "\"'":
            found = _TEXT.match(text, place)
            place = found.end() if found else len(text)
            continue
        if letter == "#" or letter in "\r\n":
            if depth == 0:
                break
            if letter == "#":
                place = text.find("\n", place)
                continue
        depth += (letter in "[{") - (letter in "]}")
        place += 1
    return len(text[:place].rstrip(" \t"))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _shown(name)


def _shown(value: Any) -> str:
    """Give a text, a number, a list or a table of them as TOML; refuse with a Mistake what we never write."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(name)} = {_shown(one)}" for name, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if not isinstance(value, str | int):
        raise Mistake(f"{value} stands beside what is to be changed, which is left to you")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
