"""What a host expects of the loop that drives it and of the run it reports to.

Types only: nothing here exists while a program runs.
"""

from collections.abc import Callable
from typing import Protocol

from agent_exec.model.choices import Stream
from agent_exec.model.command import Launch
from agent_exec.model.errors import AgentExecError


class Loop(Protocol):
    """The loop; everything but `post` is called from inside it, or else by threads that may share it."""

    @property
    def shareable(self) -> bool:
        """True if other threads may watch and unwatch a descriptor, each its own."""

    def watch(self, fd: int, events: int, ready: Callable[[int], None]) -> None:
        """Call `ready(events)` whenever the descriptor is."""

    def change(self, fd: int, events: int) -> None:
        """Watch a descriptor for other events."""

    def unwatch(self, fd: int) -> None:
        """Stop watching a descriptor; to be called before it is closed."""

    def after(self, seconds: float, call: Callable[[], object]) -> "Timer":
        """Call once, so many seconds from now."""

    def post(self, call: Callable[[], object]) -> None:
        """Have something called inside the loop; from any thread."""


class Timer(Protocol):
    """A call at a time."""

    def cancel(self) -> None:
        """Make it never happen; harmless when repeated."""


class Process(Protocol):
    """A command in the hands of the host: lives inside the loop, and reports to its sink.

    When it is over, `network` is what the server of its box has decided about its requests.
    """

    network: list[dict[str, object]]
    tally: tuple[int, int]
    """How many processes there were when it was ended, and how many could not be; 0 if that is not known."""

    def spawn(self) -> None:
        """Start it; the sink is called with what happens to it."""

    @property
    def takes_now(self) -> bool:
        """True if any thread may call `write` now."""

    @property
    def unread(self) -> int:
        """How many bytes of its input wait for the command to read others."""

    def write(self, data: bytes) -> None:
        """Feed the command's input."""

    def end_input(self) -> None:
        """Tell the command that no more input comes."""

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size."""

    def signal(self, number: int) -> None:
        """Signal every process of the tree."""

    def terminate(self, number: int = ...) -> None:
        """Ask every process of the tree to end, by this signal."""

    def kill(self) -> None:
        """End every process of the tree by force."""

    def gaze(self) -> "Gaze | None":
        """Return a view of the foreground of its terminal, to be closed by the caller; None without one."""

    def leave(self) -> None:
        """Give up what is left of the tree, and let it live; reports nothing more but output."""

    def release(self) -> "Handed | None":
        """Let go of it, for another process to go on with; None while it is only being started."""

    def abandon(self, grace: float) -> None:
        """End the tree without the loop's help, and wait until it is gone; reports nothing more."""


class Handed(Protocol):
    """A command that was let go of: what another process needs of it, to be sent there.

    It is taken back or given up inside the loop, and only once.
    """

    @property
    def fds(self) -> tuple[int, ...]:
        """The descriptors to send."""

    @property
    def facts(self) -> dict[str, object]:
        """What else is to be known, in a form that can be sent."""

    def take_back(self) -> None:
        """Go on here, as if nothing had happened."""

    def give_up(self) -> None:
        """Hold nothing of it any more."""


class Attention(Protocol):
    """What a look at a terminal has shown: `evidence` is "exact", "likely" or "" for one that is busy."""

    @property
    def evidence(self) -> str:
        """How sure it is that a program waits for input."""

    @property
    def echo(self) -> bool:
        """True if what is typed is shown."""


class Gaze(Protocol):
    """A view of the foreground of a terminal; any thread may use it."""

    def look(self, *, unfinished: bool) -> Attention:
        """Look whether a program waits for input; `unfinished` if the last line has no end."""

    def attend(self) -> bool:
        """Begin to read the terminal from this thread; False if that cannot be."""

    def read(self, seconds: float) -> bool:
        """Pass on what is printed within so many seconds; False if nothing more will be."""

    def wake(self) -> None:
        """Let the attending thread return from `read` now."""

    def leave(self) -> None:
        """Let the loop read again."""

    def close(self) -> None:
        """Look no more; harmless when repeated."""


class Spawner(Protocol):
    """Gives each launch its process."""

    def process(self, launch: Launch, loop: Loop, sink: "Sink") -> Process:
        """Return the process of a launch, not spawned yet."""


class Sink(Protocol):
    """The run that a process reports to, always from inside the loop, in this order.

    `started`, unless it ends at once, and any `output`; then `exited`, then
    `emptied`; or `failed` at any point. After `emptied` or `failed` nothing follows, and the host
    has given back all it held for the run.
    """

    def started(self, pid: int, start: int) -> None:
        """It has been spawned; `start` is in the system's own unit."""

    def output(self, stream: Stream, chunk: bytes) -> None:
        """It has printed this."""

    def exited(self, pid: int, exit_code: int, signal: str | None, *, alone: bool) -> None:
        """Its main process has exited; unless `alone`, more of it lives."""

    def emptied(self, *, leaked: bool) -> None:
        """Nothing of it lives, and its output is complete; `leaked` if another process holds that open."""

    def failed(self, error: AgentExecError) -> None:
        """It could not be spawned, or was lost; nothing of it lives."""
