"""Takes jobs away: one, all of a working directory, or those that are too old, too many or too large."""

import os
import stat
from time import monotonic, sleep, time

from agent_exec.jobs.foreign import META, changed, is_foreign, refuse
from agent_exec.jobs.kill import force, kill
from agent_exec.jobs.record import LOCK, OVER, RECORD
from agent_exec.jobs.store import CWD, TRASH, broken, bury, created, is_id, list_jobs
from agent_exec.model.errors import Busy, InvalidState, StoreFailed
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store

_LOCK = ".gc.held"
"""Not `.gc.lock`: the Rust agent-exec may share the folder, and collects no more where that exists."""
_PATIENCE = 10.0
_PAUSE = 0.02
_UNFINISHED = 3600.0
"""A folder without a record that no process holds and that is older than this was never a job."""


class Removal(Value):
    """What became of one job: `action` is deleted, would_delete, skipped or failed; `reason` says why."""

    job: "Record"
    action: str
    reason: str
    error: StoreFailed | None = None


def delete(store: "Store", job: "Record", *, dry_run: bool = False) -> Removal:
    """Remove a job that has ended, or has lost its supervisor: then what lives of it is ended first."""
    if job.state == "running":
        refuse(job)
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


def delete_all(store: "Store", cwd: str, *, dry_run: bool = False) -> tuple[list[Removal], int]:
    """Remove every job of a working directory that has ended.

    Return what became of each one there, and how many jobs there are elsewhere.
    """
    done: list[Removal] = []
    known = sum(1 for _ in store.ids())
    for job in list_jobs(store, cwd=cwd, limit=0)[0]:
        if job.state in OVER:
            done.append(_remove(store, job, "terminal_in_cwd", dry_run=dry_run))
        else:
            done.append(Removal(job, "skipped", job.state))
    tried = [one for one in done if one.action in ("deleted", "failed")]
    if tried and all(one.error is not None for one in tried):
        raise tried[0].error  # type: ignore[misc]  # of all, for the same reason
    return done, max(0, known - len(done))


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
    """Remove a job that is over; end what still lives of a lost one, which no verb could find later."""
    if is_foreign(job):
        return store.remove(job.id, None)
    if job.supervisor == "lost" or job.reason == "supervisor_lost":
        kill(store, job, force())
    if job.state == "created":
        from agent_exec.jobs.hearing import followers, wake

        follow = followers(store, job.id)
        removed = store.remove(job.id, job.facts.get("cwd"))
        wake(store, follow, job.id)  # nothing else tells them: it has no supervisor
        return removed
    return store.remove(job.id, job.facts.get("cwd"))


def collect(
    store: "Store",
    *,
    older_than: float,
    max_jobs: int | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
) -> dict[str, int]:
    """Take away ended jobs older than so many seconds, and the oldest beyond so many jobs or bytes.

    A job that has not ended is never touched, and neither counts nor weighs.
    Return how many were scanned, candidates, deleted, failed and kept, and the
    bytes that were freed.
    """
    from agent_exec.host import FileLock

    done = dict.fromkeys(("scanned", "candidates", "deleted", "failed", "kept", "freed"), 0)
    if not os.path.isdir(store.root):
        return done
    lock = FileLock(os.path.join(store.root, _LOCK))
    try:
        deadline = monotonic() + _PATIENCE
        while not lock.acquire():
            if monotonic() > deadline:
                raise Busy("another gc is at work in this store; try again when it is done")
            sleep(_PAUSE)
    except OSError as error:
        raise broken(error, store.root) from error
    try:
        now = time()
        jobs = weight = 0
        for job_id in store.ids():  # the newest first, so that the oldest are beyond the bounds
            job = store.read(job_id)
            size = 0
            if job is None:
                doomed = _is_debris(store.folder(job_id), now)
            elif not job.ended:
                doomed = False
            else:
                size, ended = _measure(job.folder)
                doomed = now - _changed(job, ended) > older_than
                if not doomed:
                    jobs += 1
                    weight += size
                    doomed = (max_jobs is not None and jobs > max_jobs) or (
                        max_bytes is not None and weight > max_bytes
                    )
            done["scanned"] += 1
            done["candidates" if doomed else "kept"] += 1
            if doomed and not dry_run:
                removed = _take_away(store, job_id, job)
                done["deleted" if removed else "failed"] += 1
                size = size if removed else 0
            done["freed"] += size if doomed else 0
        if not dry_run:
            _tidy(store, time())
    finally:
        lock.release()
    return done


