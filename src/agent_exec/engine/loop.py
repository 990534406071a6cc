"""The loop: descriptors, clocks and calls from other threads, one after the other.

It has no thread of its own. The caller of `turn` drives it: a one-shot call,
a supervisor, or the one thread of an engine.
"""

from _thread import RLock, get_ident
from time import monotonic

from agent_exec.host import Poller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable
    from heapq import heapify, heappop, heappush
else:
    from _collections import deque  # without the rest of its package
    from _heapq import heapify, heappop, heappush


class Timer:
    """A call at a time; `cancel` makes it never happen."""

    __slots__ = ("call", "loop", "when")

    def __init__(self, when: float, call: "Callable[[], object]", loop: "Loop") -> None:
        self.when = when
        self.call: Callable[[], object] | None = call
        self.loop = loop

    def __lt__(self, other: "Timer") -> bool:
        return self.when < other.when

    def cancel(self) -> None:
        """Make it never happen; harmless when repeated."""
        if self.call is not None:
            self.call = None
            self.loop.forget_cancelled()


class Loop:
    """Descriptors, timers and an inbox; everything but `post` belongs to the thread that drives the loop."""

    __slots__ = ("_cancelled", "_driver", "_inbox", "_lock", "_poller", "_ready", "_timers")

    def __init__(self, *, many: bool, wakeable: bool) -> None:
        self._poller = Poller(many=many, wakeable=wakeable)
        self._ready: dict[int, Callable[[int], None]] = {}
        self._timers: list[Timer] = []
        self._cancelled = 0
        self._driver = 0
        self._lock = RLock()  # a signal handler may post while its own thread does
        self._inbox: deque[Callable[[], object]] = deque()

    def watch(self, fd: int, events: int, ready: "Callable[[int], None]") -> None:
        """Call `ready(events)` whenever the descriptor is; it may also be called for nothing."""
        self._poller.add(fd, events)
        self._ready[fd] = ready

    def change(self, fd: int, events: int) -> None:
        """Watch a descriptor for other events."""
        self._poller.change(fd, events)

    def unwatch(self, fd: int) -> None:
        """Stop watching a descriptor; to be called before it is closed."""
        if self._ready.pop(fd, None) is not None:
            self._poller.remove(fd)

    def after(self, seconds: float, call: "Callable[[], object]") -> Timer:
        """Call once, so many seconds from now."""
        timer = Timer(monotonic() + seconds, call, self)
        heappush(self._timers, timer)
        return timer

    def post(self, call: "Callable[[], object]") -> None:
        """Have something called by the driver, in order; from any thread."""
        with self._lock:
            self._inbox.append(call)
            if len(self._inbox) == 1:
                self._poller.wake()

    def turn(self) -> None:
        """Wait for the next thing to happen, and do all that is due."""
        self._driver = get_ident()
        try:
            self._turn()
        finally:
            self._driver = 0

    def _turn(self) -> None:
        ready = self._ready
        batch = [(fd, events, ready.get(fd)) for fd, events in self._poller.wait(self._patience())]
        for fd, events, call in batch:
            # A callback before this one may close a descriptor, and a new one may get its number: skip that.
            if call is not None and ready.get(fd) is call:
                call(events)
        timers = self._timers
        if timers:
            now = monotonic()
            while timers and timers[0].when <= now:
                due = heappop(timers).call
                if due is not None:
                    due()
                else:
                    self._cancelled -= 1
        # One at a time, so that an exception loses none of the others; as many as there are now,
        # so that calls which post again do not keep us from the descriptors.
        for _ in range(len(self._inbox)):
            with self._lock:
                post = self._inbox.popleft()
            post()

    def close(self) -> None:
        """Give back what the loop itself holds; harmless when repeated."""
        with self._lock:
            self._poller.close()

    @property
    def inside(self) -> bool:
        """True if we are being called by the loop, and so must not wait for it."""
        return self._driver == get_ident()

    def forget_cancelled(self) -> None:
        """Note a cancelled timer, and clear them out when they are the greater part."""
        self._cancelled += 1
        if self._cancelled * 2 > len(self._timers):
            self._timers[:] = [timer for timer in self._timers if timer.call is not None]
            heapify(self._timers)
            self._cancelled = 0

    @property
    def shareable(self) -> bool:
        """True if other threads may watch and unwatch a descriptor, each its own, while we wait."""
        return self._poller.shareable

    @property
    def idle(self) -> bool:
        """True if nothing is watched, timed or waiting to be called."""
        return not (self._ready or self._timers or self._inbox)

    def _patience(self) -> float | None:
        """How long nothing can happen by itself."""
        if self._inbox:
            return 0
        if not self._timers:
            return None
        return max(0.0, self._timers[0].when - monotonic())
