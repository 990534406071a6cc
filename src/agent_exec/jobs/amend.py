"""Changes facts of a job from outside: through its supervisor while it lives, else under the job's lock.

The supervisor alone writes the record of its job. It is given the new facts in
a file of their own, which it deletes once they are on record.
"""

import os
from time import monotonic, sleep

from agent_exec.host import FileLock, ask, is_locked
from agent_exec.jobs.foreign import refuse
from agent_exec.jobs.record import CONTROL, LOCK
from agent_exec.jobs.record_writer import RecordWriter
from agent_exec.jobs.start import AMEND
from agent_exec.jobs.store import broken
from agent_exec.jobs.wait import rouse
from agent_exec.logs.stream import create
from agent_exec.model.errors import InvalidState, JobNotFound, StoreFailed
from agent_exec.model.jsonline import dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store

_EDITING = "edit"
_PATIENCE = 10.0
_MOMENT = 0.002


def amend(store: "Store", job: "Record", change: "Callable[[Record], dict[str, Any]]") -> "Record":
    """Change facts of a job to those that `change` returns for its record; return the job as it stands then.

    One change at a time: `change` gets the record as it is just then, and
    raises what it refuses. A job that is not over may have no supervisor yet.
    """
    with editing(store, job) as found:
        facts = change(found)
        if found.reason == "record_damaged":
            raise InvalidState(
                f"the record of job {job.id} is damaged, and takes no changes",
                job_id=job.id,
                state=found.state,
            )
        _apply(store, found, facts)
        return _read(store, job)


class editing:  # noqa: N801 - as a context manager of the standard library is named
    """Lets one process at a time change a job, and gives its record as it is then."""

    __slots__ = ("_job", "_lock", "_store")

    def __init__(self, store: "Store", job: "Record") -> None:
        refuse(job)
        self._store = store
        self._job = job
        self._lock = FileLock(os.path.join(job.folder, _EDITING))

    def __enter__(self) -> "Record":
        try:
            self._lock.acquire(wait=True)
        except FileNotFoundError:
            raise _deleted(self._job) from None
        except OSError as error:
            raise broken(error, self._store.root) from error
        try:
            return _read(self._store, self._job)
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def is_edited(job: "Record") -> bool:
    """True if a process changes or restarts a job right now."""
    return is_locked(os.path.join(job.folder, _EDITING))


def _read(store: "Store", job: "Record") -> "Record":
    found = store.read(job.id)
    if found is None:
        raise _deleted(job)
    return found


def _deleted(job: "Record") -> JobNotFound:
    return JobNotFound(f"job {job.id} was deleted meanwhile", job_id=job.id)


def _apply(store: "Store", job: "Record", facts: "dict[str, Any]") -> None:
    """Have the facts on record, by the supervisor or by ourselves."""
    deadline = monotonic() + _PATIENCE
    while monotonic() < deadline:
        if job.supervisor == "alive" and _asked(job, facts, deadline):
            return
        lock = FileLock(os.path.join(job.folder, LOCK))
        if lock.acquire():
            try:
                writer = RecordWriter.reopen(job.home)
                writer.amend(facts)
                writer.finish()
            except OSError as error:
                raise broken(error, store.root) from error
            finally:
                lock.release()
            return
        sleep(_MOMENT)  # it is ending just now
        job = _read(store, job)
    raise StoreFailed(
        f"the supervisor of job {job.id} has not answered within {_PATIENCE:g} s; try again", job_id=job.id
    )


def _asked(job: "Record", facts: "dict[str, Any]", deadline: float) -> bool:
    """Pass the facts to the supervisor; return True once they are on record, False if it has ended."""
    name = f"{AMEND}-{os.urandom(8).hex()}"
    path = os.path.join(job.folder, name)
    fd = create(path)
    try:
        os.write(fd, dump(facts).encode())
    finally:
        os.close(fd)
    try:
        rouse(job)
        if not ask(os.path.join(job.folder, CONTROL), f"{AMEND} {name}"):
            return False
        while os.path.exists(path) and monotonic() < deadline:
            lock = FileLock(os.path.join(job.folder, LOCK))
            if lock.acquire():  # it has ended, and heard nothing
                lock.release()
                return not os.path.exists(path)
            sleep(_MOMENT)
        return not os.path.exists(path)
    finally:
        try:
            os.unlink(path)
        except OSError:
            pass  # as it should be
