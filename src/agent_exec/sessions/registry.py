"""The sessions of one server: their numbers, how many there may be, and what is known of those that ended."""

import os
from _thread import allocate_lock
from random import randrange
from threading import RLock
from time import monotonic
from weakref import WeakSet

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sessions.session import Session

FIRST, LAST = 1000, 99999
LIMIT = 64
PROTECTED = 8
"""How many of those that were used last are never ended to make room."""

REMEMBERED = 64
"""How many ended sessions can still be read."""

_ATTEMPTS = 1000
"""How often a number is looked for that no other registry of this process has: people find sessions by it."""


class Registry:
    """Sessions by number; any thread may use it.

    `folder` is where their output goes when memory does not hold it, a
    folder of its own for each, made when needed. Beyond `limit`, the oldest
    that has ended is forgotten, or else the oldest is ended.
    """

    def __init__(self, folder: str, limit: int = LIMIT) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LAST - FIRST:
            raise InvalidArgument(f"the number of sessions must be 1 to {LAST - FIRST}; got {limit!r}")
        self._folder = folder
        self._limit = limit
        self._lock = RLock()
        self._reserved: set[int] = set()
        self._kept: dict[int, Session] = {}
        self._ended: dict[int, Session] = {}
        with _choosing:
            _registries.add(self)

    def reserve(self) -> int:
        """Return a number that no session of this process has, as far as there are enough.

        It is free again after `free`, or when its session is forgotten.
        """
        with self._lock:
            if len(self._reserved) > LAST - FIRST:
                raise InvalidArgument("there is no session number left; end some sessions")
            with _choosing:
                others = [one._reserved for one in _registries if one is not self]
                attempts = 0
                while (number := randrange(FIRST, LAST + 1)) in self._reserved or (
                    attempts < _ATTEMPTS and any(number in taken for taken in others)
                ):
                    attempts += 1
                self._reserved.add(number)
                return number

    def free(self, number: int) -> None:
        """Let others have a number."""
        with self._lock:
            self._reserved.discard(number)

    def folder(self, number: int) -> str:
        """Return the folder of a session's output, which need not be there."""
        return os.path.join(self._folder, str(number))

    def keep(self, session: "Session") -> "Session | None":
        """Keep a session; return the one that must end to make room, if one must."""
        with self._lock:
            doomed = self._make_room()
            self._kept[session.number] = session
            return doomed

    def find(self, number: int) -> "Session | None":
        """Return a session that is kept, or one that has ended and is still remembered."""
        with self._lock:
            session = self._kept.get(number) or self._ended.get(number)
            if session is not None:
                session.used = monotonic()
            return session

    def retire(self, session: "Session") -> None:
        """Remember a session only as one that has ended."""
        with self._lock:
            self._kept.pop(session.number, None)
            self._ended.pop(session.number, None)
            self._ended[session.number] = session
            while len(self._ended) > REMEMBERED:
                oldest = next(iter(self._ended))
                self._ended.pop(oldest).close()
                self._reserved.discard(oldest)

    def forget(self, session: "Session") -> None:
        """Know nothing of a session that never came to be; its number is free."""
        with self._lock:
            self._kept.pop(session.number, None)
            self._ended.pop(session.number, None)
            self._reserved.discard(session.number)
        session.close()

    def live(self) -> "list[Session]":
        """Return those that are kept, oldest first."""
        with self._lock:
            return sorted(self._kept.values(), key=lambda session: session.began)

    def ended(self) -> "list[Session]":
        """Return those that have ended and can still be read, oldest first."""
        with self._lock:
            return list(self._ended.values())

    def close(self) -> "list[Session]":
        """Forget everything; return the sessions that have to be ended."""
        with self._lock:
            left = list(self._kept.values())
            for session in self._ended.values():
                session.close()
            self._kept.clear()
            self._ended.clear()
            self._reserved.clear()
            return left

    def _make_room(self) -> "Session | None":
        """Return the one that must go: never one of those used last, one that has ended before all others."""
        if len(self._kept) < self._limit:
            return None
        by_use = sorted(self._kept.values(), key=lambda session: session.used)
        candidates = by_use[:-PROTECTED] or by_use
        chosen = next((one for one in candidates if one.ended), candidates[0])
        self._kept.pop(chosen.number)
        return chosen


_registries: "WeakSet[Registry]" = WeakSet()
_choosing = allocate_lock()
