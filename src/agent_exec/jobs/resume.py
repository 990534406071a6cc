"""Continues a supervisor that was stopped: whoever did so meant the command, and the stopped hear nothing."""

import os

from agent_exec.host import holder, send_signal, signal_number
from agent_exec.jobs.record import LOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.jobs.record import Record
    from agent_exec.model.identity import Identity


def supervisor_of(job: "Record") -> "Identity | None":
    """Return who supervises a job: whom its record names, if that process holds the job's lock."""
    pid = job.facts.get("supervisor_pid")
    return holder(os.path.join(job.folder, LOCK), pid) if type(pid) is int and pid > 0 else None


def rouse(job: "Record") -> None:
    """Continue the supervisor of a job; harmless if it runs."""
    number = signal_number("CONT")
    supervisor = supervisor_of(job)
    if number is None or supervisor is None or job.supervisor != "alive":
        return
    try:
        send_signal(supervisor, number)
    except OSError:
        return  # another user's, who may still hear us
