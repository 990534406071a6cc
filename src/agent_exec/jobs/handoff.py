"""Makes a job of a command that runs already: its owner lets go of it, and a supervisor goes on with it.

The supervisor makes the job as any other does, writes down what the command
had printed already, and says so. Only when it then hears a word is the command
its own; without one there is no job, and the former owner keeps the command.
"""

import os

from agent_exec.host import Adopted, Report
from agent_exec.jobs.start import Started, refuse, send_order, take_order
from agent_exec.jobs.stdin import spooled
from agent_exec.jobs.store import Store, new_id, place_of
from agent_exec.jobs.supervise import Supervisor, preload
from agent_exec.model.errors import AgentExecError, LaunchFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from agent_exec.host.ports import Handed
    from agent_exec.jobs.start import Detach, Order
    from agent_exec.model.command import Outcome
    from agent_exec.sandbox.report.guard import Guard

__all__ = ["hand_over", "main", "preload"]

SUPERVISOR = "agent_exec.jobs.handoff"
_WORD = b"!"
_CHUNK = 1 << 20


def hand_over(
    detach: "Detach", root: str, order: "Order", handed: "Handed", printed: "Iterable[tuple[int, bytes]]"
) -> str:
    """Have a supervisor go on with a command, in a store in this folder; return the job's id.

    `printed` is what the command has printed so far, in pieces with their
    offsets. If this raises, the command still belongs to the caller.
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
            if job.id:  # the supervisor that would have withdrawn it is gone
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


def main(fds: list[int]) -> None:
    """Take the order from the first descriptor, tell the second about it; the third is what was printed."""
    orders, report, printed, *handed = fds
    request = take_order(orders)
    if request is None:
        return  # the caller has changed its mind
    root, order, facts, pieces = request
    spawner = HandedSpawner(handed, facts, orders, order["sandbox"])
    try:
        job = HandedJob(Store(root), new_id(), order, spawner, report)
    except AgentExecError as error:
        refuse(report, error)
        return
    spawner.lock = job.lock.fd
    try:
        job.write_down(printed, pieces)
        job.serve()
    except Recalled:
        job.withdraw()
    except BaseException:
        if not spawner.started:
            job.withdraw()  # it is not ours to end
        else:
            spawner.abandon()
        raise


class Recalled(Exception):
    """The former owner keeps the command."""


class HandedSpawner(Adopted):
    """Gives the process that was handed to us, once a word comes through `orders`."""

    __slots__ = ("_orders", "_told", "boxed", "guard", "started")

    room = 1 << 15
    ran = True
    keep = 0

    def __init__(
        self, fds: "Sequence[int]", facts: "Mapping[str, Any]", orders: int, told: "dict[str, Any] | None"
    ) -> None:
        super().__init__(fds, facts)
        self._orders = orders
        self._told = told
        self.guard: Guard | None = None
        if told is not None and (fields := told.pop("guard", None)):
            from agent_exec.sandbox.report import guard
            from agent_exec.sandbox.sandbox import shared_sandbox

            self.guard = guard.Guard.from_fields(shared_sandbox(), fields)
        self.boxed = facts["box"] is not None
        self.started = False

    def check_box(self) -> None:
        """Return what makes a box for a check: no box, since a command that is handed over has no checks."""

    def start(self, argv: "Sequence[Any]", cwd: str | bytes, env: "Mapping[Any, Any]") -> None:
        """Wait for the word, and own the command from then on."""
        if not self.wait_for_word(self._orders):
            raise Recalled
        self.started = True
        os.close(self._orders)
        super().start(argv, cwd, env)

    def renew(self, _stdin: int) -> "HandedSpawner":
        """Raise: a command that was handed over is run once."""
        raise NotImplementedError

    def report(self, outcome: "Outcome") -> "dict[str, Any]":
        """Return what the record says of the box when the command has ended: what was known of it before."""
        if self._told is None:
            return {}
        from agent_exec.jobs.confined_job import bounded

        limits = ["wall"] if outcome.timed_out else []
        changes = [dict(change) for change in outcome.changes]
        return {
            "sandbox": bounded(self._told | {"limits_hit": limits, "protected_changes": changes}, self.room)
        }


class HandedJob(Supervisor):
    """A job that begins in the middle of its command."""

    def write_down(self, fd: int, pieces: "Sequence[tuple[int, int]]") -> None:
        """Write down what was printed before: pieces of it, by where each begins and how long it is."""
        log = self._logs["stdout"]
        for start, size in pieces:
            if start > log.total:
                log.skip(start - log.total)
            left = size
            while left > 0 and (chunk := os.read(fd, min(left, _CHUNK))):
                self._keep("stdout", chunk)
                left -= len(chunk)
        os.close(fd)

    def withdraw(self) -> None:
        """Take the job away: there is none."""
        self.store.remove(self.id, place_of(self.order["cwd"]))
