"""Waits until a descriptor is ready, a time has come, or another thread calls."""

import os
import select
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.cancel import Cancel

READ = select.POLLIN
WRITE = select.POLLOUT
HANGUP = select.POLLHUP | select.POLLERR


LONGEST_WAIT = 86400.0
"""The kernel counts milliseconds in 31 bits; a longer wait is several."""


class _Wake:
    """A pipe to oneself, which goes when its owner is forgotten."""

    __slots__ = ("reader", "writer")

    def __init__(self) -> None:
        self.reader = self.writer = -1
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self.writer, False)

    def close(self) -> None:
        fds, self.reader, self.writer = (self.reader, self.writer), -1, -1
        for fd in fds:
            if fd >= 0:
                os.close(fd)

    def __del__(self) -> None:
        self.close()


class Poller:
    """A set of watched descriptors.

    `many` is for a loop that lives long and watches many; without it no
    descriptor is used. Without `wakeable` nobody else may call, and `wake`
    does nothing.
    """

    __slots__ = ("_epoll", "_poll", "_wake")

    def __init__(self, *, many: bool, wakeable: bool) -> None:
        self._epoll = select.epoll() if many and hasattr(select, "epoll") else None
        self._poll = None if self._epoll else select.poll()
        # A one-shot call has none: no code of ours runs when it is forgotten, where an interrupt is lost.
        self._wake = _Wake() if wakeable else None
        if self._wake is not None:
            self.add(self._wake.reader, READ)

    @property
    def shareable(self) -> bool:
        """True if descriptors may be added and removed by other threads while one waits."""
        return self._epoll is not None

    def add(self, fd: int, events: int) -> None:
        """Watch a descriptor."""
        (self._epoll or self._set()).register(fd, events)

    def change(self, fd: int, events: int) -> None:
        """Watch a descriptor for other events."""
        (self._epoll or self._set()).modify(fd, events)

    def remove(self, fd: int) -> None:
        """Watch a descriptor no more; to be called before it is closed."""
        (self._epoll or self._set()).unregister(fd)

    def wait(self, timeout: float | None) -> list[tuple[int, int]]:
        """Return who is ready, after at most `timeout` seconds, or nobody earlier; None waits for ever."""
        if timeout is not None:
            timeout = min(timeout, LONGEST_WAIT)
        if self._epoll is not None:
            ready = self._epoll.poll(timeout, 256)
        else:
            # Rounded up, or the last fraction of a millisecond would be a busy wait.
            ready = self._set().poll(None if timeout is None else int(timeout * 1000) + (timeout > 0))
        if self._wake is not None:
            for fd, _ in ready:
                if fd == self._wake.reader:  # which stays in the list, and means nothing to who reads it
                    try:
                        os.read(fd, 4096)
                    except BlockingIOError:
                        pass
                    break
        return ready

    def wake(self) -> None:
        """Let `wait` return now; from any thread."""
        if self._wake is not None and self._wake.writer >= 0:
            try:
                os.write(self._wake.writer, b"!")
            except BlockingIOError:
                pass

    def close(self) -> None:
        """Give back the descriptors; harmless when repeated."""
        if self._epoll is not None:
            self._epoll.close()
        if self._wake is not None:
            self._wake.close()

    def _set(self) -> "select.poll":
        assert self._poll is not None
        return self._poll


def wait_for(
    wanted: list[tuple[int, int]], seconds: float | None, cancel: "Cancel | None" = None
) -> list[int]:
    """Wait until a descriptor has its events, for at most so long; return those that have. -1 is none.

    Once `cancel` is set, a descriptor that stands for it is returned.
    """
    if cancel is None:
        return _wait_for(wanted, seconds)
    fd: int = getattr(cancel, "_wakeup", -1)
    if fd >= 0:
        return _wait_for([*wanted, (fd, READ)], seconds)
    wake = _Wake()
    try:
        with cancel.calling(lambda: os.write(wake.writer, b"!")):
            return _wait_for([*wanted, (wake.reader, READ)], seconds)
    finally:
        wake.close()


def _wait_for(wanted: list[tuple[int, int]], seconds: float | None) -> list[int]:
    poller = select.poll()
    for fd, events in wanted:
        if fd >= 0:
            poller.register(fd, events)
    deadline = None if seconds is None else monotonic() + seconds
    while True:
        left = LONGEST_WAIT if deadline is None else min(LONGEST_WAIT, max(0.0, deadline - monotonic()))
        # Rounded up, or the last fraction of a millisecond would be a busy wait.
        ready = poller.poll(int(left * 1000) + (left > 0))
        if ready or (deadline is not None and monotonic() >= deadline):
            return [fd for fd, _ in ready]
