"""Whether the arguments of a command stay in its folder, links followed.

A guard rail, not a wall: it looks at words and at links as they are when it
looks. A program can open what it likes, and a link can be changed after the
look. Who needs a wall has a sandbox.
"""

import os

from agent_exec.faces.slash.display import clipped
from agent_exec.faces.slash.feedback import SlashRefused
from agent_exec.requests.folders import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MANY = 32
"""More equals signs than this no argument has that is meant to be read."""

_LETTERS = 64
"""Behind so many letters of options that are written together, nobody puts a value."""


class Folder:
    """A working folder that arguments may not lead out of; found when it is made."""

    __slots__ = ("_workspace", "path")

    def __init__(self, path: str) -> None:
        self._workspace = Workspace(path)
        self.path = self._workspace.root

    def check(self, argument: str) -> None:
        """Raise SlashRefused if anything in an argument leads out."""
        if argument.count("=") > _MANY:
            raise SlashRefused(f"shell: more than {_MANY} equals signs in one argument; put it into a file")
        for path in self._paths(argument):
            if path.startswith("~") or (path[:1] == "$" and (path[1:2].isalpha() or path[1:2] == "_")):
                raise SlashRefused(
                    f"shell: path escapes working dir: {clipped(argument, 60)} "
                    f"({path[0]} is not expanded here; write the path)"
                )
            if not self.holds(path):
                raise SlashRefused(f"shell: path escapes working dir: {clipped(argument, 60)}")

    def holds(self, path: str) -> bool:
        """True if a path, seen from here, stays here; what does not exist goes by its name."""
        try:
            return self._workspace.holds(os.path.realpath(os.path.join(self.path, path)))
        except (ValueError, OSError):
            return False

    def _paths(self, argument: str) -> "Iterator[str]":
        """Return all that may be meant as a path: the argument, and what may be the value in it."""
        yield argument
        place = argument.find("=")
        while place >= 0:
            yield argument[place + 1 :]
            place = argument.find("=", place + 1)
        if argument.startswith("@"):
            yield argument[1:]
        elif argument.lower().startswith("file:"):
            yield "/" + argument[5:].lstrip("/")
        elif argument[:1] == "-" and argument[1:2].isalnum() and len(argument) > 2:
            yield from self._glued(argument)

    def _glued(self, option: str) -> "Iterator[str]":
        """Return what may be the value of `-I../x` or, behind several letters, of `-xf/etc/passwd`."""
        yield option[2:]
        place = 2
        while option[place : place + 1].isalnum():
            place += 1
        value = option[place:]
        if place > 2 and value.startswith(("/", "..", "~")):
            first = option[2:].partition("/")[0]
            # `-Isrc/x` has a value of its own if there is such a folder; else only the rest can be meant.
            if not os.path.isdir(os.path.join(self.path, first)):
                yield value
        for start in range(3, min(len(option), _LETTERS)):
            if os.path.islink(os.path.join(self.path, option[start:].partition("/")[0])):
                yield option[start:]
