"""Further attempts at a job: each has a folder below the job's, with a record and logs of its own.

The holder of the job's lock makes the folder first, and then writes the line
into the job's record that makes it the current one. Killed in between, it has
begun nothing: the folder is deleted by the next attempt.
"""

import os
from time import monotonic, sleep

from agent_exec.host import FileLock
from agent_exec.jobs.record import ATTEMPTS, LOCK, RECORD, home_of, read_attempt
from agent_exec.jobs.record_writer import RecordWriter
from agent_exec.jobs.store import broken, bury
from agent_exec.logs.stream import open_to_read
from agent_exec.model.errors import AgentExecError, Busy, InvalidArgument, InvalidState, JobNotFound
from agent_exec.places import make_folder, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store

KEPT = 20
"""How many attempts are kept on disk beside the first one: the newest."""

_LONGEST_RECORD = 1 << 16
"""A job's record that is longer is written anew, without the lines of attempts that are over."""
_PATIENCE = 10.0
_MOMENT = 0.002


def following(job: "Record") -> int:
    """Return the number of the next attempt at a job: its first one, if it was never started."""
    return job.attempt if job.facts.get("awaits") else job.attempt + 1


def claim(store: "Store", job_id: str, number: int) -> FileLock:
    """Take the lock of a job to make this attempt at it; raise if another process has made it."""
    lock = FileLock(os.path.join(store.folder(job_id), LOCK))
    deadline = monotonic() + _PATIENCE
    gone = JobNotFound(f"job {job_id} was deleted meanwhile", job_id=job_id)
    try:
        while not lock.acquire():  # the former supervisor has recorded the end, and goes
            if monotonic() > deadline:
                raise Busy(f"the supervisor of job {job_id} has not gone yet; try again", job_id=job_id)
            sleep(_MOMENT)
    except FileNotFoundError:
        raise gone from None
    except OSError as error:
        raise broken(error, store.root) from error
    found = store.read(job_id)
    problem: AgentExecError = gone
    if found is not None:
        if following(found) == number:
            return lock
        problem = InvalidState(
            f"job {job_id} was started by another process meanwhile; `agent-exec status {job_id}` shows it",
            job_id=job_id,
            state=found.state,
        )
    lock.release()
    raise problem


def make(folder: str, number: int) -> str:
    """Make the folder of an attempt, empty; the caller holds the job's lock."""
    home = home_of(folder, number)
    make_folder(os.path.join(folder, ATTEMPTS))
    if os.path.lexists(home):
        bury(home)  # of an attempt that never began
    os.mkdir(home, 0o700)
    return home


def commit(folder: str, number: int) -> None:
    """Make an attempt the current one, and delete the one that is now too old to be kept."""
    path = os.path.join(folder, RECORD)
    if os.stat(path).st_size > _LONGEST_RECORD:
        _shorten(path)
    writer = RecordWriter.reopen(folder)
    try:
        writer.amend({"attempt": number})
    finally:
        writer.finish()
    if number - KEPT > 1:
        bury(home_of(folder, number - KEPT))


def _shorten(path: str) -> None:
    """Write a record anew without the lines that name attempts, but for the last one."""
    fd = open_to_read(path)
    with os.fdopen(fd, "rb") as file:
        lines = [line for line in file if line.endswith(b"\n")]
    named = [line for line in lines if line.startswith(b'{"attempt":')]
    write_file(path, b"".join([line for line in lines if line not in named[:-1]]))


def attempt_of(job: "Record", number: int) -> "Record":
    """Return one attempt at a job; raise InvalidArgument if there is none of this number, or no longer."""
    found = read_attempt(job, number)
    if found is None:
        raise InvalidArgument(
            f"job {job.id} has no attempt {number}: the current one is {job.attempt}, and the first and the "
            f"last {KEPT} are kept",
            job_id=job.id,
        )
    return found


def all_of(job: "Record") -> "list[Record]":
    """Return the attempts at a job that are kept, the oldest first."""
    numbers = (1, *range(max(2, job.attempt - KEPT + 1), job.attempt)) if job.attempt > 1 else ()
    found = [read_attempt(job, number) for number in numbers]
    return [*(one for one in found if one is not None), job]
