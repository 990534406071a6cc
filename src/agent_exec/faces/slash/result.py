"""How a command ended, and how that is told on one line."""

from time import localtime, strftime

from agent_exec.faces.slash.display import clipped
from agent_exec.faces.slash.feedback import SlashFeedback
from agent_exec.model.output import text
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.slash.view import ShellOutputView
    from agent_exec.model.choices import Cause
    from agent_exec.model.outcome import Outcome

PART = 80
"""How many characters of a stream are in the summary."""

_WHY = {"timeout": "timed out", "stopped": "cancelled", "overflow": "stopped"}


class ShellExecutionResult(Value):
    """How a command ended; made only for one that was started.

    `status_code` is None if a signal ended it, which `signal` names, and
    `cause` says why if that was us. The streams are the last of what it
    printed. `timestamp` is when it began, in milliseconds since 1970.
    """

    status_code: int | None
    stdout: str
    stderr: str
    duration_ms: int
    timestamp: int
    signal: str | None = None
    cause: "Cause | None" = None

    @classmethod
    def of(cls, outcome: "Outcome", view: "ShellOutputView", timestamp: int) -> "ShellExecutionResult":
        """Return an outcome, with the output that the view has kept."""
        return cls(
            None if outcome.signal is not None else outcome.exit_code,
            text(view.kept("stdout")),
            text(view.kept("stderr")),
            int(outcome.duration * 1000),
            timestamp,
            outcome.signal,
            outcome.cause,
        )

    @property
    def code(self) -> int:
        """The code that is told: -1 if a signal ended it."""
        return -1 if self.status_code is None else self.status_code

    @property
    def why(self) -> str:
        """What else is to be said of its end: that we ended it, or which signal did; often nothing."""
        return _WHY[self.cause] if self.cause is not None else self.signal or ""

    @property
    def summary(self) -> str:
        """The line for the Bottom Bar."""
        told = [f"shell: exit={self.code}", f"{self.duration_ms}ms"]
        if self.why:
            told.append(f"({self.why})")
        for name, stream in (("stdout", self.stdout), ("stderr", self.stderr)):
            # Only the beginning is looked at: all of it may be megabytes of blanks.
            if part := clipped(stream[: 4 * PART].strip(), PART):
                told.append(f"{name}={part}")
        return " ".join(told)

    @property
    def footer(self) -> str:
        """The last line of the output view."""
        when = strftime("%Y-%m-%d %H:%M:%S", localtime(self.timestamp / 1000))
        why = f" ({self.why})" if self.why else ""
        return f"exit: {self.code}{why} duration: {self.duration_ms}ms timestamp: {when}"

    @property
    def feedback(self) -> SlashFeedback:
        """The summary: good news if it ended by itself with 0, bad news otherwise."""
        good = self.status_code == 0 and self.cause is None
        return SlashFeedback(self.summary, "Success" if good else "Error")
