"""Runs a command for a process that does nothing else, such as a job's supervisor.

It is like any other run, but for its input, and for the output of what it
leaves alive, which is taken until that is gone.
"""

from agent_exec.host.windows.process import Process
from agent_exec.host.windows.program import prepare
from agent_exec.model.errors import InvalidState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_exec.host.ports import Loop, Sink
    from agent_exec.model.command import Command, Launch


class LocalProcess(Process):
    """A command whose tree is watched to its very end; otherwise with the promises of every Process."""

    __slots__ = ("_left", "_local")

    def __init__(self, spawner: "LocalSpawner", launch: "Launch", loop: "Loop", sink: "Sink") -> None:
        super().__init__(spawner, launch, loop, sink)
        self._local = spawner
        self._left = False

    def leave(self) -> None:
        """Let what is left of the tree live, and go on taking its output until it is gone."""
        self._left = True
        if self._job is not None:
            self._job.spare()

    def abandon(self, grace: float) -> None:
        """End the tree without the loop's help, and wait until it is gone; reports nothing more."""
        super().abandon(grace)
        self._local.gone = True

    def _tell_end(self, sink: "Sink", *, leaked: bool) -> None:
        self._local.gone = True
        if not self._left:
            super()._tell_end(sink, leaked=leaked)


class LocalSpawner:
    """Gives one launch a process; `stdin` is its input, and the taker's to close, `name` that of its job."""

    __slots__ = ("_closed", "ahead", "current", "gone", "name", "stdin")

    def __init__(self, stdin: int = -1, name: str | None = None) -> None:
        self.stdin = stdin
        self.name = name
        self.gone = False
        """Whether nothing of the tree is left, also of what was to be left alive."""
        self.ahead: tuple[int, int, tuple[int, int]] | None = None
        """The command, once it is started ahead of its run; never here."""
        self._closed = False
        self.current: LocalProcess | None = None
        """The one process, for what was left alive after its run."""

    def call(self, name: str) -> None:
        """Let all that we start be found by a name: that of its Job Object."""
        self.name = f"AgentExec-{name}"

    def start(
        self,
        argv: "Sequence[str | bytes]",  # noqa: ARG002
        cwd: str | bytes,  # noqa: ARG002
        env: "Mapping[str, str] | Mapping[bytes, bytes]",  # noqa: ARG002
    ) -> tuple[int, int] | None:
        """Start the command ahead of its run; here it has to wait for that, and this does nothing."""
        return None

    def prepare(self, command: "Command") -> "Launch":
        """Turn what was asked into what will be spawned."""
        return prepare(command)

    def process(self, launch: "Launch", loop: "Loop", sink: "Sink") -> LocalProcess:
        """Return the process of a launch, not spawned yet."""
        self.current = LocalProcess(self, launch, loop, sink)
        return self.current

    def abandon(self) -> None:
        """End by force all that was started, and wait until it is gone."""
        if self.current is not None:
            self.current.abandon(0)
        self.gone = True

    def check(self) -> None:
        """Refuse to spawn once it is closed."""
        if self._closed:
            raise InvalidState("this spawner is closed; make a new one")

    def close(self) -> None:
        """Spawn nothing from now on; harmless when repeated."""
        self._closed = True
