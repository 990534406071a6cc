"""The duty of a job that is ended when it has printed nothing for a while."""

from time import monotonic

from agent_exec.jobs.duties import Duty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.jobs.supervise import Supervisor
    from agent_exec.model.choices import Stream


class Term(Duty):
    """Its value: how many seconds without output."""

    __slots__ = ("_last", "_rounds", "_stopped")

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        super().__init__(job, value)
        self._last = 0.0
        self._rounds = 0
        self._stopped = False

    def facts(self) -> "dict[str, Any]":
        """Return the time."""
        return {"stop_after_idle_ms": round(self.value * 1000)}

    def started(self) -> None:
        """Begin to count."""
        self._last = monotonic()
        self._stopped = False
        self._rounds += 1
        self._look(self._rounds)

    def printed(self, stream: "Stream", chunk: bytes) -> None:  # noqa: ARG002
        """Count anew."""
        self._last = monotonic()

    def _look(self, round: int) -> None:  # noqa: A002
        if round != self._rounds:
            return  # of a command that was started before
        left = self._last + self.value - monotonic()
        if left > 0:
            self.job.loop.after(left, lambda: self._look(round))
        else:
            self._stopped = True
            self.job.stop()

    def ended(self, facts: "dict[str, Any]") -> None:
        """Say why it was ended; there is nothing to look at until it is started again."""
        self._rounds += 1
        if self._stopped and facts.get("reason") == "killed":
            facts["reason"] = "idle"
