"""Takes jobs away: one that has ended, or all that have ended in a working directory."""

from agent_exec.jobs.kill import force, kill
from agent_exec.jobs.list import list_jobs
from agent_exec.jobs.record import OVER
from agent_exec.model.errors import InvalidState, StoreFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store


class Removal:
    """What became of one job: `action` is deleted, would_delete, skipped or failed; `reason` says why."""

    __slots__ = ("action", "error", "job", "reason")

    def __init__(self, job: "Record", action: str, reason: str, error: StoreFailed | None = None) -> None:
        self.error = error
        self.job = job
        self.action = action
        self.reason = reason


def delete(store: "Store", job: "Record", *, dry_run: bool = False) -> Removal:
    """Take one job away that has ended, or has lost its supervisor: then what lives of it is ended first."""
    if job.supervisor == "alive":
        raise InvalidState(
            f"job {job.id} is {job.state}; end it first with `agent-exec kill {job.id}`",
            job_id=job.id,
            state=job.state,
        )
    removal = _remove(store, job, "explicit_delete", dry_run=dry_run)
    if removal.error is not None:
        raise removal.error
    return removal


def delete_all(store: "Store", cwd: str, *, dry_run: bool = False) -> list[Removal]:
    """Take away every job of a working directory that has ended; say what became of each one there."""
    done: list[Removal] = []
    for job in list_jobs(store, cwd=cwd, limit=0).jobs:
        if job.state in OVER:
            done.append(_remove(store, job, "terminal_in_cwd", dry_run=dry_run))
        else:
            done.append(Removal(job, "skipped", job.state))
    tried = [one for one in done if one.action in ("deleted", "failed")]
    if tried and all(one.error is not None for one in tried):
        raise tried[0].error  # type: ignore[misc]  # of all, for the same reason
    return done


def _remove(store: "Store", job: "Record", reason: str, *, dry_run: bool) -> Removal:
    if dry_run:
        return Removal(job, "would_delete", reason)
    try:
        if not remove(store, job):
            return Removal(job, "skipped", "already_gone")
        return Removal(job, "deleted", reason)
    except StoreFailed as error:
        return Removal(job, "failed", "delete_failed", error)


def remove(store: "Store", job: "Record") -> bool:
    """Take away a job that is over; what still lives of a lost one is ended: nobody could find it later."""
    if job.supervisor == "lost" or job.reason == "supervisor_lost":
        kill(store, job, force())
    return store.remove(job.id, job.facts.get("cwd"))
