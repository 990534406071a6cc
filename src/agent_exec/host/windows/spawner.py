"""Gives each launch its process; there is no helper to share here, as a job needs none."""

from agent_exec.host.windows.process import Process, not_here
from agent_exec.host.windows.program import prepare
from agent_exec.model.errors import InvalidState, SandboxUnavailable, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.host.ports import Loop, Sink
    from agent_exec.model.box_spec import Box
    from agent_exec.model.command import Command, Launch


class Spawner:
    """Gives each launch a process with a job of its own; any thread may use it."""

    __slots__ = ("_closed",)

    stdin = -1
    name: str | None = None

    def __init__(self, *, forks: bool = False) -> None:
        """Make one; there are no helpers here, and so none that it `forks`."""
        del forks
        self._closed = False

    def process(self, launch: "Launch", loop: "Loop", sink: "Sink", feed: int = -1) -> Process:
        """Return the process of a launch, not spawned yet."""
        if feed >= 0:
            raise Unsupported("input is fed to confined commands only, and there is no sandbox here")
        return Process(self, launch, loop, sink)

    def start_helpers(self) -> None:
        """Start nothing: there are no helpers here."""

    def await_helpers(self) -> None:
        """Wait for nothing: there are no helpers here."""

    def ready(self, box: "Box") -> None:
        """Refuse: there are no boxes here."""
        raise SandboxUnavailable(f"there is no sandbox for this system yet, and none for {box.entry}")

    def begin(self, box: "Box") -> None:
        """Refuse: there are no boxes here."""
        self.ready(box)

    def warm(self, box: "Box", count: int) -> None:
        """Refuse: there are no boxes here."""
        if count:
            self.ready(box)

    def loopback(self, box: "Box") -> list[int]:
        """Refuse: there are no boxes here."""
        self.ready(box)
        return []

    def check(self) -> None:
        """Refuse to spawn once it is closed."""
        if self._closed:
            raise InvalidState("this engine is closed; make a new one")

    def detach(self, entry: str, fds: "Sequence[int]") -> None:
        """Start a process that outlives this one, in the `main(fds)` of a module.

        It gets copies of the descriptors; -1 is none.
        """
        from agent_exec.host.windows.detached import detach

        detach(entry, fds)

    def close(self, *, wait: bool = True) -> None:  # noqa: ARG002 - there is nothing to wait for
        """Spawn nothing from now on; harmless when repeated."""
        self._closed = True


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


class Adopted(LocalSpawner):
    """Refuses to go on with a command of another process: its tree and its streams die with that here."""

    __slots__ = ("lock",)

    lock: int

    def __init__(self, fds: "Sequence[int]", facts: "Mapping[str, Any]") -> None:  # noqa: ARG002
        raise not_here()

    def wait_for_word(self, _fd: int) -> bool:
        """Wait for nothing."""
        raise not_here()
