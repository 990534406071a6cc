"""Takes the report of a failure that an exit code hides out of the output, and notes it at the end."""

from agent_exec.jobs.duties import Duty
from agent_exec.requests.shells import Pipeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.jobs.supervise import Supervisor
    from agent_exec.model.choices import Stream


class Term(Duty):
    """The report of one shell; the value is the stream that it comes on."""

    __slots__ = ("_report",)

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        super().__init__(job, value)
        self._report = Pipeline()

    def passed(self, stream: "Stream", chunk: bytes) -> bytes:
        """Return some output without the report."""
        return self._report.strip(chunk) if stream == self.value else chunk

    def rest(self) -> "tuple[Stream, bytes]":
        """Return what may have been the beginning of a report."""
        return self.value, self._report.rest()

    def ended(self, facts: "dict[str, Any]") -> None:
        """Add the note, if a failure is hidden; what runs next reports anew."""
        if notes := self._report.notes(facts["exit_code"]):
            facts["note"] = notes[0]
        self._report = Pipeline()
