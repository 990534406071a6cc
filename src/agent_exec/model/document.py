"""A TOML document with the line of every key, table and element: what is wrong in it is found again."""

import re
import tomllib

from agent_exec.model.command import seconds
from agent_exec.model.errors import InvalidArgument, InvalidSettings, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, NoReturn

    Path = tuple[str | int, ...]
    Fields = Mapping[str, tuple[str, str]]
    """The keys of a table, each with its kind and an example of a value."""

_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r]+|\#[^\n]*)
    |(?P<line>\n)
    |(?P<text>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    |(?P<mark>[\[\]{}=,.])
    |(?P<word>[^\s\[\]{}=,.\#"']+)""",
    re.VERBOSE | re.DOTALL,
)


class Document:
    """What a TOML text says (`data`), and where: the lines of all paths into it.

    A path is the names of tables and keys, and the indexes of elements. `name`
    is the file, as messages give it, and `error` the type of what is raised.
    """

    __slots__ = ("_error", "_lines", "_text", "data", "name")

    def __init__(self, text: str, name: str, error: type[Refused] = InvalidSettings) -> None:
        self.name = name
        self._error = error
        self._text = text
        self._lines: dict[Path, int] | None = None
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError) as wrong:
            found = re.search(r"at line (\d+)", str(wrong))
            line = int(found[1]) if found else text.count("\n") + 1
            raise error(f"{name}:{line}: this is not TOML: {wrong}", file=name, line=line) from None

    def line(self, path: "Path") -> int:
        """Return the line of a path, or of the nearest thing around it that is there."""
        if self._lines is None:
            self._lines = _Lines(self._text).found
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def wrong(self, path: "Path", message: str) -> "NoReturn":
        """Raise the error about what is at a path."""
        line = self.line(path)
        raise self._error(f"{self.name}:{line}: {message}", file=self.name, line=line)

    def table(self, path: "Path") -> "dict[str, Any]":
        """Return the table at a path, empty if it is missing; raise an error for another value."""
        found: Any = self.data
        for part in path:
            found = found.get(part, {})
            if not isinstance(found, dict):
                self.wrong(path, f"{title(path)} must be a table of keys; got {found!r}")
        return dict(found)

    def fields(self, path: "Path", known: "Fields") -> "dict[str, Any]":
        """Return the checked values of the table at a path; raise an error for what is not in `known`.

        Times are returned in seconds, and a text where texts may be as a list of one.
        """
        found = self.table(path)
        for key, value in found.items():
            place = (*path, key)
            if key not in known:
                more = nearest(key, known) or f"; it has {', '.join(known)}"
                self.wrong(place, f"{title(path)} has no {key!r}{more}")
            kind, example = known[key]
            what, check = _KINDS[kind]
            try:
                found[key] = check(value)
            except (TypeError, ValueError, InvalidArgument):
                hint = f"write {key} = {example}" if example else f"write [{key}] and keys below it"
                self.wrong(place, f"{title(path)} {key} must be {what}; got {_shown(value)}; {hint}")
        return found


def title(path: "Path") -> str:
    """Return what messages call the table at a path."""
    return f"[{'.'.join(map(str, path))}]" if path else "this file"


def _shown(value: object) -> str:
    return {True: "true", False: "false"}.get(value, repr(value)) if isinstance(value, bool) else repr(value)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise TypeError
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_text(one) for one in value]


def _words(value: object) -> list[str]:
    if not _texts(value):
        raise ValueError
    return _texts(value)


def _either(value: object) -> list[str]:
    return [_text(value)] if isinstance(value, str) else _texts(value)


def _command(value: object) -> str | list[str]:
    return _text(value) if isinstance(value, str) else _words(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise TypeError
    return value


def _time(value: object) -> float:
    text = _text(value)
    if text != "0" and text[-1].isdecimal():
        raise ValueError  # without a unit it may mean seconds or milliseconds
    return seconds(text, bare="s")


def _port(value: object) -> str:
    if isinstance(value, str) and value == "auto":
        return value
    if not 0 < _count(value) < 1 << 16:
        raise ValueError
    return str(value)


def _table(value: object) -> object:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _mapping(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or any("=" in name or not name for name in value):
        raise TypeError
    found = {}
    for name, one in value.items():
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            raise TypeError
        found[name] = str(one)
    return found


_KINDS: "dict[str, tuple[str, Callable[[object], Any]]]" = {
    "table": ("a table", _table),
    "text": ("a text that is not empty", _text),
    "texts": ("a list of texts", _texts),
    "words": ("a list of words, the program first", _words),
    "text or texts": ("a text or a list of texts", _either),
    "command": ("a shell line as a text, or a list of words", _command),
    "flag": ("true or false", _flag),
    "count": ("a whole number, 0 or more", _count),
    "time": ("a time with its unit (250ms, 2s, 5m, 1h, 30d)", _time),
    "port": ('"auto" or a number from 1 to 65535', _port),
    "variables": ("a table of variables with texts or numbers", _mapping),
}


def nearest(word: str, known: "Iterable[str]") -> str:
    """Return the question whether another word was meant, which follows a message; empty if none is near."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


class _Lines:
    """Finds the line of every path in a text that is known to be TOML."""

    def __init__(self, text: str) -> None:
        self.found: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}  # how many tables an array of tables has so far
        self._tokens: list[tuple[str, str, int]] = []
        line = 1
        for match in _TOKEN.finditer(text):
            if match.lastgroup != "skip":
                self._tokens.append((match.lastgroup or "", match.group(), line))
            line += match.group().count("\n")
        self._tokens.append(("end", "", line))
        self._place = 0
        self._read()

    def _read(self) -> None:
        table: Path = ()
        while self._kind() != "end":
            if self._kind() == "line":
                self._place += 1
            elif self._is("["):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> "Path":
        line = self._tokens[self._place][2]
        self._place += 1
        many = self._is("[")
        self._place += many
        path: Path = ()
        *above, name = self._key()
        for part in above:
            path = (*path, part)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        path = (*path, name)
        if many:
            self._counts[path] = self._counts.get(path, 0) + 1
            self.found.setdefault(path, line)
            path = (*path, self._counts[path] - 1)
        self._place += 1 + many
        self.found.setdefault(path, line)
        return path

    def _pair(self, table: "Path") -> None:
        line = self._tokens[self._place][2]
        path = table
        for name in self._key():
            path = (*path, name)
            self.found.setdefault(path, line)
        self._place += 1  # the =
        self._value(path)

    def _key(self) -> list[str]:
        names = []
        while self._kind() in ("text", "word"):
            kind, text, _ = self._tokens[self._place]
            names.append(str(tomllib.loads(f"k = {text}")["k"]) if kind == "text" else text)
            self._place += 1
            self._place += self._is(".")
        return names

    def _value(self, path: "Path") -> None:
        if self._is("["):
            self._place += 1
            index = 0
            while not self._is("]"):
                if self._kind() == "line" or self._is(","):
                    self._place += 1
                    continue
                self.found[(*path, index)] = self._tokens[self._place][2]
                self._value((*path, index))
                index += 1
            self._place += 1
        elif self._is("{"):
            self._place += 1
            while not self._is("}"):
                if self._kind() == "line" or self._is(","):
                    self._place += 1
                else:
                    self._pair(path)
            self._place += 1
        else:
            while self._kind() in ("text", "word") or self._is("."):
                self._place += 1

    def _kind(self) -> str:
        return self._tokens[self._place][0]

    def _is(self, mark: str) -> bool:
        return self._tokens[self._place][:2] == ("mark", mark)
