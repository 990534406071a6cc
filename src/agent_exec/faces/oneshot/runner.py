"""Runs commands for callers that may lose interest, and ends them then; all of them when it is closed."""

from _thread import allocate_lock

from agent_exec.model.errors import InvalidState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.engine.engine import Engine
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.command import Command
    from agent_exec.model.outcome import Outcome
    from agent_exec.sandbox.report.guard import Guard


SLOTS = 1024


class Runner:
    """An engine that is made when first needed; any number of threads may use it."""

    __slots__ = ("_closed", "_engine", "_lock")

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._lock = allocate_lock()
        self._closed = False

    def run(self, command: "Command", cancelled: "Cancel", *, sandbox: "Guard | None" = None) -> "Outcome":
        """Run a command to its end, which comes soon if its caller goes; nothing of it is left then."""
        if cancelled.is_set():
            raise InvalidState("this call was cancelled before its command was started; nothing was run")
        from agent_exec.engine.engine import run_on

        return run_on(self._started(), command, cancelled, sandbox=sandbox)

    def close(self) -> None:
        """End all that runs, and wait until it is gone; harmless when repeated."""
        with self._lock:
            self._closed = True
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _started(self) -> "Engine":
        with self._lock:
            if self._closed:
                raise InvalidState("these tools are closed; nothing was run")
            if self._engine is None:
                from agent_exec.engine.engine import Engine

                self._engine = Engine(SLOTS)
            return self._engine
