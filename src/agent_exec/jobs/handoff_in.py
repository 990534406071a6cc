"""The supervisor of a job whose command ran before: it goes on with what another process has let go of.

It makes the job as any supervisor does, writes down what the command had
printed already, and says so. Only when it then hears a word is the command
its own; without one there is no job, and who had the command keeps it.
"""

import os

from agent_exec.host import Adopted
from agent_exec.jobs.ids import new_id
from agent_exec.jobs.store import Store, place_of
from agent_exec.jobs.supervise import Supervisor, refuse, take_order
from agent_exec.jobs.supervise import preload as preload_supervisor
from agent_exec.model.errors import AgentExecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.model.outcome import Outcome
    from agent_exec.model.output import Keep
    from agent_exec.sandbox.report.guard import Guard

_CHUNK = 1 << 20


def main(fds: list[int]) -> None:
    """Take the order from the first descriptor, tell the second about it; the third is what was printed."""
    orders, report, printed, *handed = fds
    request = take_order(orders)
    if request is None:
        return  # whoever wanted us has changed its mind
    root, order, facts, pieces = request
    spawner = AdoptedSpawner(handed, facts, orders, order["sandbox"])
    try:
        job = AdoptedJob(Store(root), new_id(), order, spawner, report)
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


def preload() -> None:
    """Load all that such a supervisor will need, for a process that forks many."""
    preload_supervisor()


class Recalled(Exception):
    """Whoever had the command keeps it."""


class AdoptedSpawner(Adopted):
    """Gives the process that was handed to us, once a word comes through `orders`."""

    __slots__ = ("_orders", "_told", "boxed", "guard", "started")

    room = 1 << 15
    ran = True

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

    @property
    def keep(self) -> "Keep":
        """What the run is to keep of each stream."""
        from agent_exec.model.output import Head

        return Head(0)

    def start(self, argv: "Sequence[Any]", cwd: str | bytes, env: "Mapping[Any, Any]") -> None:
        """Wait for the word, and own the command from then on."""
        if not self.wait_for_word(self._orders):
            raise Recalled
        self.started = True
        os.close(self._orders)
        super().start(argv, cwd, env)

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


class AdoptedJob(Supervisor):
    """A job that begins in the middle of its command."""

    __slots__ = ()

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
        self._store.remove(self._id, place_of(self._order["cwd"]))
