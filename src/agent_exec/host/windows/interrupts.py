"""Signals that ask this process to end, turned into something that ends a wait."""

from time import monotonic, sleep

from agent_exec.host.windows import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
else:
    import _signal

_ASKING = ("SIGINT", "SIGBREAK")
# A break ends no wait by itself; so whoever waits looks for one now and then.
_SLICE = 0.05
_LONGEST_SLEEP = 86400.0


class Interrupts:
    """From now on, being asked to end is only noted, and ends the waits that are given this.

    For the main thread of a program that has to say something before it ends.
    """

    __slots__ = ("caught", "fd")

    def __init__(self) -> None:
        self.caught = False
        self.fd = -1
        for name in _ASKING:
            number = getattr(_signal, name, None)
            if number is not None and _signal.getsignal(number) is not _signal.SIG_IGN:
                _signal.signal(number, self._note)

    def wait_to_read(self, fd: int) -> bool:  # noqa: ARG002 - reading itself waits here
        """Wait until there is something to read, or its end; False if an interrupt came first."""
        return not self.caught

    def _note(self, _number: int, _frame: object) -> None:
        self.caught = True


class Recall(Interrupts):
    """A wait that another thread may call off: what takes interrupts takes this; to be closed."""

    __slots__ = ()

    def __init__(self) -> None:
        self.caught = False
        self.fd = -1

    def set(self) -> None:
        """Call it off; from any thread, and harmless when repeated or too late."""
        self.caught = True

    def close(self) -> None:
        """Do nothing: nothing is held open."""


def on_terminate(call: "Callable[[], object]") -> None:
    """Do nothing: no signal asks a process without a console to end."""


def wait_for(handle: int, seconds: float | None, interrupts: Interrupts | None) -> bool:
    """Wait for a handle, of which 0 is none; False when the time is over or an interrupt came."""
    deadline = None if seconds is None else monotonic() + seconds
    longest = _LONGEST_SLEEP if interrupts is None else _SLICE
    while True:
        caught = interrupts is not None and interrupts.caught
        left = longest if deadline is None else min(longest, max(0.0, deadline - monotonic()))
        if caught:
            left = 0.0
        if handle:
            try:
                if kernel.wait_any((handle,), left) is not None:
                    return True
            except InterruptedError:
                continue  # a signal whose handler did not raise
        else:
            sleep(left)
        if caught or (deadline is not None and monotonic() >= deadline):
            return False
