"""The other end of a terminal, held open by the owner to see whether all that was typed has been read."""

import fcntl
import os
import select
from _thread import allocate_lock

from agent_exec.host.posix import descriptors

_PEER = 0x5441  # TIOCGPTPEER


class Peer:
    """The end that the program has; any thread may use it.

    It is opened when first needed, and closed before the last output is
    taken: as long as any such end is open, a terminal does not tell its end.
    """

    __slots__ = ("_closed", "_fd", "_lock", "_poll", "device")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._poll = select.poll()
        self._fd = -1
        self._closed = False
        self.device = 0
        """Which device it is; 0 if that is not known."""

    def is_typed(self, master: int) -> bool:
        """True if something was typed that the program has not read.

        Unlike FIONREAD, this waits for what is on its way.
        """
        with self._lock:
            if self._closed or (self._fd < 0 and not self._open(master)):
                return self._closed
            ready = self._poll.poll(0)
            if ready and ready[0][1] & ~select.POLLIN:
                self._drop()  # hung up behind our back: the next one sees more
            return bool(ready)

    def close(self) -> None:
        """Hold it no more; harmless when repeated."""
        with self._lock:
            self._closed = True
            self._drop()

    def _open(self, master: int) -> bool:
        try:
            fd = fcntl.ioctl(master, _PEER, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False  # a kernel that cannot
        self._fd = descriptors.hold(fd)
        self._poll.register(fd, select.POLLIN)
        self.device = os.fstat(fd).st_rdev
        return True

    def _drop(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self._poll.unregister(fd)
            descriptors.close(fd)
