"""The duty of a job with ports: gives each to the command as a variable, and keeps it from other jobs."""

from agent_exec.jobs.duties import Duty
from agent_exec.jobs.readiness.ports import allocate
from agent_exec.jobs.store import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.host import FileLock
    from agent_exec.jobs.supervise import Supervisor


class Term(Duty):
    """Its value: a port for the name of each variable; 0 is one that is stable, free and no other job's.

    A text in place of a port is one that is stable for this text, whatever the variable is called.
    """

    __slots__ = ("_found", "_held")

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        super().__init__(job, value)
        self._held: list[FileLock] = []
        self._found: dict[str, int] = {}

    def facts(self) -> "dict[str, Any]":
        """Find the ports, set the variables, and return them."""
        order, found = self.job.order, self._found
        for name, port in self.value.items():
            if name in found:
                continue  # a further attempt has the same, which this process holds
            if not port or isinstance(port, str):
                port, lock = allocate(place_of(order["cwd"]), port or name)  # noqa: PLW2901
                self._held.append(lock)
            found[name] = port
            order["env"][name.encode()] = str(port).encode()
        return {"ports": found}

    def ended(self, facts: "dict[str, Any]") -> None:  # noqa: ARG002
        """Free the ports before the end is on record, for the next job of the same name."""
        if "again" not in self.job.order["terms"]:  # a further attempt has the same ports
            while self._held:
                self._held.pop().release()
