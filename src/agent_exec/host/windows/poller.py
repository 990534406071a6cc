"""Waits until a time has come or a thread calls."""

from agent_exec.host.windows import kernel


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
        """Wait for a call, at most `timeout` seconds; None waits for ever. Gives nobody.

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
