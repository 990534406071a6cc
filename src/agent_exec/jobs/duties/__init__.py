"""What a supervisor does for a job beyond running its command: a module for each duty, loaded when needed.

An order's `terms` name the duties, each with a value that can be sent and
recorded. A job without terms loads nothing of this.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.jobs.supervise import Supervisor
    from agent_exec.model.choices import Stream

_HOMES: dict[str, str] = {
    "after": "agent_exec.jobs.duties.after",
    "at": "agent_exec.jobs.duties.at",
    "needs": "agent_exec.jobs.duties.needs",  # last of what holds a command: a slot is not held while waiting
    "port": "agent_exec.jobs.duties.port",
    "ready": "agent_exec.jobs.duties.ready",
    "health": "agent_exec.jobs.duties.health",
    "stop_after": "agent_exec.jobs.duties.stop_after",
    "pipeline": "agent_exec.jobs.duties.pipeline",
    "again": "agent_exec.jobs.duties.again",
    "project": "agent_exec.jobs.duties.project",
    "gc": "agent_exec.jobs.duties.gc",
    "notify": "agent_exec.jobs.duties.notify",
    "log": "agent_exec.jobs.duties.merged_log",
}
"""The module of each duty, by the name of its term; each has a class `Term`, a Duty."""


class Duty:
    """One duty of a supervisor; each method is called by it, and does nothing unless overridden.

    `job` is the supervisor: its `loop` calls back, `append` writes facts to
    the record, `check` looks again whether the command may start.
    """

    __slots__ = ("job", "value")

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        self.job = job
        self.value = value

    def facts(self) -> "dict[str, Any]":
        """Return what the first line of the record says of it: nothing that is a secret."""
        return {}

    def hold(self) -> None:
        """Begin to watch what the command must wait for; called before each attempt, once there is a loop."""

    def ready(self) -> bool:
        """True if the command may start, as far as this duty is concerned."""
        return True

    def started(self) -> None:
        """Hear that the command runs."""

    def printed(self, stream: "Stream", chunk: bytes) -> None:
        """Hear what the command has printed."""

    def noted(self, event: "Mapping[str, Any]") -> None:
        """Hear of an event of the job, which is in the log of the store."""

    def passed(self, stream: "Stream", chunk: bytes) -> bytes:  # noqa: ARG002
        """Return what is kept of some output, before it is."""
        return chunk

    def rest(self) -> "tuple[Stream, bytes]":
        """Return what was held back of a stream, since nothing follows."""
        return "stdout", b""

    def amended(self, facts: "Mapping[str, Any]") -> None:
        """Hear of facts that were changed from outside while the job is not over."""

    def pause(self, facts: "dict[str, Any]") -> float | None:  # noqa: ARG002
        """Return after how many seconds the command is to be run again, which has ended so; None is never.

        More facts may be added. The job is not over then: `published` is called when it is.
        """
        return None

    def heard(self, word: str, rest: str) -> None:
        """Hear a line from the control pipe that the supervisor has no use for itself."""

    def ended(self, facts: "dict[str, Any]") -> None:
        """Hear how the command has ended, before that is recorded; more facts may be added.

        It may be run again: `pause` is asked next, of every duty.
        """

    def published(self, facts: "Mapping[str, Any]") -> None:
        """Hear that the end of the job is on record: of its last attempt, if there were several."""


def load(job: "Supervisor", terms: "Mapping[str, Any]") -> list[Duty]:
    """Return the duties that the terms of a job name, in the order of the table."""
    from importlib import import_module

    return [import_module(home).Term(job, terms[name]) for name, home in _HOMES.items() if name in terms]


def hear_amended(job: "Supervisor", duties: "Sequence[Duty]", facts: "Mapping[str, Any]") -> "Sequence[Duty]":
    """Have the duties of a running job hear of changed facts, and load one that these ask for; return all."""
    for duty in duties:
        duty.amended(facts)
    if "notification" in facts:
        from agent_exec.jobs.duties.notify import Term

        if not any(isinstance(duty, Term) for duty in duties):
            return [*duties, Term(job, facts["notification"])]
    return duties
