"""What a helper process has to do to itself before it runs a command: the order to be a box."""

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Protocol

    class Server(Protocol):
        """What serves a box from outside, until it is closed."""

        @property
        def alive(self) -> bool:
            """True if anybody is served."""

        def take(self) -> list[dict[str, object]]:
            """Return what was decided since this was last asked."""

        def close(self) -> None:
            """Serve no more."""

    OnListener = Callable[[int], Server]


class Box(Value):
    """A box for commands: equal ones, by their `digest`, may serve one command after the other.

    `entry` names the module whose `confine(spec)` makes a box of a helper
    process; if it has a `wrap(spec, words)`, that first gives the command
    which starts such a process behind outer walls. `steps` are the names of
    what can fail there, by number. A box that opens a way to the network
    gives its listening socket to `on_listener`, whose descriptor it then is;
    what that gives is closed when the box is gone. `own_pids` says whether
    the processes of the box have numbers of their own, and end with it.
    Without `reuse` it serves one command. Boxes of the same `loopback` share
    that network; "" is one of its own, or none.
    """

    digest: str
    entry: str
    spec: "Mapping[str, object]"
    steps: tuple[str, ...]
    on_listener: "OnListener | None" = None
    own_pids: bool = True
    reuse: bool = True
    loopback: str = ""
