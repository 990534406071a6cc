"""The term `after`: the command waits for other jobs, and is not started if one of them fails."""

from agent_exec.jobs.duties import Duty
from agent_exec.jobs.hearing import Ear, follow
from agent_exec.jobs.start import LOOK
from agent_exec.model.errors import DependencyFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.supervise import Supervisor


def verdict(job: "Record | None", until: str) -> bool | None:
    """True if a job is as it should be, False if it cannot be any more, None while that is open.

    One that was deleted has ended, and not well. One that has lost its
    supervisor has ended when its command has, and not well.
    """
    if job is None:
        return until == "any"
    lost = job.supervisor == "lost"
    well = job.state == "exited" and job.facts.get("exit_code") == 0
    if until == "ready":
        ready = "ready_at" in job.facts
        return ready and well if job.ended or lost else ready or None
    if job.ended:
        return well or until == "any"
    return False if lost and until == "ok" else None


class Term(Duty):
    """Its value: pairs of the id of a job, and what to wait for: ok, any or ready."""

    __slots__ = ("_ears", "_failed", "_met", "_wanted")

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        super().__init__(job, value)
        self._wanted: dict[str, str] = dict(value)
        self._ears: dict[str, Ear] = {}
        self._failed: tuple[str, Record | None] | None = None
        self._met = False

    def facts(self) -> "dict[str, Any]":
        """Return the jobs that are waited for."""
        return {"after": [{"job_id": job_id, "until": until} for job_id, until in self.value]}

    def hold(self) -> None:
        """Follow each job that is waited for."""
        if self._met:
            return  # before a former attempt
        for job_id, until in self.value:
            follow(self.job.store, job_id, self.job.id)
            self._look(job_id, until)

    def ready(self) -> bool:
        """True if all are as they should be; raise DependencyFailed once one cannot be any more."""
        if self._failed is not None:
            job_id, found = self._failed
            raise DependencyFailed(_message(job_id, self._wanted[job_id], found), job_id=job_id)
        self._met = not self._ears
        return self._met

    def heard(self, word: str, rest: str) -> None:
        """Look at a job that has new facts."""
        if word == LOOK and rest in self._ears:
            self._look(rest, self._wanted[rest])

    def ended(self, facts: "dict[str, Any]") -> None:
        """Hear no more; name the job that failed."""
        for ear in self._ears.values():
            ear.close()
        if self._failed is not None and facts["reason"] == DependencyFailed.code:
            job_id, found = self._failed
            facts["dependency"] = {"job_id": job_id, "until": self._wanted[job_id], "state": state_of(found)}

    def _look(self, job_id: str, until: str, *, again: bool = False) -> None:
        """Look at one job, and hear of the next change if it is not decided."""
        former = self._ears.pop(job_id, None)
        if former is not None:
            former.close()
        ear = Ear(
            self.job.store,
            job_id,
            self.job.loop,
            lambda: self._look(job_id, until, again=True),
            again=again,
            attempts=True,
        )
        decided = None if ear.restarts else verdict(ear.job, until)
        if decided is None:
            self._ears[job_id] = ear
            return
        ear.close()
        if not decided and self._failed is None:
            self._failed = job_id, ear.job


def state_of(found: "Record | None") -> str:
    """Return the state of a job, or that it is no more."""
    return "deleted" if found is None else found.state


def _message(job_id: str, until: str, found: "Record | None") -> str:
    """Return why a job was not as it should be, and what to do."""
    if found is None:
        what = "was deleted before its end was seen"
    elif not found.ended:
        what = "has lost its supervisor, so its end will not be known"
    elif until == "ready" and "ready_at" not in found.facts:
        what = f"ended ({_end(found)}) before it was ready"
    else:
        what = f"ended as {_end(found)}"
    return (
        f"job {job_id}, which this one was to start after, {what}; the command was not started. "
        f"Run it again after another job, or with --after {job_id}:any"
    )


def _end(found: "Record") -> str:
    code = found.facts.get("exit_code")
    return f"{found.state} with exit code {code}" if code is not None else found.reason or found.state
