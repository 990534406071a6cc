"""How a run ended: a value, whatever the ending was."""

from agent_exec.model.output import text
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_exec.model.choices import Cause


class Outcome(Value):
    """How a run ended, and what it printed.

    `exit_code` is the command's own, or 128 + n when signal n ended it, and
    then `signal` is its name ("SIGTERM"); both are None for a run that was
    stopped before it was started. `cause` says why *we* ended it, and is None
    when it ended by itself. `leaked` says that something the command had
    started outlived it, or still holds its output open. `duration` is in
    seconds, from spawn to end. `network` is what the proxy has decided
    about each request of a confined command that has a list of hosts. `changes`
    is what became of paths that its sandbox protects. The `pid` of a confined
    command is its number inside.
    """

    exit_code: int | None
    signal: str | None
    cause: "Cause | None"
    duration: float
    leaked: bool
    stdout: bytes
    stdout_observed: int
    stderr: bytes
    stderr_observed: int
    pid: int | None
    network: "tuple[Mapping[str, object], ...]" = ()
    changes: "tuple[Mapping[str, object], ...]" = ()

    @property
    def ok(self) -> bool:
        """True if the command ended by itself with exit code 0."""
        return self.exit_code == 0 and self.cause is None

    @property
    def timed_out(self) -> bool:
        """True if its time ran out."""
        return self.cause == "timeout"

    @property
    def stdout_text(self) -> str:
        """What was kept of stdout, as text."""
        return text(self.stdout)

    @property
    def stderr_text(self) -> str:
        """What was kept of stderr, as text."""
        return text(self.stderr)
