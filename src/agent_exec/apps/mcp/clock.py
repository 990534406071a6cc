"""Calls functions periodically, all in one thread, which is there only while there are any."""

import sys
from threading import Condition, Thread
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Tick:
    """A function that is called periodically."""

    __slots__ = ("act", "due", "every")

    def __init__(self, every: float, act: "Callable[[], object]") -> None:
        self.every = every
        self.act = act
        self.due = monotonic() + every


class Clock:
    """The functions of one server; any thread may add and remove them."""

    def __init__(self) -> None:
        self._ticks: set[Tick] = set()
        self._changed = Condition()
        self._runs = False
        self._next = 0.0

    def every(self, seconds: float, act: "Callable[[], object]") -> Tick:
        """Call a function every so many seconds; without a thread to give, from the next `every` on."""
        tick = Tick(seconds, act)
        with self._changed:
            self._ticks.add(tick)
            if self._runs:
                if tick.due < self._next:
                    self._changed.notify()
                return tick
            self._runs = True
        try:
            Thread(target=self._run, name="agent-exec clock", daemon=True).start()
        except RuntimeError:
            self._runs = False
        return tick

    def stop(self, tick: Tick | None) -> None:
        """Call it no more; a call that has begun may still go on."""
        with self._changed:
            self._ticks.discard(tick)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._ticks:
                    self._runs = False
                    return
                self._next = min(tick.due for tick in self._ticks)
                self._changed.wait(max(0.0, self._next - monotonic()))
                due = [tick for tick in self._ticks if tick.due <= monotonic()]
            for tick in due:
                try:
                    tick.act()
                except Exception as error:
                    sys.excepthook(type(error), error, error.__traceback__)  # on stderr; the others go on
                tick.due = monotonic() + tick.every
