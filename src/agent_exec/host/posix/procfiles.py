"""Files of /proc that are kept open: opening one costs several times what reading it does."""

import os

from agent_exec.host.posix import descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Found = TypeVar("Found")

_SIZE = 4096
_MOST = 8
"""How many one reader keeps open."""

_ALL = 256
"""How many all readers of this process keep open together."""


class ProcFiles:
    """Reads files of /proc again and again; not for two threads at once.

    A file that is kept open shows the process for which it was opened, and
    nothing once that is gone: then the path is opened anew.
    """

    __slots__ = ("_open",)

    count = 0
    """How many are open in this process."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def read(self, path: str) -> bytes:
        """Return what a file says now."""
        return self._use(path, _whole)

    def read_at(self, path: str, size: int, offset: int) -> bytes:
        """Return so many bytes of a file, or fewer if there are not so many there."""

        def act(fd: int) -> bytes:
            data = os.pread(fd, size, offset)
            if len(data) < size and path in self._open:
                raise OSError  # memory as it was before the process became another program
            return data

        return self._use(path, act)

    def device(self, pid: int, number: int) -> int:
        """Return the device that a process has open under a number; 0 if it is not a device."""
        try:
            return self._use(f"/proc/{pid}/fd", lambda fd: os.stat(str(number), dir_fd=fd).st_rdev)
        except OSError:
            return 0

    def _use(self, path: str, act: "Callable[[int], Found]") -> "Found":
        """Return what `act` gets from a file that is open, or is opened anew if that fails, and kept open."""
        if path in self._open:
            try:
                return act(self._open[path])
            except OSError:
                self._drop(path)
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return act(fd)
        finally:
            self._keep(path, fd)

    def close(self) -> None:
        """Keep none open; harmless when repeated."""
        while self._open:
            self._drop(next(iter(self._open)))

    def _keep(self, path: str, fd: int) -> None:
        if len(self._open) >= _MOST:
            self._drop(next(iter(self._open)))
        if ProcFiles.count < _ALL:
            self._open[path] = descriptors.hold(fd)
            ProcFiles.count += 1
        else:
            os.close(fd)

    def _drop(self, path: str) -> None:
        descriptors.close(self._open.pop(path))
        ProcFiles.count -= 1


def _whole(fd: int) -> bytes:
    """Read a file from its beginning; it stops short before a record that does not fit."""
    data = os.pread(fd, _SIZE, 0)
    if len(data) < _SIZE // 2:
        return data
    while more := os.pread(fd, 1 << 16, len(data)):
        data += more
    return data
