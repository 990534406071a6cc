"""Ends a job: asks its supervisor to, or does it ourselves where that is lost."""

import os

from agent_exec.host import ask, end_orphans, signal_name, signal_number
from agent_exec.jobs.order import END, MARK, SIGNAL
from agent_exec.jobs.record import CONTROL
from agent_exec.jobs.wait import wait_for_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host import Interrupts
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store

_ENDING = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGKILL", "SIGBREAK")
"""Signals that ask to end: a tree that does not heed them is ended by force. Others are only delivered."""

_MARGIN = 5.0
_GLANCE = 0.25


def kill(
    store: "Store", job: "Record", number: int, *, wait: bool = True, interrupts: "Interrupts | None" = None
) -> "Record":
    """Send a signal to all of a job's processes, and give the job as it stands then.

    A signal that asks to end is followed by force after the job's grace, and
    waited for.
    """
    ends = signal_name(number) in _ENDING
    grace = job.facts.get("kill_after_ms", 0) / 1000
    if job.supervisor == "alive" or job.facts.get("leaked"):
        ask(os.path.join(job.folder, CONTROL), f"{END if ends else SIGNAL} {number}")
        if wait:
            return wait_for_end(store, job, grace + _MARGIN if ends else _GLANCE, interrupts)
    elif job.identity is not None and (job.supervisor == "lost" or job.reason == "supervisor_lost"):
        end_orphans(job.identity, f"{MARK}={job.id}", number, grace if ends else _MARGIN)
    return store.read(job.id) or job


def force() -> int:
    """Give the number of the signal that nobody can refuse."""
    number = signal_number("KILL")
    assert number is not None
    return number
