"""The client's two descriptors, taken away from everybody else in this process."""

import os
from select import select

_CHUNK = 1 << 16


class Wire:
    """Where the client is heard and answered.

    From now on, any other reader of stdin finds it empty, and what is printed,
    a library or a child, goes to stderr. For the whole life of the process.
    """

    __slots__ = ("_reader", "_writer")

    def __init__(self) -> None:
        self._reader = os.dup(0)  # dup: not inherited by programs that are started
        self._writer = os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)

    def read(self) -> bytes:
        """Wait for some bytes; none when the client has hung up."""
        while True:
            try:
                return os.read(self._reader, _CHUNK)
            except BlockingIOError:  # another process that shares it has set that
                select([self._reader], [], [])
            except OSError:  # a terminal that is gone
                return b""

    def write(self, data: bytes) -> None:
        """Write all of it; raises an OSError when the client has gone."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._writer, view) :]
            except BlockingIOError:
                select([], [self._writer], [])
