"""Starts a process in a job: on pipes, suspended until it is a member; or on a terminal, a pseudo console.

Nothing of a terminal runs under Wine, whose pseudo console shows no text.
"""

import codecs
import os
from time import sleep

from agent_exec.host.windows import kernel, quoting
from agent_exec.host.windows.program import program_error
from agent_exec.model.errors import LaunchFailed, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.host.windows.jobobject import Job
    from agent_exec.model.command import Launch

_SUSPENDED = 0x4
_NEW_GROUP = 0x200
_NO_WINDOW = 0x8000000
# A read that waits cannot be ended from outside in every version of the library.
_PAUSE = 0.01
# A console draws what was printed a moment later.
_QUIET = 0.1


class Spawned:
    """A process that runs, and our ends of its streams; `stdin` is 0 if it was given none."""

    __slots__ = ("pid", "process", "stderr", "stdin", "stdout")

    def __init__(self) -> None:
        self.pid = self.process = self.stdin = self.stdout = self.stderr = 0

    def close(self) -> None:
        """Give back every handle that is still in our hands; harmless when repeated."""
        for name in ("process", "stdin", "stdout", "stderr"):
            handle = getattr(self, name)
            if handle:
                kernel.close(handle)
                setattr(self, name, 0)


def spawn(launch: "Launch", job: "Job", stdin: int = -1) -> Spawned:
    """Start a launch as the first member of a job; raise the typed error if the system will not.

    If the launch takes no input from us, it reads a copy of the descriptor `stdin`.
    """
    spawned = Spawned()
    theirs: list[int] = []
    try:
        try:
            if launch.input:
                spawned.stdin, end = kernel.pipe(reading=False)
            elif stdin >= 0:
                end = kernel.duplicate(kernel.handle_of(stdin), inheritable=True)
            else:
                end = kernel.null()
            theirs.append(end)
            spawned.stdout, end = kernel.pipe(reading=True)
            theirs.append(end)
            spawned.stderr, end = kernel.pipe(reading=True)
            theirs.append(end)
        except OSError as error:
            raise LaunchFailed(f"no pipes for the command: {error.strerror}", errno=error.errno) from error
        _start(launch, job, spawned, theirs)
    except BaseException:
        spawned.close()
        raise
    finally:
        for handle in theirs:
            kernel.close(handle)
    return spawned


def _words(launch: "Launch") -> tuple[str, str, list[str], dict[str, str]]:
    """Return a launch's program, directory, argv and environment, which are text on this system."""
    env = {os.fsdecode(name): os.fsdecode(value) for name, value in launch.env.items()}
    argv = [os.fsdecode(word) for word in launch.argv]
    return os.fsdecode(launch.program), os.fsdecode(launch.cwd), argv, env


def _start(launch: "Launch", job: "Job", spawned: Spawned, stdio: list[int]) -> None:
    program, cwd, argv, env = _words(launch)
    line = quoting.command_line(argv)
    flags = _SUSPENDED | _NEW_GROUP | _NO_WINDOW
    try:
        spawned.process, thread, spawned.pid = kernel.create_process(
            program, line, cwd, env, stdio=stdio, flags=flags
        )
    except OSError as error:
        raise program_error(getattr(error, "winerror", 0), argv[0], cwd) from error
    try:
        job.add(spawned.process)
        kernel.resume(thread)
    except BaseException as error:
        kernel.terminate(spawned.process, 1)
        if isinstance(error, OSError):
            raise LaunchFailed(
                f"the command could not be put into a job: {error.strerror}", errno=error.errno
            ) from error
        raise
    finally:
        kernel.close(thread)


class Terminal:
    """A terminal, and the command on it.

    The library starts the command and gives it to us running: what it
    manages to start before it becomes a member of its job is not a member.
    """

    __slots__ = ("_decoder", "_errors", "_pty", "columns", "rows", "spawned")

    def __init__(self, launch: "Launch", job: "Job") -> None:
        try:
            import winpty
        except ImportError:
            raise Unsupported(
                "a terminal on Windows needs the library pywinpty: pip install pywinpty. "
                "Without it, leave tty out"
            ) from None
        self.rows, self.columns = launch.size.rows, launch.size.columns
        self.spawned = Spawned()
        self._errors: tuple[type[BaseException], ...] = (winpty.WinptyError, EOFError, OSError)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        program, cwd, argv, env = _words(launch)
        # The library puts the program's path before this line by itself.
        line = "".join(f" {quoting.quote(word)}" for word in argv[1:])
        block = "".join(f"{name}={value}\0" for name, value in env.items())
        try:
            self._pty: Any = winpty.PTY(self.columns, self.rows)
            self._pty.spawn(program, cmdline=line, cwd=cwd, env=block)
        except self._errors as error:
            raise LaunchFailed(f"no terminal for the command: {error}") from error
        self._adopt(job)

    def read(self, stop: int) -> bytes:
        """Wait for text and return it; EOFError is the end, also when `stop` is set and nothing comes."""
        quiet = 0.0
        while True:
            try:
                text: str = self._pty.read(blocking=False)
            except self._errors:
                raise EOFError from None
            if text:
                return text.encode("utf-8", "replace")
            if kernel.wait(stop, _PAUSE):
                if quiet >= _QUIET:
                    raise EOFError
                quiet += _PAUSE
                sleep(_PAUSE)

    def write(self, data: bytes, stop: int) -> int:
        """Type this; a character may come in two pieces."""
        if kernel.wait(stop, 0):
            raise TimeoutError
        text = self._decoder.decode(data)
        try:
            if text:
                self._pty.write(text)
        except self._errors as error:
            raise BrokenPipeError from error
        return len(data)

    def resize(self, rows: int, columns: int) -> None:
        """Give it another size."""
        self.rows, self.columns = rows, columns
        try:
            self._pty.set_size(columns, rows)
        except self._errors:
            return  # it is gone, and so is its reader

    def close(self) -> None:
        """Let the terminal go; harmless when repeated."""
        self._pty = None

    def _adopt(self, job: "Job") -> None:
        pid = self._pty.pid or 0
        handle = kernel.open_process(pid, kernel.ADOPT)
        if handle is None:
            raise LaunchFailed("the command on the terminal was gone before it could be seen")
        self.spawned.pid, self.spawned.process = pid, handle
        try:
            job.add(handle)
        except OSError as error:
            if not kernel.wait(handle, 0):
                kernel.terminate(handle, 1)
                self.spawned.close()
                raise LaunchFailed(
                    f"the command could not be put into a job: {error.strerror}", errno=error.errno
                ) from error
