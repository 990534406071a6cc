"""The loopback networks that boxes share, by name: each exists while this process or one in it holds it."""

import os
from _thread import RLock

from agent_exec.host.posix import descriptors
from agent_exec.host.posix.process.spawner import NAMESPACES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_CHUNK = 1 << 16

_kept: "dict[str, list[int]]" = {}
_lock = RLock()


def keep_loopback(name: str, fds: "Sequence[int]") -> None:
    """Hold a network by its descriptors until it is closed; they are closed then."""
    with _lock:
        _kept[name] = [descriptors.hold(fd) for fd in fds]


def borrow_loopback(name: str, make: "Callable[[], Sequence[int]]") -> list[int]:
    """Return copies of a network's descriptors, the caller's to close; `make` makes it if it is not kept."""
    with _lock:
        if name not in _kept:
            keep_loopback(name, make())
        return [os.dup(fd) for fd in _kept[name]]


def close_loopback(name: str) -> None:
    """Hold a network no more: it ends with the last process in it."""
    with _lock:
        for fd in _kept.pop(name, ()):
            descriptors.close(fd)


def port_tables(name: str) -> list[bytes]:
    """Return the tables of TCP ports of a network, as the kernel writes them; none if it is not kept."""
    with _lock:
        return [_content(fd) for fd in _kept.get(name, ())[NAMESPACES:]]


def _content(fd: int) -> bytes:
    data = b""
    while more := os.pread(fd, _CHUNK, len(data)):
        data += more
    return data


def _forget() -> None:
    """In a forked copy: hold nothing; the descriptors are of the null device by now."""
    global _lock  # noqa: PLW0603 - another thread of the original's may have held it
    _lock = RLock()
    _kept.clear()


os.register_at_fork(after_in_child=_forget)
