"""Signals that ask this process to end, turned into something that can be waited for."""

import os
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

_ASKING = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)


class Interrupts:
    """From now on, being asked to end is only noted: `fd` becomes readable, and stays so.

    For the one thread of a program that has to say something before it ends.
    """

    __slots__ = ("_writer", "caught", "fd")

    def __init__(self) -> None:
        self.caught = False
        self.fd, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        for number in _ASKING:
            if _signal.getsignal(number) is not _signal.SIG_IGN:  # as nohup does, and means
                _signal.signal(number, self._note)
        _signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def wait_to_read(self, fd: int) -> bool:
        """Wait until there is something to read, or its end; False if an interrupt came first."""
        from agent_exec.host.posix.poller import READ, wait_for

        wait_for([(fd, READ), (self.fd, READ)], None)
        return not self.caught

    def _note(self, _number: int, _frame: object) -> None:
        self.caught = True


class Recall(Interrupts):
    """A wait that another thread may call off: what takes interrupts takes this; to be closed."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self.caught = False
        self.fd, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._lock = allocate_lock()

    def set(self) -> None:
        """Call it off; from any thread, and harmless when repeated or too late."""
        with self._lock:
            if not self.caught and self._writer >= 0:
                os.write(self._writer, b"\0")
            self.caught = True

    def close(self) -> None:
        """Hold nothing open any more; harmless when repeated."""
        with self._lock:
            if self._writer >= 0:
                os.close(self.fd)
                os.close(self._writer)
                self.fd = self._writer = -1
