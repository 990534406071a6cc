"""Signals that ask a server to end, heard in its event loop."""

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
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
