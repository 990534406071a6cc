"""Automatic collection: when a job has ended, and its caller has heard so, old jobs are taken away."""

from agent_exec.jobs.duties import Duty
from agent_exec.model.errors import AgentExecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Term(Duty):
    """Collects once the end is on record; its value are the bounds, as `collect_some` takes them."""

    __slots__ = ()

    def published(self, facts: "Mapping[str, Any]") -> None:  # noqa: ARG002
        """Take away jobs that are too old or too many, but not this one."""
        from agent_exec.jobs.removal import collect_some

        try:
            collect_some(self.job.store, spare=self.job.id, **self.value)
        except (AgentExecError, OSError):
            return  # the next job tries again, and `gc` says what is wrong
