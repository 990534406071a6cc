"""Waits for the end of a job, without polling where the system can tell; continues a stopped supervisor."""

import os
from time import monotonic, sleep

from agent_exec.host import Watch
from agent_exec.jobs.foreign import is_foreign
from agent_exec.jobs.record import CONTROL, LOCK
from agent_exec.model.errors import JobNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.jobs.readiness.watching import Watching
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.identity import Identity

_LOOK = 0.02
"""How often to look where nothing tells of the end: a lost supervisor, a file system without pipes."""
_MOMENT = 0.002
_SETTLING = 0.25
"""The Rust agent-exec writes how a command has ended within this time of its end."""
_LONGEST = 1.0
"""How long to trust in a notification: a pipe opened between its owner's hang-up and end stays silent."""


def wait_for_end(
    store: "Store",
    job: "Record",
    seconds: float | None,
    cancel: "Cancel | None" = None,
    watching: "Watching | None" = None,
) -> "Record":
    """Return the job once it has ended with its output complete; as it stands when the time is over.

    The conditions of `watching` end the wait too.
    """
    deadline = None if seconds is None else monotonic() + seconds
    hung_up, ran = False, job.state == "running"
    while not job.ended:
        # Opened before the look, so that no end can fall between the two.
        watch = Watch(os.path.join(job.folder, CONTROL))
        try:
            found = store.read(job.id)
            if found is None:
                raise JobNotFound(f"job {job.id} was taken away while we waited for it", job_id=job.id)
            job = found
            left = None if deadline is None else deadline - monotonic()
            if job.ended or (left is not None and left <= 0) or (cancel and cancel.is_set()):
                if watching is not None and not job.ended:
                    watching.look()
                break
            step = _LOOK
            if hung_up:
                step = _MOMENT  # it is going, and its lock goes with it
            elif job.supervisor == "alive" and watch.hears:
                step = _LONGEST
            elif job.state == "created":
                step = _LONGEST  # it waits to be started, by a process that tells nothing of it
            if left is not None:
                step = min(step, left)
            if watching is not None:
                told = _wait_or_look(watch, step, watching, cancel)
                if told is None:
                    break
            else:
                told = watch.wait(step, cancel)
            hung_up = told and job.supervisor == "alive"
            if not told and step == _LONGEST:
                rouse(job)
        finally:
            watch.close()
    if ran and job.reason == "supervisor_lost" and is_foreign(job):
        sleep(_SETTLING)
        job = store.read(job.id) or job
    if watching is not None and job.ended:
        watching.look(final=True)
    return job


def _wait_or_look(watch: Watch, seconds: float, watching: "Watching", cancel: "Cancel | None") -> bool | None:
    """Wait as `watch` does, and look at conditions meanwhile; None once they hold."""
    end = monotonic() + seconds
    while True:
        pause = watching.look()
        if pause is None:
            return None
        left = end - monotonic()
        if watch.wait(max(0.0, min(pause, left)), cancel):
            return True
        if left <= pause:
            return False


def supervisor_of(job: "Record") -> "Identity | None":
    """Return the process that supervises a job: the one on record, if it holds the job's lock."""
    from agent_exec.host import holder

    pid = job.facts.get("supervisor_pid")
    return holder(os.path.join(job.folder, LOCK), pid) if type(pid) is int and pid > 0 else None


def rouse(job: "Record") -> None:
    """Send SIGCONT to the supervisor of a job: a command may have stopped it, and it would hear nothing."""
    from agent_exec.host import send_signal, signal_number

    number = signal_number("CONT")
    supervisor = supervisor_of(job)
    if number is None or supervisor is None or job.supervisor != "alive":
        return
    try:
        send_signal(supervisor, number)
    except OSError:
        return  # another user's, which may still hear us
