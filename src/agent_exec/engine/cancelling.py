"""Waits for a run on behalf of a caller who may lose interest."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from agent_exec.engine.run import Run
    from agent_exec.model.outcome import Outcome

    class Cancelled(Protocol):
        """Whether the caller has lost interest."""

        def is_set(self) -> bool:
            """Tell whether it has."""


SLICE = 0.1
"""How often it is asked whether the caller is still there."""


def outcome_while_wanted(run: "Run", cancelled: "Cancelled") -> "Outcome":
    """Give a run's outcome, which comes soon if its caller goes; nothing of it is left then."""
    try:
        while not run.wait(SLICE):
            if cancelled.is_set():
                run.stop()
                break
        return run.outcome()
    finally:
        if not run.done:  # we are interrupted ourselves
            run.kill()
            run.wait()
