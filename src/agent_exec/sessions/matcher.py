"""Patterns looked for in output, by a process of its own: some never come to an end on some texts."""

import sys
from _thread import RLock
from collections import deque
from time import monotonic, sleep

from agent_exec.model.command import Command
from agent_exec.model.output import Head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.engine.engine import Engine
    from agent_exec.model.choices import Stream

_PAUSE = 0.002
_AHEAD = 1 << 20
"""How many bytes may be on their way to the matching process."""

_MOST_WAITING = 1 << 22
"""How much may wait behind that; of more, the oldest is not looked at: what is waited for comes last."""

_PROGRAM = """
import os, re, sys
patterns = [re.compile(os.fsencode(word)) for word in sys.argv[1:]]
text, total = b"", 0
while data := os.read(0, 1 << 16):
    text, total = (text + data)[-(1 << 17):], total + len(data)
    found = [match.start() for pattern in patterns if (match := pattern.search(text))]
    if found:
        os.write(1, b"found %d " % (total - len(text) + min(found)))
        break
    os.write(1, b"%d " % len(data))
"""


class Matcher:
    """Looks for patterns in what it is fed, and calls `found` when one of them is there; to be closed.

    `place` is how many bytes came before the match; None if there is none yet, or too much came too fast.
    """

    __slots__ = (
        "_ahead",
        "_found",
        "_heard",
        "_late",
        "_lock",
        "_run",
        "_skipped",
        "_waiting",
        "matched",
        "place",
    )

    def __init__(self, engine: "Engine", regexes: "Sequence[str]", found: "Callable[[], object]") -> None:
        self.matched = False
        self.place: int | None = None
        self._skipped = False
        self._found = found
        self._lock = RLock()
        self._late: deque[bytes] = deque()
        self._waiting = self._ahead = 0
        self._heard = b""
        self._run = engine.start(
            Command(
                [sys.executable, "-IS", "-c", _PROGRAM, *regexes],
                cwd="/",
                env={"PATH": "/"},
                interactive=True,
                keep=Head(0),
                on_output=self._hear,
            )
        )

    def feed(self, data: bytes) -> None:
        """Look at this too, after what came before; does not wait."""
        if not data or self.matched or self._run.done:
            return
        with self._lock:
            self._late.append(data)
            self._waiting += len(data)
            while self._waiting > _MOST_WAITING and len(self._late) > 1:
                self._waiting -= len(self._late.popleft())
                self._skipped = True
            self._send()

    def _send(self) -> None:
        """Pass on what waits, as long as not too much is on its way."""
        while self._late and self._ahead < _AHEAD:
            data = self._late.popleft()
            self._waiting -= len(data)
            self._ahead += len(data)
            self._run.write(data)

    def finish(self, seconds: float) -> None:
        """Wait, at most so long, until all that it was fed has been looked at."""
        deadline = monotonic() + seconds
        while (self._late or self._ahead) and not (self.matched or self._run.done) and monotonic() < deadline:
            sleep(_PAUSE)

    def close(self) -> None:
        """Look no further, and wait until nothing of it is left."""
        self._run.kill()
        self._run.wait()

    def _hear(self, stream: "Stream", chunk: bytes) -> None:
        if stream == "stderr":
            return
        *done, self._heard = (self._heard + chunk).split(b" ")
        if b"found" in done:
            place = done[done.index(b"found") + 1 :]
            if not place:  # it comes with the next chunk
                self._heard = b"found " + self._heard
                return
            self.place = None if self._skipped else int(place[0])
            self.matched = True
            self._found()
            return
        with self._lock:
            self._ahead -= sum(map(int, done))
            self._send()
