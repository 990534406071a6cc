"""Signals that ask this process to end, as a Cancel."""

import os

from agent_exec.model.cancel import Cancel

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

_ASKING = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)


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
    from agent_exec.host.posix.poller import READ, wait_for

    wait_for([(fd, READ)], None, cancel)
    return not cancel.is_set()
