"""Reading from a disk that may not answer, without making the interface wait for it."""

from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message_pump import MessagePump

T = TypeVar("T")

PATIENCE = 0.1
"""For how many seconds the interface waits for the reader; hardly noticed."""


class BackgroundReader:
    """Reads in a thread, one thing at a time; of those that wait only the newest is read.

    To be used by the thread of the interface alone.
    """

    def __init__(self, owner: "MessagePump") -> None:
        self._owner = owner
        self._next: Callable[[], object] | None = None
        self.busy = False

    def read(self, what: "Callable[[], T]", then: "Callable[[T], object]") -> bool:
        """Call `then` with the result of `what`, before this returns if it comes soon; True if it did."""
        if self.busy:
            self._next = lambda: self.read(what, then)
            return False
        self.busy = True
        future: Future[T] = Future()

        def work() -> None:
            try:
                future.set_result(what())
            except BaseException as error:
                future.set_exception(error)

        def late() -> None:
            self.busy = False
            following, self._next = self._next, None
            if following is not None:
                following()
            else:
                then(future.result())

        Thread(target=work, name="agent-exec-background-read", daemon=True).start()
        try:
            found = future.result(PATIENCE)
        except TimeoutError:
            future.add_done_callback(lambda _future: self._owner.call_later(late))
            return False
        self.busy = False
        then(found)
        return True
