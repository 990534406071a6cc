"""Bounds the store: takes away ended jobs that are too old, too many or too large, the oldest first."""

import os
from time import monotonic, sleep, time

from agent_exec.host import FileLock, is_locked
from agent_exec.jobs.delete import remove
from agent_exec.jobs.ids import created, is_id
from agent_exec.jobs.record import LOCK, RECORD
from agent_exec.jobs.store import CWD, TRASH, broken, bury
from agent_exec.model.errors import Busy, StoreFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store

_LOCK = ".gc.lock"
_PATIENCE = 10.0
_PAUSE = 0.02
_UNFINISHED = 3600.0
"""A folder without a record that nobody holds and that is older than this was never a job."""


class Collection:
    """What was found and done."""

    __slots__ = ("candidates", "deleted", "failed", "freed", "kept", "scanned")

    def __init__(self) -> None:
        self.scanned = 0
        self.candidates = 0
        self.deleted = 0
        self.failed = 0
        self.freed = 0
        self.kept = 0


def collect(
    store: "Store",
    *,
    older_than: float,
    max_jobs: int | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
) -> Collection:
    """Take away ended jobs older than so many seconds, and the oldest beyond so many jobs or bytes.

    A job that has not ended is never touched, and neither counts nor weighs.
    """
    done = Collection()
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
        _collect(store, done, older_than, max_jobs, max_bytes, dry_run=dry_run)
        if not dry_run:
            _tidy(store, time())
    finally:
        lock.release()
    return done


def _collect(
    store: "Store",
    done: Collection,
    older_than: float,
    max_jobs: int | None,
    max_bytes: int | None,
    *,
    dry_run: bool,
) -> None:
    now = time()
    jobs = weight = 0
    for job_id in store.ids():  # the newest first, so that the oldest are beyond the bounds
        done.scanned += 1
        job = store.read(job_id)
        if job is None:
            if _clear_debris(store.folder(job_id), now, dry_run=dry_run):
                done.candidates += 1
                done.deleted += not dry_run
            else:
                done.kept += 1
            continue
        if not job.ended:
            done.kept += 1
            continue
        size, ended = _measure(job)
        old = now - ended > older_than
        if not old:
            jobs += 1
            weight += size
        beyond = (max_jobs is not None and jobs > max_jobs) or (max_bytes is not None and weight > max_bytes)
        if not (old or beyond):
            done.kept += 1
            continue
        done.candidates += 1
        if dry_run:
            done.freed += size
            continue
        try:
            removed = remove(store, job)
        except StoreFailed:
            removed = False
        done.deleted += removed
        done.failed += not removed
        done.freed += size if removed else 0


def _measure(job: "Record") -> tuple[int, float]:
    """Return how much a job holds on the disk, and when it last changed."""
    size, latest = 0, 0.0
    for name in _names(job.folder):
        try:
            status = os.lstat(os.path.join(job.folder, name))
        except OSError:
            continue  # a part of a log that has just gone
        size += status.st_size
        latest = max(latest, status.st_mtime)
    return size, latest or created(job.id)


def _clear_debris(folder: str, now: float, *, dry_run: bool) -> bool:
    """Take away what a crash left of a job that was being made; say whether it was that."""
    try:
        old = now - os.lstat(folder).st_mtime > _UNFINISHED
    except OSError:
        return True
    if not old or os.path.lexists(os.path.join(folder, RECORD)) or os.path.islink(folder):
        return False  # a record that cannot be read now may be readable again
    if is_locked(os.path.join(folder, LOCK)):
        return False
    if not dry_run:
        bury(folder)
    return True


def _tidy(store: "Store", now: float) -> None:
    """Finish removals that were cut short, and strike jobs from the indexes that are gone or over."""
    for name in os.listdir(store.root):
        if name.startswith(TRASH):
            bury(os.path.join(store.root, name))
    for job_id in store.live_ids():
        job = store.read(job_id)
        if _vanished(store, job_id, now) if job is None else job.ended:
            store.settle(job_id)
    by_cwd = os.path.join(store.root, CWD)
    for name in _names(by_cwd):
        for job_id in filter(is_id, _names(os.path.join(by_cwd, name))):
            if _vanished(store, job_id, now):
                try:
                    os.unlink(os.path.join(by_cwd, name, job_id))
                except OSError:
                    continue  # someone else was faster


def _vanished(store: "Store", job_id: str, now: float) -> bool:
    """True if an entry of an index is of a job that is gone, and not of one that is being made."""
    return now - created(job_id) > _UNFINISHED and not os.path.isdir(store.folder(job_id))


def _names(folder: str) -> list[str]:
    """Return the names in a folder; none if it has just gone, is none, or is a link to elsewhere."""
    try:
        return [] if os.path.islink(folder) else os.listdir(folder)
    except OSError:
        return []
