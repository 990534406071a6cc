"""Waits until a time has come, a thread calls, a handle is ready, or a Cancel is set."""

from time import monotonic, time

from agent_exec.host.windows import kernel
from agent_exec.model.cancel import Cancel

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable

    from agent_exec.host.ports import Loop
else:
    import _signal

_ASKING = ("SIGINT", "SIGBREAK")
# Python runs a signal's handler in the main thread only, and a break ends no wait of that thread.
_SLICE = 0.05
_LONGEST_SLEEP = 86400.0
_LOOK = 30.0  # how often to look at a clock that may be set


class Poller:
    """What a loop waits on.

    There are no descriptors to watch here: the threads that read and wait
    for a command call the loop. So every poller is wakeable, that of a
    one-shot call too, and costs one handle from its first wait on, given
    back with the poller at the latest.
    """

    __slots__ = ("_called", "_event")

    def __init__(self, *, many: bool, wakeable: bool) -> None:  # noqa: ARG002 - all are the same here
        self._called = False
        self._event = 0

    @property
    def shareable(self) -> bool:
        """True if descriptors may be added and removed by other threads while one waits."""
        return False

    def add(self, fd: int, events: int) -> None:
        """Refuse to watch a descriptor: Windows has none that could be."""
        raise TypeError(f"nothing watches descriptors on Windows; got {fd} for {events}")

    def change(self, fd: int, events: int) -> None:
        """Refuse, as `add` does."""
        self.add(fd, events)

    def remove(self, fd: int) -> None:
        """Refuse, as `add` does."""
        self.add(fd, 0)

    def wait(self, timeout: float | None) -> list[tuple[int, int]]:
        """Wait for a call, at most `timeout` seconds; None waits without limit. Returns no descriptors.

        Ctrl-C ends the wait, which no lock of Python's does on this system.
        """
        if not self._event:
            self._event = kernel.create_event(manual=False)
        # Looked at after the event is there, and set before it is looked for: no call is missed.
        if not self._called:
            try:
                kernel.wait_any((self._event,), timeout)
            except InterruptedError:
                pass  # a signal whose handler did not raise
        self._called = False
        return []

    def wake(self) -> None:
        """Let `wait` return now; from any thread."""
        self._called = True
        event = self._event
        if event:
            kernel.set_event(event)

    def close(self) -> None:
        """Give back the handle; harmless when repeated."""
        event, self._event = self._event, 0
        if event:
            kernel.close(event)

    def __del__(self) -> None:
        self.close()


class Interrupts(Cancel):
    """A Cancel that is set, from now on, by each signal that asks this process to end.

    For the main thread of a program that has to print something before it ends.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        for name in _ASKING:
            number = getattr(_signal, name, None)
            if number is not None and _signal.getsignal(number) is not _signal.SIG_IGN:
                _signal.signal(number, self._note)

    def _note(self, _number: int, _frame: object) -> None:
        self.set()


def wait_to_read(fd: int, cancel: Cancel) -> bool:  # noqa: ARG001 - reading itself waits here
    """Wait until there is something to read, or its end; False if `cancel` was set first."""
    return not cancel.is_set()


def on_terminate(call: "Callable[[], object]") -> None:
    """Do nothing: no signal asks a process without a console to end."""


def call_at(loop: "Loop", moment: float, call: "Callable[[], object]") -> None:
    """Call once from inside the loop, at a moment in seconds since 1970; one that is early asks again."""
    loop.after(min(max(0.0, moment - time()), _LOOK), call)


def wait_for(handle: int, seconds: float | None, cancel: Cancel | None) -> bool:
    """Wait for a handle, of which 0 is none; False when the time is over or `cancel` was set."""
    deadline = None if seconds is None else monotonic() + seconds
    longest = _SLICE if isinstance(cancel, Interrupts) else _LONGEST_SLEEP
    event = kernel.create_event(manual=True)
    handles = (handle, event) if handle else (event,)
    try:
        with (cancel or Cancel()).calling(lambda: kernel.set_event(event)):
            while True:
                left = longest if deadline is None else min(longest, max(0.0, deadline - monotonic()))
                try:
                    found = kernel.wait_any(handles, left)
                except InterruptedError:
                    continue  # a signal whose handler did not raise
                if found is not None:
                    return found != len(handles) - 1
                if deadline is not None and monotonic() >= deadline:
                    return False
    finally:
        kernel.close(event)
