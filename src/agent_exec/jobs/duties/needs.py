"""The term `needs`: the command waits for slots of groups, and holds them until the job has ended."""

from agent_exec.jobs.duties import Duty
from agent_exec.jobs.groups import Queue
from agent_exec.jobs.hearing import Ear
from agent_exec.jobs.start import LOOK
from agent_exec.jobs.store import Store
from agent_exec.model.errors import AgentExecError, StoreFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.jobs.groups import Place
    from agent_exec.jobs.supervise import Supervisor


class Term(Duty):
    """Its value: how many slots of each group, the priority, and the folder of groups."""

    __slots__ = ("_ears", "_held", "_hung_up", "_stale")

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        super().__init__(job, value)
        self._ears: dict[str, Ear] = {}
        self._hung_up: set[str] = set()
        self._held = False
        self._stale = True  # whether something has happened since the last look at the queue

    def facts(self) -> "dict[str, Any]":
        """Return what is needed."""
        needs, priority, _ = self.value
        return {"needs": needs, "priority": priority}

    def hold(self) -> None:
        """Enter the queue; slots are only asked for when nothing else holds the command back."""
        needs, priority, folder = self.value
        with Queue(folder) as queue:
            queue.enter(self.job.store.root, self.job.id, needs, priority)

    def ready(self) -> bool:
        """True if the slots are ours; called only when all else lets the command start."""
        if self._stale and not self._held:
            self._stale = False
            with Queue(self.value[2]) as queue:
                self._held, heard = queue.attend(self.job.id, self._lives)
            for job_id in self._ears.keys() - heard:
                self._ears.pop(job_id).close()
        return self._held

    def heard(self, word: str, _rest: str) -> None:
        """Look at the queue again: another job has changed it."""
        if word == LOOK:
            self._stale = True

    def ended(self, _facts: "dict[str, Any]") -> None:
        """Release the slots, and leave the queue."""
        for ear in self._ears.values():
            ear.close()
        self._ears.clear()
        self._held, self._stale = False, True  # for another attempt
        try:
            with Queue(self.value[2]) as queue:
                queue.leave(self.job.id)
        except (AgentExecError, OSError):
            return  # the jobs behind us hear of our end, and strike us out

    def _lives(self, place: "Place") -> bool:
        """True if a job that is before us lives; its end is heard from now on."""
        job_id = place.id
        if job_id in self._ears:
            return True
        again = job_id in self._hung_up
        try:
            store = Store(place.root)
        except StoreFailed:
            return False
        ear = Ear(store, job_id, self.job.loop, lambda: self._gone(job_id), again=again)
        if ear.alive:
            self._ears[job_id] = ear
        return ear.alive

    def _gone(self, job_id: str) -> None:
        self._ears.pop(job_id).close()
        self._hung_up.add(job_id)
        self._stale = True
