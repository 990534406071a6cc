"""The output of the latest command: its last lines, a window on them, a search in them, and how it ended."""

import re
from _thread import RLock
from time import localtime, strftime

from agent_exec.faces.slash.feedback import SlashFeedback, clipped, shown
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.lines import Lines
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.slash.line import ShellCommandRequest
    from agent_exec.model.choices import Cause, Stream
    from agent_exec.model.command import Outcome

MAX_BYTES = 2_097_152
MAX_LINES = 4000
SIDEWAYS = 4
"""How many columns a key moves sideways."""

_PART = 80
"""How many characters of a stream are in the summary."""

_WHY = {"timeout": "timed out", "stopped": "cancelled", "overflow": "stopped"}


class ShellExecutionResult(Value):
    """How a command ended; made only for one that was started.

    `status_code` is None if a signal ended it, which `signal` names; `cause`
    says why, if we sent it. The streams are the last of what it printed.
    `timestamp` is when it began, in milliseconds since 1970.
    """

    status_code: int | None
    stdout: str
    stderr: str
    duration_ms: int
    timestamp: int
    signal: str | None = None
    cause: "Cause | None" = None

    @classmethod
    def of(cls, outcome: "Outcome", view: "ShellOutputView", timestamp: int) -> "ShellExecutionResult":
        """Return the result of an outcome, with the output that the view has kept."""
        return cls(
            None if outcome.signal is not None else outcome.exit_code,
            view.kept("stdout"),
            view.kept("stderr"),
            int(outcome.duration * 1000),
            timestamp,
            outcome.signal,
            outcome.cause,
        )

    @property
    def code(self) -> int:
        """The code that is shown: -1 if a signal ended it."""
        return -1 if self.status_code is None else self.status_code

    @property
    def why(self) -> str:
        """Why it ended, in parentheses: that we ended it, or which signal did; often nothing."""
        why = _WHY[self.cause] if self.cause is not None else self.signal
        return f" ({why})" if why else ""

    @property
    def summary(self) -> str:
        """The line for the Bottom Bar."""
        summary = f"shell: exit={self.code} {self.duration_ms}ms{self.why}"
        for name, stream in (("stdout", self.stdout), ("stderr", self.stderr)):
            # Only the beginning is read: all of it may be megabytes of blanks.
            if part := clipped(stream[: 4 * _PART].strip(), _PART):
                summary += f" {name}={part}"
        return summary

    @property
    def footer(self) -> str:
        """The last line of the output view."""
        when = strftime("%Y-%m-%d %H:%M:%S", localtime(self.timestamp / 1000))
        return f"exit: {self.code}{self.why} duration: {self.duration_ms}ms timestamp: {when}"

    @property
    def feedback(self) -> SlashFeedback:
        """The summary: a success if it ended by itself with 0, otherwise an error."""
        good = self.status_code == 0 and self.cause is None
        return SlashFeedback(self.summary, "Success" if good else "Error")


class OutputLine(Value):
    """One line: its number since the command began, its stream, and its text, safe to show."""

    number: int
    stream: "Stream"
    text: str


class OutputSnapshot(Value):
    """Some lines of a view as they were at one moment.

    The view then had the lines from number `first` up to, not including,
    `last`. `version` changes with each change, `generation` with each command.
    """

    version: int
    generation: int
    first: int
    last: int
    lines: "tuple[OutputLine, ...]"


class ShellOutputView:
    """The last lines of a command: at most `max_lines`, and `max_bytes` with their newlines.

    Any thread may use it. It stays as it is until another command starts.
    """

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
            self._kept = self._kept.fresh()
            self.request = request
            self.result = None
            self._failure = ""
            self.generation += 1
            self.version += 1

    def feed(self, stream: "Stream", chunk: bytes) -> None:
        """Add the next bytes of a stream."""
        if not chunk:
            return
        with self._lock:
            self._kept.feed(chunk, stream)
            self.version += 1

    def finish(self, result: ShellExecutionResult | None, failure: str = "") -> None:
        """Record how the command ended, or why it could not run; an unfinished line is whole now."""
        with self._lock:
            self._kept.finish()
            self.result = result
            self._failure = failure
            self.version += 1

    @property
    def header(self) -> "tuple[str, ...]":
        """What was run and where, safe to show; nothing before the first command."""
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

    def kept(self, stream: "Stream") -> str:
        """Return what is kept of one stream, as text."""
        with self._lock:
            return self._kept.of(stream).decode("utf-8", "replace")

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
            OutputLine(number, stream, shown(data.removesuffix(b"\r")))
            for number, (stream, data) in enumerate(found, begin)
        )
        return OutputSnapshot(version, generation, first, last, lines)


