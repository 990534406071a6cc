"""What is shown of files: the names in a folder, the beginning of a file, and candidates for a line."""

import os
import re
import stat

from agent_exec.faces.slash.feedback import shown
from agent_exec.faces.slash.guard import holds
from agent_exec.faces.slash.line import BLANKS, COMMANDS, FORBIDDEN, quote, words_in
from agent_exec.logs.folders import open_own_file
from agent_exec.model.value import Value

MOST_ENTRIES = 10_000
"""How many names are listed; a folder with more is not read to its end."""

PREVIEW_BYTES, PREVIEW_LINES = 64 * 1024, 500
MOST_CANDIDATES = 200
LOOKED_AT = 50_000
"""How many names of a folder are looked at for candidates."""

_HIDDEN = 10
"""Hidden names are skipped, up to so many for each that is listed."""

_BINARY = 0.1
"""A file is binary if more of it than this is not UTF-8."""


class Entry(Value):
    """A name in a folder, and what it is.

    `kind` is "directory", "file", "other" (a pipe, a device), or "broken" (a
    link to nothing). A link has the kind of its target.
    """

    name: str
    kind: str
    is_link: bool = False

    @property
    def shown(self) -> str:
        """The name, safe to show."""
        return shown(self.name)


class Listing(Value):
    """The names in a folder, folders first; whether there are more, and why there are none."""

    path: str
    entries: "tuple[Entry, ...]" = ()
    more: bool = False
    problem: str = ""


def listing(path: str, *, hidden: bool = False, most: int = MOST_ENTRIES) -> Listing:
    """List a folder; one that is gone or cannot be read is a listing with a problem."""
    found: list[Entry] = []
    more = False
    try:
        with os.scandir(path) as entries:
            for number, entry in enumerate(entries):
                if len(found) >= most or number >= most * _HIDDEN:
                    more = True
                    break
                if hidden or not entry.name.startswith("."):
                    found.append(_entry(entry))
    except (OSError, ValueError) as error:
        return Listing(path, problem=f"{shown(path)}: {_reason(error)}")
    found.sort(key=lambda one: (one.kind != "directory", one.name.casefold(), one.name))
    return Listing(path, tuple(found), more)


def _entry(entry: "os.DirEntry[str]") -> Entry:
    try:
        is_link = entry.is_symlink()
        if entry.is_dir():
            kind = "directory"
        elif entry.is_file():
            kind = "file"
        else:
            kind = "broken" if is_link and not os.path.exists(entry.path) else "other"
    except OSError:  # a link in a circle
        kind, is_link = "broken", True
    return Entry(entry.name, kind, is_link)


class Preview(Value):
    """The first lines of a file, safe to show, and whether there are more.

    `kind` is "text", "directory" (its names), "binary", or "message"; the
    last two have one line that says so.
    """

    kind: str
    lines: "tuple[str, ...]" = ()
    more: bool = False


def preview(path: str, *, max_bytes: int = PREVIEW_BYTES, max_lines: int = PREVIEW_LINES) -> Preview:
    """Return the beginning of a file; an error is a message. Never waits for a pipe."""
    name = shown(os.path.basename(path))
    try:
        fd = open_own_file(path)
        try:
            info = os.fstat(fd)
            if stat.S_ISDIR(info.st_mode):
                return _folder(path, max_lines)
            if not stat.S_ISREG(info.st_mode):
                return Preview("message", (f"{name}: neither a file nor a folder",))
            data = b""
            while len(data) <= max_bytes and (part := os.read(fd, max_bytes + 1 - len(data))):
                data += part
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        return Preview("message", (f"{name}: {_reason(error)}",))
    unreadable = data.decode("utf-8", "replace").count("\ufffd") - data.count("\ufffd".encode())
    if b"\0" in data or unreadable > 1 + len(data) * _BINARY:
        return Preview("binary", (f"binary, {info.st_size} bytes",))
    lines = data[:max_bytes].split(b"\n")
    if not lines[-1]:
        lines.pop()
    text = tuple(shown(line.removesuffix(b"\r")) for line in lines[:max_lines])
    return Preview("text", text, len(data) > max_bytes or len(lines) > max_lines)


