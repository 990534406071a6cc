"""A terminal for a command: the system's pseudo console, through the library that knows it.

Nothing here runs under Wine, whose pseudo console shows no text.
"""

import codecs
from time import sleep

from agent_exec.host.windows import kernel, quoting
from agent_exec.host.windows.launch import Spawned, words
from agent_exec.model.errors import LaunchFailed, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.host.windows.jobobject import Job
    from agent_exec.model.command import Launch

# A read that waits cannot be ended from outside in every version of the library.
_PAUSE = 0.01
# A console draws what was printed a moment later.
_QUIET = 0.1


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
        program, cwd, argv, env = words(launch)
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
            return  # it is gone, and so is who would care

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
