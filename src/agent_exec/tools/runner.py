"""Runs commands whose callers may cancel, and ends them then; all of them when it is closed."""

from _thread import RLock

from agent_exec.engine.engine import Engine, run_on
from agent_exec.model.errors import InvalidState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.command import Command
    from agent_exec.model.outcome import Outcome
    from agent_exec.sandbox.report.guard import Guard


class Runner:
    """An engine made when first needed, for any thread; `closed` is the message of its error once closed."""

    __slots__ = ("_closed", "_engine", "_lock", "_message", "_slots")

    def __init__(self, slots: int, closed: str) -> None:
        self._slots = slots
        self._message = closed
        self._engine: Engine | None = None
        self._lock = RLock()  # the garbage collector may close one while this thread holds it
        self._closed = False

    @property
    def engine(self) -> "Engine":
        """The engine; raise InvalidState if it is closed."""
        with self._lock:
            self.check_open()
            if self._engine is None:
                self._engine = Engine(self._slots)
            return self._engine

    def run(
        self,
        command: "Command",
        cancel: "Cancel",
        *,
        sandbox: "Guard | None" = None,
        within: float | None = None,
    ) -> "Outcome":
        """Run a command to its end, which comes soon if the caller cancels; nothing of it is left then."""
        if cancel.is_set():
            raise InvalidState("this call was cancelled before its command was started; nothing was run")
        return run_on(self.engine, command, cancel, sandbox=sandbox, within=within)

    def check_open(self) -> None:
        """Raise InvalidState if it is closed."""
        if self._closed:
            raise InvalidState(self._message)

    def close(self) -> None:
        """End all that runs, and wait until it is gone; harmless when repeated."""
        with self._lock:
            self._closed = True
        if self._engine is not None:
            self._engine.close()
