"""The guard before a command: its shell, its environment, and where its arguments may lead.

That arguments stay in the folder is a guard rail, not a wall: it looks at
words, and at links as they are at that moment. A program can open any file,
and a link can be changed after the look. A sandbox is the wall.
"""

import os
import sys

from agent_exec.faces.slash.feedback import SlashRefused, clipped
from agent_exec.model.command import Command, Limits
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.output import Head
from agent_exec.model.paths import inside
from agent_exec.model.value import Value
from agent_exec.requests.shells import find, powershell_line, shell_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_exec.faces.slash.line import ShellCommandRequest
    from agent_exec.model.choices import OnOutput

TIMEOUT = 300.0
GRACE = 2.0
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_KINDS = ("posix", "powershell", "none")
_MANY = 32
"""No argument that is meant to be read has more equals signs."""

_LETTERS = 64
"""A value stands behind fewer letters of options that are written together."""


class AllowedShell(Value):
    """A shell that may start commands; it never parses them.

    Its kind says how it gets the words: "posix" runs a constant line, with
    the words as its parameters; "powershell" gets them quoted; "none" is no
    shell at all: the program is started as it is.
    """

    path: str
    kind: str = "posix"

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise InvalidArgument(f"kind must be one of {', '.join(_KINDS)}; got {self.kind!r}")

    @classmethod
    def default(cls, platform: str = sys.platform) -> "AllowedShell":
        """Return the one shell that every system has."""
        return cls(shell_for("win32")[0], "powershell") if platform == "win32" else cls("/bin/sh")

    def argv(self, words: "Sequence[str]") -> list[str]:
        """Return the argv that runs exactly these words."""
        if self.kind == "none":
            return list(words)
        if self.kind == "posix":
            return [self.path, "-c", 'exec "$@"', os.path.basename(self.path), *words]
        return [self.path, *shell_for("win32")[1:], powershell_line(words)]


NO_SHELL = AllowedShell("", "none")


class ShellExecutionGuard:
    """Lets requests pass that stay in their folder, and makes commands of them.

    `env` is the whole environment of every command. `shell` must be one of
    `allowed`, to which others can be added. What was checked is what runs: the
    same words, in the same real folder, never expanded.
    """

    def __init__(
        self,
        env: "Mapping[str, str]",
        *,
        shell: AllowedShell | None = None,
        timeout: float | None = TIMEOUT,
        grace: float = GRACE,
    ) -> None:
        self.env = dict(env)
        self.shell = AllowedShell.default() if shell is None else shell
        self.allowed: tuple[AllowedShell, ...] = (AllowedShell.default(), NO_SHELL)
        self._limits = Limits(timeout, grace)

    def check(self, request: "ShellCommandRequest") -> None:
        """Raise SlashRefused for a command that may not run; the folder is checked as it is now."""
        if self.shell not in self.allowed:
            raise SlashRefused(f"shell: {clipped(self.shell.path, 60)} is not an allowed shell")
        folder = request.working_dir
        if os.path.realpath(folder) != folder or not os.path.isdir(folder):
            raise SlashRefused(f"shell: no working dir {clipped(folder, 60)}; choose another")
        self._check_program(request.program, folder)
        for argument in request.args:
            check_argument(argument, folder)

    def command(self, request: "ShellCommandRequest", on_output: "OnOutput | None" = None) -> Command:
        """Check a request, and return the command that runs it; raise SlashRefused if it may not run."""
        self.check(request)
        return Command(
            self.shell.argv(request.words),
            cwd=request.working_dir,
            env=self.env,
            limits=self._limits,
            keep=Head(0),  # the view keeps the output
            on_output=on_output,
        )

    def _check_program(self, program: str, folder: str) -> None:
        """Raise SlashRefused unless a program is on the PATH, by name or path, or lies in the folder."""
        if program.startswith("-"):
            raise SlashRefused(f"shell: no program is called {clipped(program, 60)}")
        is_name = "/" not in program and (os.sep == "/" or os.sep not in program)
        if is_name and not program.startswith(("~", "$")) and program not in (".", ".."):
            return
        if is_name or not self._on_path(program):
            check_argument(program, folder)

    def _on_path(self, program: str) -> bool:
        """True if this path is the program that the PATH has under its name."""
        path = self.env.get("PATH", _DEFAULT_PATH)
        found = find(os.path.basename(program), path) if os.path.isabs(program) else None
        return found is not None and os.path.realpath(found) == os.path.realpath(program)


def check_argument(argument: str, folder: str) -> None:
    """Raise SlashRefused if anything in an argument leads out of a real folder."""
    if argument.count("=") > _MANY:
        raise SlashRefused(f"shell: more than {_MANY} equals signs in one argument; put it into a file")
    for path in _paths(argument, folder):
        expands = path.startswith("~") or (path[:1] == "$" and (path[1:2].isalpha() or path[1:2] == "_"))
        if expands or not holds(folder, path):
            why = f" ({path[0]} is not expanded here; write the path)" if expands else ""
            raise SlashRefused(f"shell: path escapes working dir: {clipped(argument, 60)}{why}")


def holds(folder: str, path: str) -> bool:
    """True if a path, seen from a real folder, stays in it, links followed; it need not exist."""
    try:
        return inside(os.path.realpath(os.path.join(folder, path)), folder)
    except (ValueError, OSError):
        return False


def _paths(argument: str, folder: str) -> "Iterator[str]":
    """Return all that may be meant as a path: the argument, and what may be a value in it."""
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
        yield from _glued(argument, folder)


def _glued(option: str, folder: str) -> "Iterator[str]":
    """Return what may be the value of `-I../x` or, behind several letters, of `-xf/etc/passwd`."""
    yield option[2:]
    place = 2
    while option[place : place + 1].isalnum():
        place += 1
    value = option[place:]
    if place > 2 and value.startswith(("/", "..", "~")):
        first = option[2:].partition("/")[0]
        # `-Isrc/x` has a value of its own if there is such a folder; else only the rest can be meant.
        if not os.path.isdir(os.path.join(folder, first)):
            yield value
    for start in range(3, min(len(option), _LETTERS)):
        if os.path.islink(os.path.join(folder, option[start:].partition("/")[0])):
            yield option[start:]