class Scroll:
    """A window of `height` lines on a view.

    It stays on the lines it shows while others are dropped before them, as
    long as they are kept. With `follow` it stays at the end. Moving up stops
    that; reaching the end by a key starts it again.
    """

    def __init__(self, view: ShellOutputView, height: int = 20) -> None:
        self._view = view
        self._generation = view.generation
        self._top = 0
        self.height = height
        self.column = 0
        self.follow = True

    @property
    def top(self) -> int:
        """The number of the first line that is shown."""
        if self._generation != self._view.generation:  # the output of another command
            self._generation = self._view.generation
            self._top = self.column = 0
            self.follow = True
        first, end = self._view.bounds
        deepest = max(first, end - self.height)
        self._top = deepest if self.follow else min(max(self._top, first), deepest)
        return self._top

    @property
    def scroll_offset(self) -> int:
        """How many of the kept lines are above the window."""
        return max(0, self.top - self._view.bounds[0])

    def window(self) -> OutputSnapshot:
        """Return the lines in the window."""
        return self._view.snapshot(self.top, self.height)

    def move(self, lines: int) -> None:
        """Go down by so many lines, or up if they are negative."""
        self._top = self.top + lines
        self.follow = lines > 0 and self._top >= self._view.bounds[1] - self.height

    def page(self, pages: int) -> None:
        """Go down by so many windows, less a line that is seen in both."""
        self.move(pages * max(1, self.height - 1))

    def home(self) -> None:
        """Go to the first line, and to its beginning."""
        self.follow = False
        self._top = self.column = 0

    def end(self) -> None:
        """Go to the last line, and follow it."""
        self.follow = True

    def sideways(self, steps: int) -> None:
        """Go right by so many steps, or left if they are negative."""
        self.column = max(0, self.column + steps * SIDEWAYS)

    def show(self, number: int) -> None:
        """Move until a line is in the window; stay if it is."""
        if not self.top <= number < self.top + self.height:
            self.follow = False
            self._top = number - self.height // 2


class Found(Value):
    """A line in which a text was found, where in it, and whether the search went around for it."""

    number: int
    start: int
    end: int
    wrapped: bool = False


class Search:
    """A search for text in a view, as `/`, `n` and `N` do it; `found` is where it stands.

    Case is ignored unless the text has a capital letter. Lines are searched
    as they are shown, so that what is found can be seen.
    """

    def __init__(self, text: str) -> None:
        if not text:
            raise InvalidArgument("there is nothing to look for; type some text")
        self.text = text
        self.found: Found | None = None
        self._generation = -1
        self._pattern = re.compile(re.escape(text), re.IGNORECASE if text == text.lower() else 0)

    def spans(self, text: str) -> "list[tuple[int, int]]":
        """Return where the text occurs in a line."""
        return [found.span() for found in self._pattern.finditer(text)]

    def find(self, view: ShellOutputView, start: int, *, backwards: bool = False) -> Found | None:
        """Find the line after the last one found, at first from number `start` on; then from the other end.

        With `backwards`, find the line before. Return None if there is none.
        """
        step = -1 if backwards else 1
        window = view.snapshot()
        if self.found is not None and self._generation == window.generation:
            start = self.found.number + step
        self._generation = window.generation
        matching = [line for line in window.lines[::step] if self._pattern.search(line.text)]
        ahead = [line for line in matching if (line.number - start) * step >= 0]
        self.found = None
        if matching:
            line = (ahead or matching)[0]
            self.found = Found(line.number, *self.spans(line.text)[0], wrapped=not ahead)
        return self.found
