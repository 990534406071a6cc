"""Makes a job of a command that runs already, for the process that has let go of it."""

import os

from agent_exec.host import Report
from agent_exec.jobs.start import Started, send_order
from agent_exec.jobs.stdin import spooled
from agent_exec.jobs.store import Store, place_of
from agent_exec.model.errors import LaunchFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_exec.host.ports import Handed
    from agent_exec.jobs.order import Order
    from agent_exec.jobs.start import Detach

SUPERVISOR = "agent_exec.jobs.handoff_in"
_WORD = b"!"


def hand_over(
    detach: "Detach", root: str, order: "Order", handed: "Handed", printed: "Iterable[tuple[int, bytes]]"
) -> str:
    """Have a supervisor go on with a command, in a store in this folder; return the job's id.

    `printed` is what the command has printed so far, in pieces with their
    offsets. If this raises, nobody has taken the command.
    """
    pieces: list[tuple[int, int]] = []
    spool = spooled(Store(root), _noted(printed, pieces))
    report = Report()
    reader, orders = os.pipe()
    try:
        try:
            detach(SUPERVISOR, [reader, report.fd, spool, *handed.fds])
        finally:
            os.close(reader)
            os.close(spool)
            report.listen()
        job = Started(root, report)
        try:
            return _give(orders, job, (root, order.fields(), handed.facts, pieces))
        except LaunchFailed:
            if job.id:  # whoever would have withdrawn it is gone
                Store(root).remove(job.id, place_of(order.cwd))
            raise
    finally:
        os.close(orders)  # without a word on it, there is no job
        report.close()


def _give(orders: int, job: Started, order: "tuple[object, ...]") -> str:
    """Have the job made, then say the word; return its id once the command is its own."""
    try:
        send_order(orders, order)
        job.hear_of(lambda: job.id)
        if not job.id:
            raise LaunchFailed("the supervisor of the job was not ready in time; try again")
        os.write(orders, _WORD)
    except OSError:
        raise LaunchFailed("the supervisor of the job was killed before it could take the command") from None
    # Now it is the supervisor's to take, and to say so; only its end gives it back.
    while not (job.started or job.ended or job.hung_up):
        try:
            job.hear_of(lambda: job.started)
        except KeyboardInterrupt:
            continue  # whose it is must be known first
    if not (job.started or job.ended):
        raise LaunchFailed("the supervisor of the job was killed before it could take the command")
    return job.id


def _noted(printed: "Iterable[tuple[int, bytes]]", pieces: "list[tuple[int, int]]") -> "Iterator[bytes]":
    for start, data in printed:
        pieces.append((start, len(data)))
        yield data
