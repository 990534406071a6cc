"""The term `at`: the command waits for a moment of the wall clock, which may be set while it waits."""

from time import time

from agent_exec.host import call_at
from agent_exec.jobs.duties import Duty
from agent_exec.jobs.record import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.jobs.supervise import Supervisor

_MISSED = 1.0
"""How many seconds late is a miss: the machine slept, the clock was set, or the moment was over before."""

now = time


class Term(Duty):
    """Its value: the moment, in seconds since 1970."""

    __slots__ = ("_due",)

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        super().__init__(job, value)
        self._due = False

    def facts(self) -> "dict[str, Any]":
        """Return the moment."""
        return {"at": stamp(self.value)}

    def hold(self) -> None:
        """Wait for the moment; one that is over is recorded as missed."""
        late = now() - self.value
        if late < 0:
            call_at(self.job.loop, self.value, self.hold)
            return
        self._due = True
        if late > _MISSED and self.job.attempt == 1:  # a restart is not late
            self.job.append({"missed_by_ms": round(late * 1000)})

    def ready(self) -> bool:
        """True once the moment has come, even if the clock is set back after that."""
        return self._due
