"""Which sockets are listened on: known by connecting only; this system is not asked for the listener."""

from agent_exec.model.errors import Unsupported
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Collection, Iterator, Sequence

    from agent_exec.model.identity import Identity


class Listener(Value):
    """A socket that is listened on."""

    port: int
    address: str
    family: str
    pid: int = 0
    uid: int = 0


def is_listened_on(port: int, loopback: str | None = None) -> bool:
    """True if a TCP port of this machine is listened on, by a connection that may be noticed."""
    import socket

    if loopback is not None:
        return False
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def holders(port: int, beside: "Collection[int]" = (), pid: int = 0) -> list[Listener]:  # noqa: ARG001
    """Return nothing: it is not known here."""
    return []


def ancestors(pid: int) -> list[int]:
    """Return the process alone: those above it are not known here."""
    return [pid]


def signers(path: str) -> list[int]:  # noqa: ARG001
    """Return nothing: locks are not signed here."""
    return []


class Listening:
    """Not offered here."""

    pids: set[int]

    def __init__(self, lock: str, leader: "Identity | None") -> None:  # noqa: ARG002
        raise Unsupported("only Linux shows what a process listens on; wait for match= or file= instead")

    def look(self) -> tuple[Listener, ...]:
        """Return every TCP socket that a process of the job listens on."""
        return ()

    def unix(self, path: str) -> Listener | None:
        """Return the UNIX socket with this path."""

    def roots(self) -> "Iterator[str]":
        """Yield paths that lead to what processes of the job see as the root."""
        return iter(())

    def network(self) -> int:
        """Return a process in a network of the job that is not ours."""
        return 0


class Exchange:
    """Not offered here."""

    address: str

    def __init__(
        self,
        host: str,  # noqa: ARG002
        port: int,  # noqa: ARG002
        request: bytes,  # noqa: ARG002
        seconds: float,  # noqa: ARG002
        pid: int = 0,  # noqa: ARG002
        detach: "Callable[[str, Sequence[int]], None] | None" = None,  # noqa: ARG002
    ) -> None:
        raise Unsupported("http= is not offered on this system; wait for match= or file= instead")

    def look(self) -> bytes | None:
        """Return the first bytes of the answer."""

    def close(self) -> None:
        """Give up the connection."""


def network_of(pid: int) -> list[int]:  # noqa: ARG001
    """Not offered here."""
    raise Unsupported("a job has no network of its own on this system; wait for match= or file= instead")


def dial(
    host: str,
    port: int,
    seconds: float,
    pid: int = 0,
    detach: object = None,
) -> "socket.socket":
    """Not offered here."""
    raise Unsupported(
        f"{host}:{port} of a job cannot be reached on this system",
        seconds=seconds,
        pid=pid,
        detach=bool(detach),
    )


def connect_unix(path: str, seconds: float | None = None) -> "socket.socket":
    """Raise Unsupported: Python has no Unix sockets on this system."""
    raise Unsupported(f"{path!r}: this system has no Unix sockets; use http://HOST:PORT", seconds=seconds)
