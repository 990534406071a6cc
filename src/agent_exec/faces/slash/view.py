"""The output of the latest command: the last lines of both streams, filled while it runs."""

from _thread import RLock

from agent_exec.faces.slash.display import shown
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.lines import Lines
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.slash.parser import ShellCommandRequest
    from agent_exec.faces.slash.result import ShellExecutionResult
    from agent_exec.model.choices import Stream

MAX_BYTES = 2_097_152
MAX_LINES = 4000


class OutputLine(Value):
    """One line: its number since the command began, its stream, and its text, safe to be shown."""

    number: int
    stream: "Stream"
    text: str


class OutputSnapshot(Value):
    """Some lines of a view as they were at one moment.

    The view then had the lines from number `first` up to, not including,
    `last`. `version` is another one after each change, `generation` after
    each command.
    """

    version: int
    generation: int
    first: int
    last: int
    lines: "tuple[OutputLine, ...]"


class ShellOutputView:
    """The last lines of a command: at most `max_lines`, and `max_bytes` with their newlines.

    Any thread may use it. It stays as it is until another command
    starts.
    """

    __slots__ = (
        "_failure",
        "_kept",
        "_lock",
        "generation",
        "max_bytes",
        "max_lines",
        "request",
        "result",
        "version",
    )

    def __init__(self, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES) -> None:
        for name, value in (("max_bytes", max_bytes), ("max_lines", max_lines)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidArgument(f"{name} must be a whole number, 1 or more; got {value!r}")
        self.max_bytes = max_bytes
        self.max_lines = max_lines
        self.version = 0
        self.generation = 0
        self.request: ShellCommandRequest | None = None
        self.result: ShellExecutionResult | None = None
        self._failure = ""
        self._lock = RLock()
        self._kept = Lines(max_lines, max_bytes)

    def start(self, request: "ShellCommandRequest") -> None:
        """Forget all lines: another command was started."""
        with self._lock:
            self._kept = Lines(self.max_lines, self.max_bytes)
            self.request = request
            self.result = None
            self._failure = ""
            self.generation += 1
            self.version += 1

    def feed(self, stream: "Stream", chunk: bytes) -> None:
        """Take the next bytes of a stream."""
        if not chunk:
            return
        with self._lock:
            self._kept.feed(chunk, stream)
            self.version += 1

    def finish(self, result: "ShellExecutionResult | None", failure: str = "") -> None:
        """Note that the command has ended, or why it could not; an unfinished line is one now."""
        with self._lock:
            self._kept.finish()
            self.result = result
            self._failure = failure
            self.version += 1

    @property
    def header(self) -> "tuple[str, ...]":
        """What was run and where, safe to be shown; nothing before the first command."""
        request = self.request
        return () if request is None else (f"$ {shown(request.line)}", f"cwd: {shown(request.working_dir)}")

    @property
    def footer(self) -> str:
        """How it ended, or that it runs; nothing before the first command."""
        with self._lock:
            if self.result is not None:
                return self.result.footer
            return self._failure or ("status: running" if self.request is not None else "")

    @property
    def bounds(self) -> "tuple[int, int]":
        """The number of the first line that is kept, and the one after the last."""
        with self._lock:
            return self._kept.bounds

    def kept(self, stream: "Stream") -> bytes:
        """Return what is kept of one stream."""
        with self._lock:
            return self._kept.of(stream)

    def __len__(self) -> int:
        first, last = self.bounds
        return last - first

    def snapshot(self, start: int | None = None, count: int | None = None) -> OutputSnapshot:
        """Return so many lines from a number on, as far as they are kept; all by default."""
        with self._lock:
            first, last = self.bounds
            begin = first if start is None else min(max(start, first), last)
            end = last if count is None else min(begin + max(0, count), last)
            found = self._kept.between(begin, end)
            version, generation = self.version, self.generation
        lines = tuple(
            OutputLine(number, stream, shown(_unreturned(data)))
            for number, (stream, data) in enumerate(found, begin)
        )
        return OutputSnapshot(version, generation, first, last, lines)


def _unreturned(line: bytes) -> bytes:
    """Return a line without the return before its newline, if there is one."""
    return line[:-1] if line.endswith(b"\r") else line
