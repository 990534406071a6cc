"""One command from the moment it was accepted: it waits, it runs, it has ended."""

from threading import Event, RLock
from time import monotonic

from agent_exec.faces.slash.display import clipped
from agent_exec.faces.slash.feedback import SlashFeedback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from agent_exec.engine.run import Run
    from agent_exec.faces.slash.parser import ShellCommandRequest
    from agent_exec.faces.slash.result import ShellExecutionResult

    State = Literal["queued", "running", "ended"]

CANCELLED = SlashFeedback("shell: cancelled before it was started", "Warn")


class ShellExecution:
    """A command that was accepted; any thread may look at it, wait for it and cancel it.

    `feedback` is the last that is to be told of it, and `result` how it ended:
    None until then, and for one that never ran.
    """

    __slots__ = (
        "_begun",
        "_cancelled",
        "_ended",
        "_lock",
        "_over",
        "_run",
        "_taken",
        "feedback",
        "request",
        "result",
        "state",
    )

    def __init__(self, request: "ShellCommandRequest", feedback: SlashFeedback) -> None:
        self.request = request
        self.feedback = feedback
        self.result: ShellExecutionResult | None = None
        self.state: State = "queued"
        self._begun = 0.0
        self._ended = 0.0
        self._run: Run | None = None
        self._cancelled = False
        self._taken = False
        self._lock = RLock()
        self._over = Event()

    def __repr__(self) -> str:
        return f"<ShellExecution {self.request.line!r} {self.state}>"

    @property
    def done(self) -> bool:
        """True if it has ended."""
        return self._over.is_set()

    @property
    def elapsed(self) -> float:
        """For how many seconds it has run."""
        if not self._begun:
            return 0.0
        return (self._ended or monotonic()) - self._begun

    @property
    def cancelled(self) -> bool:
        """True if someone has cancelled it, which it may yet have ignored by ending well."""
        return self._cancelled

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, for at most so many seconds; say whether it has."""
        return self._over.wait(timeout)

    def cancel(self) -> None:
        """Have it end, with all it started, and return at once.

        The first call is polite and gives it its grace, the second ends it by
        force. One that waits is never started.
        """
        with self._lock:
            self._cancelled = True
            if self._run is not None:
                self._run.stop()
            elif not self._taken:
                self.ended(CANCELLED)

    # What follows is called by the core alone.

    def take(self) -> bool:
        """True if it is still wanted; from now on, it has its turn."""
        with self._lock:
            self._taken = not self._cancelled
            return self._taken

    def began(self, run: "Run") -> None:
        """Note that it was handed to the engine; stop it if it was cancelled meanwhile."""
        with self._lock:
            self._run = run
            self._begun = monotonic()
            self.feedback = SlashFeedback(f"shell: running: {clipped(self.request.line, 40)}", "Info")
            self.state = "running"
            if self._cancelled:
                run.stop()

    def ended(self, feedback: SlashFeedback, result: "ShellExecutionResult | None" = None) -> None:
        """Note how it ended; whoever waits for that is told last."""
        with self._lock:
            self._ended = monotonic()
            self._run = None
            self.result = result
            self.feedback = feedback
            self.state = "ended"
        self._over.set()
