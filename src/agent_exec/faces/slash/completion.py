"""What may come next on a command line: names of commands, then paths for the last word."""

import os

from agent_exec.faces.slash.commands import COMMANDS
from agent_exec.faces.slash.containment import Folder
from agent_exec.faces.slash.display import shown
from agent_exec.faces.slash.parser import FORBIDDEN
from agent_exec.faces.slash.splitting import BLANKS, quote, words_in
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 200
"""How many candidates are given."""

LOOKED_AT = 50_000
"""How many names of a folder are looked at."""


class Candidate(Value):
    """One of the things that may come next: as it is listed, what it is, and what is put into the line.

    `kind` is "command", "directory" or "file".
    """

    text: str
    kind: str
    insert: str


class SlashCandidates(Value):
    """What may come next, in order, and which part of the line it would replace.

    `more` says that there are others. What could not be run is not among
    them: names with operators, or that cannot be shown, or that lead out of
    the folder.
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
    """Return what may come next at the cursor, or at the end of the line."""
    end = len(line) if cursor is None else max(0, min(cursor, len(line)))
    typed = line[:end]
    if not typed.startswith("/"):
        return SlashCandidates(end, end)
    place = min((at for blank in BLANKS if (at := typed.find(blank)) >= 0), default=-1)
    if place < 0:
        return SlashCandidates(0, end, tuple(_commands(typed[1:])))
    if typed[:place] != "/shell":
        return SlashCandidates(end, end)
    words = words_in(typed[place:])
    last = words[-1] if words and (words[-1].open or typed[-1] not in BLANKS) else None
    if last is None:
        return _paths("", working_dir, end, end)
    return _paths(last.text, working_dir, place + last.start, end)


def _commands(prefix: str) -> "Iterator[Candidate]":
    for command in COMMANDS:
        if command.name.startswith(prefix):
            after = " " if command.arguments else ""
            yield Candidate(f"/{command.name}", "command", f"/{command.name}{after}")


def _paths(word: str, working_dir: str, start: int, end: int) -> SlashCandidates:
    """Return the paths that begin like a word, or like the value of an option."""
    before, equals, path = word.rpartition("=") if word.startswith("-") else ("", "", word)
    prefix = path.rpartition("/")[2]
    place = path[: len(path) - len(prefix)]
    folder = Folder(working_dir)
    if place.startswith(("~", "$")) or not folder.holds(place or "."):
        return SlashCandidates(start, end)
    names, more = _names(os.path.join(folder.path, place), prefix, folder)
    items = tuple(
        Candidate(
            place + name + ("/" if is_folder else ""),
            "directory" if is_folder else "file",
            quote(f"{before}{equals}{place}{name}" + ("/" if is_folder else "")) + ("" if is_folder else " "),
        )
        for name, is_folder in names[:MOST]
    )
    return SlashCandidates(start, end, items, more=more or len(names) > MOST)


def _names(place: str, prefix: str, folder: Folder) -> "tuple[list[tuple[str, bool]], bool]":
    """Return the names in a folder that begin so, and which are folders; and whether there may be more."""
    found: list[tuple[str, bool]] = []
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
                    if entry.is_symlink() and not folder.holds(entry.path):
                        continue
                    found.append((name, entry.is_dir()))
                except OSError:
                    continue  # a link in a circle, or gone meanwhile
    except (OSError, ValueError):
        return [], False  # gone, no folder, or not for us to read
    return sorted(found, key=lambda one: os.fsencode(one[0])), more
