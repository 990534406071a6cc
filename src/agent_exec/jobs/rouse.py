"""Continues a supervisor that was stopped: whoever did so meant the command, and the stopped hear nothing."""

from agent_exec.host import identify, send_signal, signal_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.jobs.record import Record


def rouse(job: "Record") -> None:
    """Continue the supervisor of a job; harmless if it runs."""
    number = signal_number("CONT")
    supervisor = identify(job.facts.get("supervisor_pid", 0))
    if number is None or supervisor is None or job.supervisor != "alive":
        return
    try:
        send_signal(supervisor, number)
    except OSError:
        return  # another user's, who may still hear us
