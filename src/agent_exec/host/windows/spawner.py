"""Gives each launch its process; there is no helper to share here, as a job needs none."""

from agent_exec.host.windows.process import Process
from agent_exec.model.errors import InvalidState, SandboxUnavailable, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.host.ports import Loop, Sink
    from agent_exec.model.box_spec import Box
    from agent_exec.model.command import Launch


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
