"""The screen of a session at an offset, drawn by replaying its output with the sizes of its terminal."""

from agent_exec.model.value import Value
from agent_exec.terminal.screen import Screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sessions.session import Session

_SLICE = 1 << 14
_HEAD = 1 << 20
_TAIL = 1 << 22
"""How much before and after a gap is replayed: all else of what is kept could be hidden by the gap anyway."""


class Snapshot(Value):
    """A screen as text, and where output goes on; `size` is the number of the size that it has.

    It is not `exact` if output was lost before, whose modes and cells may be missing.
    """

    offset: int
    size: int
    rows: int
    columns: int
    data: str
    exact: bool


class Replay:
    """A terminal that is fed with the output of a session, as viewers are shown it; for one thread at a time.

    While all output is kept, it is exact. Where some was lost, it goes on after
    the gap with what it knew before: nothing is emulated while output comes, so
    that a flood costs nothing.
    """

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._offset = 0
        self._exact = True
        self._size, _, rows, columns = session.sizes.at(0)
        self._screen = Screen(rows, columns)
        if not session.command.tty:
            self._screen.newline_returns = True

    def step(self, target: int) -> bool:
        """Replay a little more; True if it has come to an offset."""
        session = self._session
        size = session.sizes.after(self._size)
        if size is not None and size[1] <= self._offset:
            self._size, _, rows, columns = size
            self._screen.resize(rows, columns)
            return False
        end = target if size is None else min(target, size[1])
        if self._offset >= end:
            return self._offset >= target
        begin, data = session.read(self._offset, min(_SLICE, end - self._offset))
        lost = self._gap(target) if begin == self._offset else max(begin, target - _TAIL)
        if lost:
            self._exact = False
            self._screen.feed(b"\x18")  # what was only begun never ends
            self._offset = min(lost, target)
        else:
            self._screen.feed(data)
            self._offset += len(data)
        return False  # a resize may be due here

    def finish(self) -> Screen:
        """Return the screen after all output of now."""
        target = self._session.transcript.total
        while not self.step(target):
            pass
        return self._screen

    def capture(self) -> Snapshot:
        """Return the screen of now."""
        from agent_exec.terminal.snapshot import redraw

        screen = self._screen
        offset = self._offset - screen.parser.begun[1]
        return Snapshot(offset, self._size, screen.rows, screen.columns, redraw(screen), self._exact)

    def _gap(self, target: int) -> int:
        """Return where to go on, if enough was replayed before a gap that lies ahead; 0 if not."""
        if self._offset < _HEAD or target - self._offset <= _TAIL:
            return 0
        last = max((end for start, end in self._session.gaps() if self._offset <= start < target), default=0)
        return last and max(last, target - _TAIL)
