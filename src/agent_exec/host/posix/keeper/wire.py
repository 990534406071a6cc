"""What an owner and its keeper say to each other over their socket.

Requests are frames of a length and a marshalled tuple, whose first item is
one of the request kinds; they come from the owner alone, which the keeper
trusts. Replies are fixed records of integers, because an owner does not
trust what comes out of a sandbox. Descriptors travel beside the bytes.
"""

import _socket
import errno
import marshal
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Requests.
SPAWN = 1
"""program, argv, cwd, env or None for the last one sent, rows and columns of a terminal or None;
without a terminal, with the child's ends of stdin (if given), stdout and stderr"""
SIGNAL = 2
"""number: to every process of the tree"""
KILL = 3
"""end the tree by force"""
LEAVE = 4
"""go away and leave the tree alone"""
TERMINATE = 5
"""number: ask every process of the tree to end, stopped ones too"""
CONFINE = 6
"""entry, spec: the first request to a box, which it makes of itself before it hears another; with the
namespaces of the loopback network that it shares, if it does"""
OWNER = 7
"""with a pidfd, whose end ends the tree from now on, and the lock of a job; answered by STARTED, unless
the command has ended"""

# To the factory, with the socket of the process to be forked.
HATCH = b"k"
"""a keeper"""
BOX = b"b"
"""followed by the name of a module: a keeper that is to confine itself first, by that"""
LOOPBACK = b"l"
"""followed by the name of a module: a process that makes a loopback network, and sends its descriptors"""
DETACH = b"d"
"""followed by the name of a module: a process that lives on without its owner"""

# Replies; each carries the pid of the main process, and the first one the terminal's master if there is one.
STARTED = 1
"""start time, 0; not sent for what ends at once"""
FAILED = 2
"""errno, which step of the launch"""
EXITED = 3
"""wait status of the main process; 1 if nothing else is left, and twice the number that EMPTIED has"""
EMPTIED = 4
"""how many could not be ended; how many there were when the owner asked for the end"""
READY = 5
"""0, 0; of a box: before all else, with the socket on which it listens for the network if it has one; and
after each run, when it is as it was"""

REPLY = struct.Struct("<iiqi")
_LENGTH = struct.Struct("<I")
_CHUNK = 1 << 14
_MOST = 1 << 31
_FDS = 3
_INT = struct.calcsize("i")
_SPACE = _socket.CMSG_SPACE(_FDS * _INT)
MANY = _socket.CMSG_SPACE(16 * _INT)
"""The space for all the descriptors that a detached process may be given."""
# macOS has no such flags: there the receiver marks the descriptors itself.
_NOSIGNAL = getattr(_socket, "MSG_NOSIGNAL", 0)
_CLOEXEC = getattr(_socket, "MSG_CMSG_CLOEXEC", 0)


dumps, loads = marshal.dumps, marshal.loads
"""How an order is written down, where it does not go over a socket."""


def from_descriptor(fd: int) -> "_socket.socket":
    """Return the socket that a descriptor stands for."""
    return _socket.socket(fileno=fd)


def pair() -> "tuple[_socket.socket, _socket.socket]":
    """Make a connected pair of sockets, not inheritable."""
    return _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)


def send_request(
    sock: "_socket.socket", request: "tuple[Any, ...]", fds: "Sequence[int]" = (), most: int = _MOST
) -> None:
    """Send a whole request, of at most so many bytes; its descriptors go with the first one.

    Blocks only while the keeper is reading, which is all that it does
    between two runs.
    """
    body = marshal.dumps(request)
    if len(body) > most:
        raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
    frame = _LENGTH.pack(len(body)) + body
    sent = send_fds(sock, frame, fds) if fds else sock.send(frame, _NOSIGNAL)
    if sent < len(frame):
        sock.sendall(memoryview(frame)[sent:], _NOSIGNAL)


class Requests:
    """The requests that arrive on a socket, whole and one after the other."""

    __slots__ = ("_data", "_fds", "_sock")

    def __init__(self, sock: "_socket.socket") -> None:
        self._sock = sock
        self._data = bytearray()
        self._fds: list[int] = []

    def receive(self) -> "list[tuple[Any, ...]] | None":
        """Wait for bytes and return the requests they complete; None: the owner is gone."""
        data, fds = receive(self._sock)
        if not data:
            return None
        self._fds += fds
        self._data += data
        requests: list[tuple[Any, ...]] = []
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            end = _LENGTH.size + length
            if end > len(self._data):
                break
            requests.append(marshal.loads(self._data[_LENGTH.size : end]))
            del self._data[:end]
        return requests

    def first(self) -> "tuple[Any, ...] | None":
        """Wait for the first request, and leave all that follows in the socket; None: the owner is gone."""
        length = self._exactly(_LENGTH.size)
        body = None if length is None else self._exactly(_LENGTH.unpack(length)[0])
        return None if body is None else marshal.loads(body)

    def _exactly(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            more, fds = receive(self._sock, size=size - len(data))
            self._fds += fds
            if not more:
                return None
            data += more
        return data

    def take_fds(self) -> list[int]:
        """Return the descriptors that came with the request; they are the taker's to close."""
        fds, self._fds = self._fds, []
        return fds


def send_reply(sock: "_socket.socket", kind: int, pid: int, first: int, second: int, fd: int) -> None:
    """Send a reply; say nothing if the owner is gone, which the keeper learns by itself.

    A descriptor that cannot be sent is left out, so that the owner hears of it.
    """
    record = REPLY.pack(kind, pid, first, second)
    try:
        if fd >= 0:
            try:
                send_fds(sock, record, [fd])
                return
            except OSError as error:
                if error.errno != errno.ETOOMANYREFS:
                    return
        sock.send(record, _NOSIGNAL)
    except OSError:
        return


def send_fds(sock: "_socket.socket", data: bytes, fds: "Sequence[int]") -> int:
    """Send descriptors with some bytes; return how many of these went with them.

    The kernel refuses more of them under way than a process may have open,
    and counts all processes of a user together. What another has under way
    must not stop us: so we allow ourselves as many as we may.
    """
    ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))]
    try:
        return sock.sendmsg([data], ancillary, _NOSIGNAL)
    except OSError as error:
        if error.errno != errno.ETOOMANYREFS:
            raise
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return sock.sendmsg([data], ancillary, _NOSIGNAL)


def receive(
    sock: "_socket.socket", flags: int = 0, size: int = _CHUNK, space: int = _SPACE
) -> tuple[bytes, list[int]]:
    """Receive some bytes and the descriptors that came with them; nothing when the other end is gone."""
    try:
        data, ancillary, _, _ = sock.recvmsg(size, space, flags | _CLOEXEC)
    except ConnectionError:
        return b"", []
    fds: list[int] = []
    for level, kind, payload in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds.extend(struct.unpack(f"{len(payload) // _INT}i", payload))
    if not _CLOEXEC:
        for fd in fds:
            os.set_inheritable(fd, False)
    return data, fds
