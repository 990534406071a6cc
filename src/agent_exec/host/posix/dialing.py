"""One request over TCP that is sent and answered without ever waiting, also in the network of a box."""

import _socket  # without the enums
import os
from time import monotonic

from agent_exec.host.posix.keeper import wire
from agent_exec.host.posix.system import exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_OWNER_OF = 0xB701
"""Asks a namespace for the user namespace that owns it."""
_MOST = 1 << 16
_PATIENCE = 5.0


class Exchange:
    """A request to an address, and what comes back of it; to be closed.

    `pid` is a process in the network to use, 0 for this process's own.
    `detach` starts a helper process for one that has threads.
    """

    __slots__ = ("_connected", "_data", "_left", "_sock", "_until", "address")

    def __init__(
        self,
        host: str,
        port: int,
        request: bytes,
        seconds: float,
        pid: int = 0,
        detach: "Callable[[str, Sequence[int]], None] | None" = None,
    ) -> None:
        family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._until = monotonic() + seconds
        self._left = request
        self._data = b""
        self._connected = False
        self._sock = _elsewhere(pid, family, detach) if _is_elsewhere(pid) else _new(family)
        self._sock.setblocking(False)
        try:
            self._sock.connect((host, port))
        except BlockingIOError:
            pass
        except OSError:
            self._sock.close()
            raise

    def look(self) -> bytes | None:
        """Return the first bytes of the answer once its first line is whole; None if it is not.

        Raise OSError if the connection fails, is closed early or takes too long.
        """
        if not self._connected:
            error = self._sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_ERROR)
            if error:
                raise OSError(error, os.strerror(error))
        try:
            while self._left:
                self._left = self._left[self._sock.send(self._left) :]
                self._connected = True
            while b"\n" not in self._data and len(self._data) < _MOST:
                more = self._sock.recv(4096)
                if not more:
                    raise ConnectionResetError(0, "closed without an answer")
                self._data += more
        except BlockingIOError:
            if monotonic() >= self._until:
                raise TimeoutError(0, "no answer in time") from None
            return None
        return self._data

    def close(self) -> None:
        """Give up the connection; harmless when repeated."""
        self._sock.close()


def _new(family: int) -> "_socket.socket":
    return _socket.socket(family, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)


def _is_elsewhere(pid: int) -> bool:
    """True if a process is in another network than this one."""
    return pid > 0 and os.stat(f"/proc/{pid}/ns/net").st_ino != os.stat("/proc/self/ns/net").st_ino


def _elsewhere(
    pid: int, family: int, detach: "Callable[[str, Sequence[int]], None] | None"
) -> "_socket.socket":
    """Return a socket made in the network of another process; raise OSError if we have no rights to enter it.

    A socket stays in the network in which it was made. So a helper process
    enters that, makes the socket, sends it and exits. Its maker, and root, may
    enter: the user namespace that owns it is one of theirs.
    """
    ours, theirs = wire.pair()
    net = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    child = 0
    try:
        ours.settimeout(_PATIENCE)
        ours.send(bytes([family]))
        fds = [theirs.fileno(), net]
        if detach is not None:
            detach(__name__, fds)
        elif not (child := os.fork()):
            try:
                main(fds)
            finally:
                os._exit(0)
        theirs.close()
        data, made = wire.receive(ours, size=1)
        if not data or not made:
            raise PermissionError(0, "the network of the job cannot be entered from here")
        return wire.from_descriptor(made[0])
    finally:
        os.close(net)
        theirs.close()
        ours.close()
        if child:
            exit_code(child)


def network_of(pid: int) -> list[int]:
    """Return descriptors of the user namespace that owns the network of a process, and of that network."""
    import fcntl

    net = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return [fcntl.ioctl(net, _OWNER_OF), net]
    except BaseException:
        os.close(net)
        raise


def main(fds: "Sequence[int]") -> None:
    """Be the helper: enter a network, the second descriptor, and send a socket made there over the first."""
    import ctypes
    import fcntl

    asker = wire.from_descriptor(os.dup(fds[0]))
    family = asker.recv(1)[0]
    libc = ctypes.CDLL(None, use_errno=True)
    owner = fcntl.ioctl(fds[1], _OWNER_OF)
    libc.setns(owner, _NEW_USER)  # refused if it is our own, whose rights we have already
    if libc.setns(fds[1], _NEW_NET) == 0:
        made = _new(family)
        wire.send_fds(asker, b"!", [made.fileno()])


def dial(
    host: str,
    port: int,
    seconds: float,
    pid: int = 0,
    detach: "Callable[[str, Sequence[int]], None] | None" = None,
) -> "socket.socket":
    """Return a connection to an address in the network of a process, as for `Exchange`; wait for it."""
    import socket

    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    made = _elsewhere(pid, family, detach) if _is_elsewhere(pid) else _new(family)
    wire = socket.socket(fileno=made.detach())
    try:
        wire.settimeout(seconds)
        wire.connect((host, port))
    except BaseException:
        wire.close()
        raise
    return wire


def connect_unix(path: str, seconds: float | None = None) -> "socket.socket":
    """Return a connection to a Unix socket, whose calls take at most so many seconds."""
    import socket

    wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    wire.settimeout(seconds)
    try:
        wire.connect(path)
    except BaseException:
        wire.close()
        raise
    return wire
