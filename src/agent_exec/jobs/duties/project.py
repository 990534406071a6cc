"""The term `project`: the job is a service of a project, of which there is at most one at a time."""

from time import monotonic, sleep

from agent_exec.jobs.duties import Duty
from agent_exec.jobs.project.running import service_lock
from agent_exec.model.errors import InvalidState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.host import FileLock
    from agent_exec.jobs.supervise import Supervisor

_PATIENCE, _PAUSE = 1.0, 0.01


class Term(Duty):
    """Its value: `folder`, `name` and `definition`, by which `up` knows what runs."""

    __slots__ = ("_lock",)

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        super().__init__(job, value)
        self._lock: FileLock | None = None

    def facts(self) -> "dict[str, Any]":
        """Take the lock of the service, for as long as this process lives; raise InvalidState if it runs."""
        name = self.value["name"]
        if self._lock is not None:
            return {"project": self.value}  # for a further attempt, which has the lock
        self._lock = service_lock(self.job.store, self.value["folder"], name)
        deadline = monotonic() + _PATIENCE
        while not self._lock.acquire():
            if monotonic() > deadline:
                raise InvalidState(f"{name} runs already", field=name)
            sleep(_PAUSE)  # the supervisor of the attempt before may be on its way out
        return {"project": self.value}
