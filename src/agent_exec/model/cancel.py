"""The one way to cancel a wait: every waiting call is woken at once, and nothing polls."""

from _thread import TIMEOUT_MAX, RLock, allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Cancel:
    """A request that can be withdrawn by `set`, once and for all; any thread may use it.

    What waits on behalf of the request registers a callback for as long as it
    waits: `with cancel.calling(run.stop): ...`.
    """

    __slots__ = ("_callbacks", "_lock", "_set")

    def __init__(self) -> None:
        self._set = False
        self._callbacks: list[Calling] = []
        self._lock = RLock()  # a signal handler may set it in the thread that registers

    def is_set(self) -> bool:
        """True if the request was withdrawn."""
        return self._set

    def set(self) -> None:
        """Withdraw the request: run every callback that is registered, in this thread; repeats do nothing."""
        with self._lock:
            self._set = True
            while self._callbacks:
                self._callbacks.pop().callback()

    def calling(self, callback: "Callable[[], object]") -> "Calling":
        """Register a callback for a `with` block: it runs at most once, at once if `set` came before.

        It runs with a lock held that the end of the block waits for, so it must be short.
        """
        return Calling(self, callback)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the request is withdrawn, for at most so many seconds; return `is_set`."""
        woken = allocate_lock()
        woken.acquire()
        with self.calling(woken.release):
            woken.acquire(timeout=-1 if timeout is None else min(max(0.0, timeout), TIMEOUT_MAX))
        return self._set


def check_cancel(given: object) -> None:
    """Raise InvalidArgument for anything but a Cancel or None, such as an Event, which has no callbacks."""
    if not isinstance(given, Cancel | None):
        from agent_exec.model.errors import InvalidArgument

        raise InvalidArgument(f"cancelled must be an agent_exec.Cancel; got {type(given).__name__}")


class Calling:
    """A registered callback: made by `Cancel.calling`, in force inside its `with` block."""

    __slots__ = ("_cancel", "callback")

    def __init__(self, cancel: Cancel, callback: "Callable[[], object]") -> None:
        self._cancel = cancel
        self.callback = callback

    def __enter__(self) -> None:
        with self._cancel._lock:
            self._cancel._callbacks.append(self)
            if self._cancel._set:
                self._cancel.set()

    def __exit__(self, *_: object) -> None:
        with self._cancel._lock:
            if self in self._cancel._callbacks:
                self._cancel._callbacks.remove(self)