def _folder(path: str, most: int) -> Preview:
    found = listing(path, most=most)
    if found.problem:
        return Preview("message", (found.problem,))
    names = (one.shown + ("/" if one.kind == "directory" else "") for one in found.entries)
    return Preview("directory", tuple(names), found.more)


def _reason(error: "OSError | ValueError") -> "str | None":
    return error.strerror if isinstance(error, OSError) else "this is not a path"


class Candidate(Value):
    """One of the things that may come next: as it is listed, what it is, and what is put into the line.

    `kind` is "command", "directory" or "file".
    """

    text: str
    kind: str
    insert: str


class SlashCandidates(Value):
    """What may come next, in order, and which part of the line it would replace.

    `more` is true if there are others. Names that could not be run are not
    candidates: with operators, not safe to show, or leading out of the folder.
    """

    start: int
    end: int
    items: "tuple[Candidate, ...]" = ()
    more: bool = False

    def accept(self, line: str, index: int = 0) -> "tuple[str, int]":
        """Return the line with a candidate in its place, and where the cursor is then."""
        if not self.items:
            return line, self.end
        head = line[: self.start] + self.items[index % len(self.items)].insert
        rest = line[self.end :]
        if head.endswith(" ") and rest[:1] in (*BLANKS, ""):
            rest = rest[1:]
        return head + rest, len(head)


def candidates(line: str, working_dir: str, cursor: int | None = None) -> SlashCandidates:
    """Return what may come next at the cursor, by default at the end of the line."""
    end = len(line) if cursor is None else max(0, min(cursor, len(line)))
    typed = line[:end]
    command = re.split("[ \t]", typed, maxsplit=1)[0]
    if command == typed and typed.startswith("/"):
        commands = (one for one in COMMANDS if one.name.startswith(typed[1:]))
        items = (
            Candidate(f"/{one.name}", "command", f"/{one.name}{' ' if one.arguments else ''}")
            for one in commands
        )
        return SlashCandidates(0, end, tuple(items))
    if command != "/shell":
        return SlashCandidates(end, end)
    words = words_in(typed[len(command) :])
    if words and (words[-1].open or typed[-1] not in BLANKS):
        return _paths(words[-1].text, working_dir, len(command) + words[-1].start, end)
    return _paths("", working_dir, end, end)


def _paths(word: str, working_dir: str, start: int, end: int) -> SlashCandidates:
    """Return the paths that begin like a word, or like the value of an option."""
    before, equals, path = word.rpartition("=") if word.startswith("-") else ("", "", word)
    prefix = path.rpartition("/")[2]
    place = path[: len(path) - len(prefix)]
    folder = os.path.realpath(working_dir)
    if place.startswith(("~", "$")) or not holds(folder, place or "."):
        return SlashCandidates(start, end)
    names, more = _names(os.path.join(folder, place), prefix, folder)
    items = tuple(
        Candidate(
            place + name + slash,
            "directory" if slash else "file",
            quote(f"{before}{equals}{place}{name}{slash}") + ("" if slash else " "),
        )
        for name, slash in names[:MOST_CANDIDATES]
    )
    return SlashCandidates(start, end, items, more or len(names) > MOST_CANDIDATES)


def _names(place: str, prefix: str, folder: str) -> "tuple[list[tuple[str, str]], bool]":
    """Return the names in a folder that begin so, with a slash for folders; and whether there may be more."""
    found: list[tuple[str, str]] = []
    more = False
    try:
        with os.scandir(place) as entries:
            for number, entry in enumerate(entries):
                if number >= LOOKED_AT:
                    more = True
                    break
                name = entry.name
                if not name.startswith(prefix) or (name[0] == "." and prefix[:1] != "."):
                    continue
                if shown(name) != name or any(operator in name for operator in FORBIDDEN):
                    continue
                try:
                    if not entry.is_symlink() or holds(folder, entry.path):
                        found.append((name, "/" if entry.is_dir() else ""))
                except OSError:
                    continue  # a link in a circle, or deleted meanwhile
    except (OSError, ValueError):
        return [], False  # deleted, not a folder, or not readable
    return sorted(found, key=lambda one: os.fsencode(one[0])), more
