"""Descriptors: waited for until they are ready, and kept from forked copies of this process.

A copy that held a pipe would keep a command from the end of its input, and
one that held a socket would keep a keeper from seeing that we are gone. The
copy gets the null device in their place: their numbers stay taken, so that
closing them there later closes nothing else.
"""

import os
import select
from _thread import RLock
from time import monotonic

from agent_exec.model.cancel import Cancel

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

READ = select.POLLIN
WRITE = select.POLLOUT
LONGEST_WAIT = 86400.0
"""The kernel counts milliseconds in 31 bits; a longer wait is several."""

_ASKING = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)

_held: set[int] = set()
_making = RLock()  # no fork between the making of a descriptor and its being held


def hold(fd: int) -> int:
    """Keep a descriptor from forked copies; return it."""
    _held.add(fd)
    return fd


def pipe() -> tuple[int, int]:
    """Make a pipe, both ends of it held."""
    with _making:
        ends = os.pipe()
        _held.update(ends)
    return ends


def close(fd: int) -> None:
    """Close a descriptor that was held, or any other."""
    _held.discard(fd)
    os.close(fd)


def release(fd: int) -> None:
    """Hold a descriptor no more: something else closes it."""
    _held.discard(fd)


def _blind() -> None:
    """In a forked copy: put the null device in the place of every held descriptor."""
    _making.release()
    if _held:
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for fd in _held:
            os.dup2(null, fd, inheritable=False)
        os.close(null)
        _held.clear()


os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_blind)


class _Wake:
    """A pipe to this process itself, closed when its owner is forgotten."""

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
    descriptor is used. Without `wakeable`, `wake` does nothing.
    """

    __slots__ = ("_epoll", "_set", "_wake")

    def __init__(self, *, many: bool, wakeable: bool) -> None:
        self._epoll = many and hasattr(select, "epoll")
        self._set = select.epoll() if self._epoll else select.poll()
        # A one-shot call has none: no code of ours runs when it is forgotten, where an interrupt is lost.
        self._wake = _Wake() if wakeable else None
        if self._wake is not None:
            self.add(self._wake.reader, READ)

    @property
    def shareable(self) -> bool:
        """True if descriptors may be added and removed by other threads while one waits."""
        return self._epoll

    def add(self, fd: int, events: int) -> None:
        """Watch a descriptor."""
        self._set.register(fd, events)

    def change(self, fd: int, events: int) -> None:
        """Watch a descriptor for other events."""
        self._set.modify(fd, events)

    def remove(self, fd: int) -> None:
        """Watch a descriptor no more; to be called before it is closed."""
        self._set.unregister(fd)

    def wait(self, timeout: float | None) -> list[tuple[int, int]]:
        """Return the descriptors that are ready, after at most `timeout` seconds; None is no limit."""
        if timeout is not None:
            timeout = min(timeout, LONGEST_WAIT)
            if not self._epoll:
                # Rounded up, or the last fraction of a millisecond would be a busy wait.
                timeout = int(timeout * 1000) + (timeout > 0)
        ready = self._set.poll(timeout)
        if self._wake is not None:
            for fd, _ in ready:
                if fd == self._wake.reader:  # which stays in the list: no callback belongs to it
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
        """Close the descriptors; harmless when repeated."""
        if self._epoll:
            self._set.close()  # type: ignore[union-attr]
        if self._wake is not None:
            self._wake.close()


class Interrupts(Cancel):
    """A Cancel that is set, from now on, by each signal that asks this process to end.

    Its pipe becomes readable then, and stays so. For the one thread of a program
    that has to print something before it ends.
    """

    __slots__ = ("_wakeup",)

    def __init__(self) -> None:
        super().__init__()
        self._wakeup, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        for number in _ASKING:
            if _signal.getsignal(number) is not _signal.SIG_IGN:  # as nohup does, and means
                _signal.signal(number, self._note)
        _signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def _note(self, _number: int, _frame: object) -> None:
        self.set()


def wait_to_read(fd: int, cancel: Cancel) -> bool:
    """Wait until there is something to read, or its end; False if `cancel` was set first."""
    wait_for([(fd, READ)], None, cancel)
    return not cancel.is_set()


def wait_for(wanted: list[tuple[int, int]], seconds: float | None, cancel: Cancel | None = None) -> list[int]:
    """Wait until a descriptor has its events, for at most so long; return those that have. -1 is none.

    Once `cancel` is set, a descriptor that stands for it is returned.
    """
    if cancel is None:
        return _wait_for(wanted, seconds)
    if isinstance(cancel, Interrupts):
        return _wait_for([*wanted, (cancel._wakeup, READ)], seconds)
    wake = _Wake()
    try:
        with cancel.calling(lambda: os.write(wake.writer, b"!")):
            return _wait_for([*wanted, (wake.reader, READ)], seconds)
    finally:
        wake.close()


def _wait_for(wanted: list[tuple[int, int]], seconds: float | None) -> list[int]:
    poller = Poller(many=False, wakeable=False)
    for fd, events in wanted:
        if fd >= 0:
            poller.add(fd, events)
    deadline = None if seconds is None else monotonic() + seconds
    while True:
        left = LONGEST_WAIT if deadline is None else max(0.0, deadline - monotonic())
        ready = poller.wait(left)
        if ready or (deadline is not None and monotonic() >= deadline):
            return [fd for fd, _ in ready]