def collect_some(
    store: "Store",
    *,
    older_than: float,
    max_jobs: int | None = None,
    max_bytes: int | None = None,
    scan_limit: int,
    delete_limit: int,
    spare: str = "",
) -> None:
    """Take away ended jobs as `collect` does, the oldest first, within bounds of work; `spare` is left alone.

    Read are at most `scan_limit` records; only `max_bytes` has all folders
    weighed. Do nothing while another collection is at work.
    """
    from agent_exec.host import FileLock

    lock = FileLock(os.path.join(store.root, _LOCK))
    if not lock.acquire():
        return
    try:
        live = set(store.live_ids())
        over = [job_id for job_id in store.ids() if job_id not in live]
        weight, beyond = 0, len(over) if max_jobs is None else max_jobs
        for rank, job_id in enumerate(over if max_bytes is not None else ()):
            weight += _measure(store.folder(job_id))[0]
            if weight > (max_bytes or 0):
                beyond = min(beyond, rank)
                break
        now, left = time(), delete_limit
        for rank in range(len(over) - 1, max(-1, len(over) - 1 - scan_limit), -1):
            job = None if over[rank] == spare or not left else store.read(over[rank])
            if job is None or not job.ended:
                continue
            if rank >= beyond or now - _changed(job, _measure(job.folder)[1]) > older_than:
                left -= _take_away(store, job.id, job)
    finally:
        lock.release()


def _take_away(store: "Store", job_id: str, job: "Record | None") -> bool:
    """Remove a job, or what a crash left of one; False if that failed."""
    if job is None:
        bury(store.folder(job_id))
        return True
    try:
        return remove(store, job)
    except StoreFailed:
        return False


def _changed(job: "Record", latest: float) -> float:
    """Return when a job last changed, of which a file did so at this time."""
    if is_foreign(job) and job.reason != "record_damaged":
        return changed(job)
    if job.reason == "record_damaged":
        return os.lstat(job.folder).st_mtime  # the damage has changed the files
    return latest or created(job.id)


def _measure(folder: str) -> tuple[int, float]:
    """Return how much a job holds on the disk, and when it last changed; 0 if that is unknown."""
    size, latest = 0, 0.0
    for name in _names(folder):
        path = os.path.join(folder, name)
        try:
            status = os.lstat(path)
        except OSError:
            continue  # a part of a log that has just gone
        if stat.S_ISDIR(status.st_mode):
            below, changed = _measure(path)
        else:
            below, changed = status.st_size, status.st_mtime
        size += below
        latest = max(latest, changed)
    return size, latest


def _is_debris(folder: str, now: float) -> bool:
    """True if a folder is what a crash left of a job of ours that was being made."""
    from agent_exec.host import is_locked

    if not is_id(os.path.basename(folder)):
        return False
    try:
        old = now - os.lstat(folder).st_mtime > _UNFINISHED
    except OSError:
        return True
    if not old or os.path.islink(folder):
        return False
    if any(os.path.lexists(os.path.join(folder, name)) for name in (RECORD, META)):
        return False  # a record that cannot be read now may be readable again
    return not is_locked(os.path.join(folder, LOCK))


def _tidy(store: "Store", now: float) -> None:
    """Finish removals that were cut short, and strike jobs from the indexes that are gone or over."""
    for name in os.listdir(store.root):
        if name.startswith(TRASH):
            bury(os.path.join(store.root, name))
    for job_id in store.live_ids():
        job = store.read(job_id)
        if _vanished(store, job_id, now) if job is None else job.ended:
            store.settle(job_id)
    for entry in _entries(os.path.join(store.root, CWD)):
        if _vanished(store, os.path.basename(entry), now):
            try:
                os.unlink(entry)
            except OSError:
                continue  # another process was faster


def _entries(index: str) -> "Iterator[str]":
    """Return the paths of all entries of an index, and of the folders in it."""
    for name in _names(index):
        path = os.path.join(index, name)
        if is_id(name):
            yield path
        else:
            yield from _entries(path)


def _vanished(store: "Store", job_id: str, now: float) -> bool:
    """True if an entry of an index is of a job that is gone, and not of one that is being made."""
    return now - created(job_id) > _UNFINISHED and not os.path.isdir(store.folder(job_id))


def _names(folder: str) -> list[str]:
    """Return the names in a folder; none if it is gone, or is a link to elsewhere."""
    try:
        return [] if os.path.islink(folder) else os.listdir(folder)
    except OSError:
        return []
