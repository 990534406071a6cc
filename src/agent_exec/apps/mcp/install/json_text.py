"""Sets a value in the text of a JSON file, with or without comments, and leaves all other characters.

Comments and trailing commas are overwritten with blanks first, so that the
library's parser reads the rest, and every offset in it is one of the text.
"""

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_COMMENT = re.compile(rf"{_STRING}|(//[^\r\n]*|/\*.*?\*/)", re.DOTALL)
_COMMA = re.compile(rf"{_STRING}|[\[{{:,]\s*,|(,)(?=\s*[\]}}])", re.DOTALL)
_BLANK = re.compile(r"[ \t\r\n]*")
_INDENT = "  "
_SAID = {
    "Expecting ',' delimiter": "a comma is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting property name enclosed in double quotes": "a name in quotes is missing",
    "Expecting value": "a value is missing",
    "Extra data": "there is more after the end",
    "Invalid control character at": "a value is missing: a string ends on the line that it begins on",
    "Invalid \\escape": "a string with an unknown escape is not a value",
}


class Mistake(ValueError):
    """The text is invalid, or cannot be changed in place."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def read(text: str, *, strict: bool = False) -> Any:
    """Return the value of a text; raise Mistake if it is invalid, or has a comment with `strict`."""
    return _parsed(text, strict)[0]


def put(text: str, path: "Sequence[str]", value: Any, *, strict: bool = False) -> str:
    """Return the text with this value at the end of a path of names; missing objects on the way are made."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        return _shown(nested(path, value), _INDENT, "", newline) + newline
    _, plain = _parsed(text, strict)
    start, end = _after_blanks(plain, 0), len(plain)
    unit = ""
    for depth, name in enumerate(path):
        if plain[start] != "{":
            raise Mistake(f"{'.'.join(path[:depth]) or 'the file'} is not an object", _line(text, start))
        members, end = _members(plain, start)
        if not unit:  # one level, as the first member of the file has it
            first = next((begins for begins, _ in members.values()), start)
            unit = _margin(text, first)[len(_margin(text, start)) :] or _INDENT
        if name not in members:
            added = nested(path[depth + 1 :], value)
            return _insert(text, start, end, members, (name, added), unit, newline)
        start, end = members[name]
    return text[:start] + _shown(value, unit, _margin(text, start), newline) + text[end:]


def _blanked(pattern: "re.Pattern[str]", text: str) -> str:
    """Return the text with every match of the group overwritten with blanks."""
    return pattern.sub(lambda one: one[0] if one[1] is None else " " * len(one[1]), text)


def _refuse(word: str) -> None:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _parsed(text: str, strict: bool) -> tuple[Any, str]:
    """Return the value of a text, and the text without comments, each character still in its place."""
    try:
        return _DECODER.decode(text), text  # most are plain JSON
    except (ValueError, RecursionError):
        plain = _blanked(_COMMA, _blanked(_COMMENT, text))
    if strict and plain != text:
        place = next(place for place, letter in enumerate(plain) if letter != text[place])
        what = "a comma before the end" if text[place] == "," else "a comment"
        raise Mistake(f"{what}, which this file may not have", _line(text, place))
    try:
        return _DECODER.decode(plain), plain
    except json.JSONDecodeError as error:
        said = _SAID.get(error.msg.partition(": ")[0], error.msg)
        if error.pos >= len(plain.rstrip()):
            said = "it ends too early"
        elif plain[error.pos - 1 : error.pos + 1].isdigit():
            said = "a number that begins with 0 is not a value"
        raise Mistake(said, _line(text, error.pos)) from None
    except RecursionError:
        raise Mistake("it is nested too deeply") from None
    except ValueError as error:  # for a constant, or a number with too many digits
        for one in re.finditer(f"{_STRING}|({re.escape(str(error))})", plain):
            if one[1] is not None:
                raise Mistake(f"a value is missing: {error} is not one", _line(text, one.start())) from None
        raise Mistake(str(error)) from None


def _members(plain: str, start: int) -> tuple[dict[str, tuple[int, int]], int]:
    """Return where the values of an object are, by name, and where the object ends."""
    found: dict[str, tuple[int, int]] = {}
    place = _after_blanks(plain, start + 1)
    while plain[place] != "}":
        name, place = _DECODER.raw_decode(plain, place)
        begins = _after_blanks(plain, _after_blanks(plain, place) + 1)  # behind the colon
        _, ends = _DECODER.raw_decode(plain, begins)
        found[name] = begins, ends
        place = _after_blanks(plain, ends)
        if plain[place] == ",":
            place = _after_blanks(plain, place + 1)
    return found, place + 1


def _after_blanks(plain: str, place: int) -> int:
    found = _BLANK.match(plain, place)
    return place if found is None else found.end()


def _insert(
    text: str,
    start: int,
    end: int,
    members: dict[str, tuple[int, int]],
    member: tuple[str, Any],
    unit: str,
    newline: str,
) -> str:
    """Return the text with one more member behind the last one of an object, on a line of its own."""
    base = _margin(text, start)
    indent = base + unit
    last, comma = start + 1, ""
    for begins, ends in members.values():
        last = ends
        own_line = text[text.rfind("\n", 0, begins) + 1 : begins].lstrip()[:1] == '"'
        indent = _margin(text, begins) if own_line else base + unit
    close = end - 1
    rest = _blanked(_COMMENT, text[last:close])  # blanks, and perhaps a comma
    if "," in rest:
        last += rest.index(",") + 1
    elif members:
        comma = ","
    name, value = member
    line = f"{newline}{indent}{json.dumps(name, ensure_ascii=False)}: {_shown(value, unit, indent, newline)}"
    found = re.search(r"[\r\n]", _blanked(_COMMENT, text[last:close]))
    if found is None:  # the brace is on the same line
        gap = text[last:close].rstrip(" \t")
        return f"{text[:last]}{comma}{gap}{line}{newline}{base}{text[close:]}"
    stop = last + found.start()
    return f"{text[:last]}{comma}{text[last:stop]}{line}{text[stop:]}"


def nested(path: "Sequence[str]", value: Any) -> Any:
    """Return a value inside of objects, one for each name of a path."""
    for name in reversed(path):
        value = {name: value}
    return value


def _shown(value: Any, unit: str, margin: str, newline: str) -> str:
    """Return a value as JSON; its lines begin with a margin, but not the first."""
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + margin)


def _margin(text: str, place: int) -> str:
    """Return the blanks at the start of the line of a place."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
