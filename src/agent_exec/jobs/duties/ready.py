"""The duty of a job that is to be ready: looks at its conditions, and records when they hold."""

from time import time

from agent_exec.jobs.duties import Duty
from agent_exec.jobs.readiness.conditions import parse_all
from agent_exec.jobs.readiness.watching import Watching
from agent_exec.jobs.record import stamp
from agent_exec.jobs.start import READY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.jobs.supervise import Supervisor

_LOCK = "check-ready"
"""The lock of the process that runs the command of an `exec=`, in the job's folder."""


class Term(Duty):
    """Its value: the conditions as `for`, a list of texts, and `all`, whether each must hold."""

    __slots__ = ("_watching",)

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        super().__init__(job, value)
        self._watching: Watching | None = None

    def facts(self) -> "dict[str, Any]":
        """Return the conditions."""
        return {"ready_when": self.value["for"], **({"ready_all": True} if self.value["all"] else {})}

    def started(self) -> None:
        """Begin to look; a command that is started again has to become ready again."""
        again = self._watching is not None
        self._close()
        job = self.job.store.read(self.job.id)
        if job is None:
            return  # it has been deleted
        if again and job.facts.get("ready_at"):
            self.job.append({"ready_at": None, "met": []})
        self._watching = Watching(
            self.job.store,
            job,
            parse_all(self.value["for"], job.facts["cwd"]),
            every=self.value["all"],
            env=self.job.order["env"],
            mark=f"{self.job.folder}/{_LOCK}",
            box=self.job.check_box,
        )
        self._look(self._watching)

    def _look(self, watching: Watching) -> None:
        if watching is not self._watching:
            return  # of a command that was started before
        pause = watching.look()
        if pause is not None:
            self.job.loop.after(pause, lambda: self._look(watching))
            return
        self._close()
        self.job.append(self._told(watching))
        self.job.event("ready", details={"met": watching.met})
        self.job.tell(READY)

    @staticmethod
    def _told(watching: Watching) -> "dict[str, Any]":
        return {"ready_at": stamp(time()), "met": watching.met}

    def ended(self, facts: "dict[str, Any]") -> None:
        """Look for the last time: what was printed last may be what was waited for."""
        watching = self._watching
        if watching is not None and not watching.done and watching.look(final=True) is None:
            facts |= self._told(watching)
        self._close()

    def _close(self) -> None:
        if self._watching is not None:
            self._watching.close()
            self._watching = None
