"""Ends a job through its supervisor, or without one that is lost."""

import os

from agent_exec.host import Watch, ask, end_orphans, is_locked, send_signal, signal_name, signal_number
from agent_exec.jobs.foreign import refuse
from agent_exec.jobs.record import CONTROL, LOCK
from agent_exec.jobs.start import END, MARK, SIGNAL
from agent_exec.jobs.wait import rouse, supervisor_of, wait_for_end
from agent_exec.model.errors import Unsupported
from agent_exec.model.identity import Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel

_ENDING = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGKILL", "SIGBREAK")
"""Signals that ask to end: a tree that does not heed them is ended by force. Others are only delivered."""

_MARGIN = 5.0
_GLANCE = 0.25


def kill(
    store: "Store", job: "Record", number: int, *, wait: bool = True, cancel: "Cancel | None" = None
) -> "Record":
    """Send a signal to all of a job's processes, and return the job as it stands then.

    A signal that asks to end is followed by force after the job's grace, and
    waited for.
    """
    refuse(job)
    if job.state == "created" and job.supervisor is None:
        if signal_name(number) not in _ENDING:
            return job
        from agent_exec.jobs.create import drop

        return drop(store, job)
    leader = job.identity or Identity(0, 0, "")
    mark = f"{MARK}={job.id}"
    ends = signal_name(number) in _ENDING
    grace = job.facts.get("kill_after_ms", 0) / 1000
    request = f"{END if ends else SIGNAL} {number}"
    left = bool(job.facts.get("leaked"))
    if job.supervisor == "alive":
        rouse(job)
        if not ask(os.path.join(job.folder, CONTROL), request):
            _insist(store, job, ends=ends)
        if not wait:
            return store.read(job.id) or job
        job = wait_for_end(store, job, grace + _MARGIN if ends else _GLANCE, cancel)
        if ends and job.supervisor == "alive" and not (cancel and cancel.is_set()):
            # Processes of the job stop its supervisor again and again, so it cannot hear us: end them first.
            end_orphans(leader, mark, force(), 0)
            rouse(job)
            return wait_for_end(store, job, _MARGIN, cancel)
        return job
    if left and is_locked(os.path.join(job.folder, LOCK)):
        watch = Watch(os.path.join(job.folder, CONTROL))
        ask(watch.path, request)
        if wait and ends:
            watch.wait(grace + _MARGIN, cancel)
        watch.close()
    elif left or job.supervisor == "lost" or job.reason == "supervisor_lost":
        if ends:
            end_orphans(leader, mark, number, grace)
        elif job.identity is not None:
            send_signal(job.identity, number)
    return store.read(job.id) or job


def _insist(store: "Store", job: "Record", *, ends: bool) -> None:
    """Signal a supervisor that has no control pipe, as on a file system without pipes."""
    found = store.read(job.id)
    if found is None or found.supervisor != "alive":
        return  # it has ended meanwhile, and may be gone
    supervisor = supervisor_of(found)
    term = signal_number("TERM")
    if not ends or supervisor is None or term is None or not send_signal(supervisor, term):
        raise Unsupported(f"the supervisor of job {job.id} cannot be asked; end it with --signal TERM")


def force() -> int:
    """Return the number of the signal that no process can refuse."""
    number = signal_number("KILL")
    assert number is not None
    return number
