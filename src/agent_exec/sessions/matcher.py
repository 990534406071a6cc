"""Looks for patterns in output, in bounded time and memory."""

import os
from _thread import allocate_lock
from collections import deque

from agent_exec.model.patterns import engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_WAITING = 1 << 22
"""How many bytes may wait for a search; of more, the oldest are left out: what is waited for comes last."""
_WINDOW = 1 << 17
"""How much of what was searched is searched again with the output that follows."""
_PATIENCE = 0.25
"""How many seconds one search may take."""
_MOST_SLOW = 4
"""After so many searches that took longer, none follows."""


class Matcher:
    """Looks for patterns in what one thread feeds and another searches.

    `place` is how many bytes came before the first match; None while there is no match.
    """

    def __init__(self, regexes: "Sequence[str]") -> None:
        regex = engine()
        self._patterns = [regex.compile(os.fsencode(text)) for text in regexes]
        self._lock = allocate_lock()
        self._pieces: deque[bytes] = deque()
        self._waiting = self._fed = self._slow = 0
        self._window = b""
        self.place: int | None = None

    @property
    def behind(self) -> bool:
        """True if there is output that was not searched yet, and is to be."""
        return bool(self._pieces) and self.place is None and self._slow < _MOST_SLOW

    def feed(self, data: bytes) -> None:
        """Keep some output for the next search."""
        with self._lock:
            self._pieces.append(data)
            self._waiting += len(data)
            self._fed += len(data)
            while self._waiting > _MOST_WAITING and len(self._pieces) > 1:
                self._waiting -= len(self._pieces.popleft())
                self._window = b""  # it does not continue in what is left

    def search(self, seconds: float = _PATIENCE) -> None:
        """Search what has been fed since the last time; in vain if that takes longer than so many seconds."""
        if not self.behind:
            return
        with self._lock:
            text = self._window + b"".join(self._pieces)
            start = self._fed - len(text)
            self._pieces.clear()
            self._waiting = 0
            self._window = text[-_WINDOW:]
        found = []
        for pattern in self._patterns:
            try:
                match = pattern.search(text, timeout=max(0.001, min(seconds, _PATIENCE)))
            except TimeoutError:
                self._slow += 1
                continue
            if match is not None:
                found.append(start + match.start())
        self.place = min(found, default=None)
