"""The guard before a command: which shell starts it, where it may reach, with which variables it runs."""

import os
import sys

from agent_exec.faces.slash.containment import Folder
from agent_exec.faces.slash.display import clipped
from agent_exec.faces.slash.feedback import SlashRefused
from agent_exec.model.command import Command
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.limits import Limits
from agent_exec.model.output import Head
from agent_exec.model.value import Value
from agent_exec.requests.shells import find, powershell_line, shell_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_exec.faces.slash.parser import ShellCommandRequest
    from agent_exec.model.choices import OnOutput

TIMEOUT = 300.0
GRACE = 2.0
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


class AllowedShell(Value):
    """A shell that may start commands; it never reads them.

    Its kind says how it is handed the words: "posix" has a line that is
    always the same, and gets them as its parameters; "powershell" has them
    quoted; "none" is no shell at all: the program is started as it is.
    """

    __slots__ = ("kind", "path")

    def __init__(self, path: str, kind: str = "posix") -> None:
        if kind not in ("posix", "powershell", "none"):
            raise InvalidArgument(f"kind must be one of posix, powershell, none; got {kind!r}")
        self.path = path
        self.kind = kind

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
    `allowed`; more can be allowed than the default. What was checked is what
    runs: the same words, in the same real folder, and nobody expands them.
    """

    __slots__ = ("_path", "allowed", "env", "grace", "shell", "timeout")

    def __init__(
        self,
        env: "Mapping[str, str]",
        *,
        shell: AllowedShell | None = None,
        allowed: "Sequence[AllowedShell] | None" = None,
        timeout: float | None = TIMEOUT,
        grace: float = GRACE,
    ) -> None:
        Limits(timeout, grace)  # checks them
        self.env = dict(env)
        self.shell = AllowedShell.default() if shell is None else shell
        self.allowed = (AllowedShell.default(), NO_SHELL) if allowed is None else tuple(allowed)
        self.timeout = timeout
        self.grace = grace
        self._path = self.env.get("PATH", _DEFAULT_PATH)

    def check(self, request: "ShellCommandRequest") -> None:
        """Raise SlashRefused for what may not run; the folder is looked at as it is now."""
        if self.shell not in self.allowed:
            raise SlashRefused(f"shell: {clipped(self.shell.path, 60)} is not an allowed shell")
        folder = Folder(request.working_dir)
        if folder.path != request.working_dir or not os.path.isdir(folder.path):
            raise SlashRefused(f"shell: no working dir {clipped(request.working_dir, 60)}; choose another")
        self._check_program(request.program, folder)
        for argument in request.args:
            folder.check(argument)

    def command(self, request: "ShellCommandRequest", on_output: "OnOutput | None" = None) -> Command:
        """Check a request, and return the command that runs it; raise SlashRefused if it may not."""
        self.check(request)
        return Command(
            self.shell.argv(request.words),
            cwd=request.working_dir,
            env=self.env,
            limits=Limits(self.timeout, self.grace),
            keep=Head(0),  # the view keeps it
            on_output=on_output,
        )

    def _check_program(self, program: str, folder: Folder) -> None:
        """A program is one of the PATH's, by its name or its path; or it lies in the folder."""
        if program.startswith("-"):
            raise SlashRefused(f"shell: no program is called {clipped(program, 60)}")
        if "/" not in program and (os.sep == "/" or os.sep not in program):
            if program.startswith(("~", "$")) or program in (".", ".."):
                folder.check(program)
            return
        if not self._on_path(program):
            folder.check(program)

    def _on_path(self, program: str) -> bool:
        """True if this path is the program that the PATH has under its name."""
        found = find(os.path.basename(program), self._path) if os.path.isabs(program) else None
        return found is not None and os.path.realpath(found) == os.path.realpath(program)
