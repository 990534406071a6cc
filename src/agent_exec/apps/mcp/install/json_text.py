"""Changes one value in the text of a JSON file, and leaves every other character as it is.

Comments and commas after the last member are read, as editors allow them in
the files of their settings; a strict reader refuses both. Of members with the
same name the last counts, as it does for clients.
"""

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_BLANK = re.compile(r"[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_INDENT = "  "


class Mistake(ValueError):
    """The text is not what it should be."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Node(NamedTuple):
    """A value, and where in the text it is; of an object on the way also where its members are."""

    start: int
    end: int
    value: Any
    members: "dict[str, Node] | None" = None
    last: int = 0
    """Behind the last member of an object and its comma, or behind the brace."""
    comma: bool = True
    """Whether a member could be written there as it is."""


def read(text: str, *, strict: bool = False) -> Any:
    """Give the value of a text."""
    return _Reader(text, strict).document(()).value


def put(text: str, path: "Sequence[str]", value: Any, *, strict: bool = False) -> str:
    """Give the text with this value at the end of a path of names; objects on the way are made."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        return _shown(_nested(path, value), _INDENT, "", newline) + newline
    node = _Reader(text, strict).document(path)
    unit = _unit(text, node)
    for depth, name in enumerate(path):
        if node.members is None:
            raise Mistake(f"{_name(path[:depth])} is no object", _line(text, node.start))
        if name not in node.members:
            return _insert(text, node, name, _nested(path[depth + 1 :], value), unit, newline)
        node = node.members[name]
    return text[: node.start] + _shown(value, unit, _margin(text, node.start), newline) + text[node.end :]


def _nested(path: "Sequence[str]", value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _name(path: "Sequence[str]") -> str:
    return ".".join(path) or "the file"


def _insert(text: str, node: Node, name: str, value: Any, unit: str, newline: str) -> str:
    """Write a member behind the last one of an object, on a line of its own."""
    base = _margin(text, node.start)
    indent = base + unit
    for other in (node.members or {}).values():
        indent = _margin(text, other.start)
        if text[text.rfind("\n", 0, other.start) + 1 : other.start].lstrip()[:1] != '"':
            indent = base + unit  # it does not begin its line
    member = (
        f"{newline}{indent}{json.dumps(name, ensure_ascii=False)}: {_shown(value, unit, indent, newline)}"
    )
    close = node.end - 1
    place = _line_end(text, node.last, close)
    if place is None:  # the brace is on the same line
        gap = text[node.last : close].rstrip(" \t")
        rest = f"{gap}{member}{newline}{base}{text[close:]}"
    else:
        rest = f"{text[node.last : place]}{member}{text[place:]}"
    return text[: node.last] + ("" if node.comma else ",") + rest


def _line_end(text: str, start: int, end: int) -> int | None:
    """Give where the line ends that a member ends on, comments included; nothing if that is behind `end`."""
    place = start
    while place < end:
        found = _BLANK.match(text, place)
        if found is None:
            return None
        if found[0][0] in " \t\r\n":
            for offset, letter in enumerate(found[0]):
                if letter in "\r\n":
                    return place + offset
        place = found.end()
    return None


def _shown(value: Any, unit: str, margin: str, newline: str) -> str:
    """Give a value as text; its lines begin with a margin, but not the first."""
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + margin)


def _margin(text: str, place: int) -> str:
    """Give the blanks that the line of a place begins with."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, node: Node) -> str:
    """Give what one level is indented by: as the first member is."""
    for member in (node.members or {}).values():
        margin = _margin(text, member.start)
        return margin[len(_margin(text, node.start)) :] or _INDENT
    return _INDENT


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _refuse(word: str) -> None:
    raise ValueError(word)


_PLAIN = json.JSONDecoder(parse_constant=_refuse).raw_decode


class _Reader:
    """Reads a text, and notes where things are on the way along a path of names.

    What is beside the path is left to the library's parser, which is many
    times as fast, unless that stumbles over a comment or a mistake.
    """

    def __init__(self, text: str, strict: bool) -> None:
        self._text = text
        self._place = 0
        self._after_comma = 0
        self._strict = strict

    def document(self, path: "Sequence[str]") -> Node:
        try:
            self._blank()
            node = self._value(path)
            self._blank()
        except RecursionError:
            raise Mistake("it is nested too deeply") from None
        if self._place < len(self._text):
            raise self._mistake("there is more after the end")
        return node

    def _mistake(self, message: str) -> Mistake:
        return Mistake(message, _line(self._text, self._place))

    def _blank(self) -> None:
        while found := _BLANK.match(self._text, self._place):
            if self._strict and found[0][0] == "/":
                raise self._mistake("a comment, which this file may not have")
            self._place = found.end()

    def _next(self) -> str:
        return self._text[self._place : self._place + 1]

    def _value(self, path: "Sequence[str]" = ()) -> Node:
        start = self._place
        if not path and (found := self._plain(start)):
            return found
        if self._next() == "{":
            return self._object(start, path)
        if self._next() == "[":
            return self._array(start)
        scalar = _STRING.match(self._text, start) or _SCALAR.match(self._text, start)
        if scalar is None:
            raise self._mistake("a value is missing" if self._next() else "it ends too early")
        value = self._loaded(scalar[0])
        self._place = scalar.end()
        return Node(start, self._place, value)

    def _plain(self, start: int) -> Node | None:
        """Read an array or an object that is plain JSON."""
        if self._next() not in ("[", "{"):
            return None
        try:
            value, self._place = _PLAIN(self._text, start)
        except ValueError:
            return None
        return Node(start, self._place, value)

    def _loaded(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            raise self._mistake(f"{text[:40]} is no value") from None

    def _array(self, start: int) -> Node:
        values = []
        self._place += 1
        self._blank()
        while self._next() != "]":
            values.append(self._value().value)
            self._comma("]")
        self._place += 1
        return Node(start, self._place, values)

    def _object(self, start: int, path: "Sequence[str]") -> Node:
        members: dict[str, Node] = {}
        self._place += 1
        last, comma = self._place, True
        self._blank()
        while self._next() != "}":
            if not (found := _STRING.match(self._text, self._place)):
                raise self._mistake("a name in quotes is missing" if self._next() else "it ends too early")
            name = self._loaded(found[0])
            self._place = found.end()
            self._blank()
            if self._next() != ":":
                raise self._mistake("a colon is missing")
            self._place += 1
            self._blank()
            members[name] = self._value(path[1:] if name in path[:1] else ())
            last = self._place
            comma = self._comma("}")
            if comma:
                last = self._after_comma
        self._place += 1
        value = {name: node.value for name, node in members.items()}
        return Node(start, self._place, value, members, last, comma)

    def _comma(self, close: str) -> bool:
        """Take the comma after a value, if there is one; it must be there, or the end."""
        self._blank()
        if self._next() == close:
            return False
        if self._next() != ",":
            raise self._mistake("a comma is missing" if self._next() else "it ends too early")
        self._place += 1
        self._after_comma = self._place
        self._blank()
        if self._strict and self._next() == close:
            raise self._mistake("a comma before the end, which this file may not have")
        return True
