"""Reading from a disk that may not answer, without making anyone wait for it."""

from threading import Event, Lock, Thread
from typing import TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message_pump import MessagePump

T = TypeVar("T")

PATIENCE = 0.1
"""For how many seconds the reader is waited for; hardly anyone sees that."""


class Aside:
    """Reads in a thread, one thing at a time; of those that wait only the newest is wanted.

    To be used by the thread of the interface alone.
    """

    __slots__ = ("_busy", "_next", "_owner")

    def __init__(self, owner: "MessagePump") -> None:
        self._owner = owner
        self._busy = False
        self._next: Callable[[], bool] | None = None

    @property
    def busy(self) -> bool:
        """True if something is being read."""
        return self._busy

    def read(self, what: "Callable[[], T]", then: "Callable[[T], object]") -> bool:
        """Have `then` called with what is read: before this returns, if it comes soon; say whether it did."""
        if self._busy:
            self._next = lambda: self.read(what, then)
            return False
        self._busy = True
        found: list[T] = []
        lock, come = Lock(), Event()
        state = {"done": False, "late": False}

        def work() -> None:
            try:
                found.append(what())
            finally:
                with lock:
                    state["done"] = True
                come.set()
                if state["late"]:
                    self._owner.call_later(late)

        def late() -> None:
            self._busy = False
            following, self._next = self._next, None
            if following is not None:
                following()
            elif found:
                then(found[0])

        Thread(target=work, name="agent-exec-aside", daemon=True).start()
        if not come.wait(PATIENCE):
            with lock:
                state["late"] = not state["done"]
            if state["late"]:
                return False
        self._busy = False
        if found:
            then(found[0])
        return True
