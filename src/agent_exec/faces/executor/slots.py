"""How many commands run at once, and who is next."""

from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Future


class Slots:
    """A number of slots, and a queue before them; any thread may use it.

    A holder stands for a slot or a place in the queue, so that giving back
    is right at any moment, whatever interrupts whom.
    """

    __slots__ = ("_holders", "_limit", "_lock", "_waiting")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._holders: set[object] = set()
        self._waiting: dict[object, Future[None]] = {}
        self._lock = RLock()  # a holder that is forgotten gives back whenever the garbage collector finds it

    @property
    def taken(self) -> int:
        """How many slots are taken now."""
        return len(self._holders)

    def take(self, holder: object) -> bool:
        """Take a slot if one is free and no other holder waits; return True if so."""
        with self._lock:
            if self._waiting or len(self._holders) >= self._limit:
                return False
            self._holders.add(holder)
            return True

    def queue(self, holder: object) -> "Future[None]":
        """Return a future that is done as soon as the holder has a slot; first come, first served."""
        from concurrent.futures import Future

        turn: Future[None] = Future()
        turn.set_running_or_notify_cancel()  # giving up is said by giving back, and by that alone
        with self._lock:
            self._waiting[holder] = turn
            self._fill()
        return turn

    def give_back(self, holder: object) -> None:
        """Return the slot, or the place in the queue; does nothing for a holder that has neither."""
        try:
            self._free(holder)
        except BaseException:
            self._free(holder)  # interrupted, but the next holder must get its slot
            raise

    def _free(self, holder: object) -> None:
        with self._lock:
            self._waiting.pop(holder, None)
            self._holders.discard(holder)
            self._fill()

    def _fill(self) -> None:
        """Hand free slots to waiting holders; in this order, so that an interruption loses none."""
        while self._waiting and len(self._holders) < self._limit:
            holder, turn = next(iter(self._waiting.items()))
            self._holders.add(holder)
            if not turn.done():
                turn.set_result(None)
            self._waiting.pop(holder, None)
