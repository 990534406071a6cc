"""Signals that ask a server to end."""

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from collections.abc import Callable

_ASKING = ("SIGINT", "SIGTERM", "SIGHUP")


def catch_signals(end: "Callable[[int], object]") -> None:
    """Have `end` called for each signal that asks us to end, whatever the main thread does then."""
    for number in _asking():
        signal.signal(number, lambda number, _frame: end(number))


def _asking() -> "list[int]":
    """Return the signals that ask us to end, but not the ignored ones."""
    known = [getattr(signal, name) for name in _ASKING if hasattr(signal, name)]
    return [int(number) for number in known if signal.getsignal(number) is not signal.SIG_IGN]


def listen_for_signals(loop: "AbstractEventLoop", end: "Callable[[int], None]") -> None:
    """Have `end` called in the event loop for each signal that asks us to end."""
    for number in _asking():
        try:
            loop.add_signal_handler(number, end, number)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda number, _frame: loop.call_soon_threadsafe(end, number))


def first_signal(loop: "AbstractEventLoop") -> "Future[int]":
    """Return a future of the first signal that asks us to end; a second one ends the process at once.

    What still runs then is ended by its keepers.
    """
    first: Future[int] = loop.create_future()

    def note(number: int) -> None:
        if first.done():
            os._exit(128 + number)
        first.set_result(number)

    listen_for_signals(loop, note)
    return first
