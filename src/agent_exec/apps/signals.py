"""Signals that ask a server to end, heard in its event loop."""

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from collections.abc import Callable

_ASKING = ("SIGINT", "SIGTERM", "SIGHUP")


def listen_for_signals(loop: "AbstractEventLoop", end: "Callable[[int], None]") -> None:
    """Have `end` called in the event loop for each signal that asks us to end, but not for ignored ones."""

    def pass_on(number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(end, number)

    for name in _ASKING:
        number = getattr(signal, name, None)
        if number is None or signal.getsignal(number) is signal.SIG_IGN:
            continue
        try:
            loop.add_signal_handler(number, end, int(number))
        except NotImplementedError:  # Windows
            signal.signal(number, pass_on)


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
