"""All that a session has printed: what is new, any range of it again, and how its callers see it.

The first bytes are in memory; more goes to the disk, bounded as the output of a job is. What the
disk does not take is kept by its end, in memory. What is new is kept by its two ends, so that a
flood costs no memory.
"""

import os
from time import monotonic

from agent_exec.logs.stream import Log, Moved
from agent_exec.logs.writing import LogWriter
from agent_exec.model.output import HeadTail, Tail, unfinished
from agent_exec.model.value import Value
from agent_exec.places import make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_exec.terminal.plain import Plain
    from agent_exec.terminal.screen import Screen

IN_MEMORY = 1 << 16
WINDOW = 1 << 19
"""How much of each end is kept of output that was not taken yet."""

QUOTA = 1 << 26
_APART = 0.01
_MOST_MARKS = 20_000
_PIECE = _REPLAYED = 1 << 20


class Taken(Value):
    """What is new: its two ends, and how much is missing between them; offsets are those of all output."""

    start: int
    end: int
    head: bytes
    omitted: int
    tail: bytes


class Transcript:
    """The output of one session; its owner sees to it that one thread at a time uses it."""

    def __init__(self, folder: str, quota: int = QUOTA) -> None:
        self._folder = folder
        self._quota = quota
        self._memory = bytearray()  # the beginning, as far as it is not on the disk
        self._rest: Tail | None = None  # the end, once the disk did not take something
        self._spilled = False
        self._held = 0  # bytes of an unfinished character that wait for the rest of it
        self._log: LogWriter | None = None
        self._new = HeadTail(WINDOW, WINDOW)
        self._began = monotonic()
        self._marks: list[tuple[float, int]] = []
        self._taken = 0
        self.total = 0

    def write(self, chunk: bytes) -> None:
        """Take the next output."""
        self._mark()
        self.total += len(chunk)
        self._new.feed(chunk)
        if not self._spilled:
            if len(self._memory) + len(chunk) <= IN_MEMORY:
                self._memory += chunk
                return
            self._spill()
        log = self._log
        if log is not None:
            lost = log.lost
            log.write(chunk)
            if log.lost == lost and self._rest is None:
                return
        if self._rest is None:
            self._rest = Tail(WINDOW)
        self._rest.feed(chunk)

    def take(self, *, final: bool = True) -> Taken:
        """Return what has come since the last time, and begin anew.

        Unless it is `final`, a character that is not whole stays for the next time.
        """
        head, tail, observed = self._new.take()
        omitted = observed - len(head) - len(tail)
        self._held = 0 if final else unfinished(tail if omitted else head[-3:] + tail)
        if self._held:
            held = (head[-3:] + tail)[-self._held :]
            head = head[: len(head) - max(0, self._held - len(tail))]
            tail = tail[: max(0, len(tail) - self._held)]
            self._new.feed(held)
        start, self._taken = self._taken, self.total - self._held
        return Taken(start, self._taken, head, omitted, tail)

    def peek(self) -> tuple[bytes, bytes]:
        """Return the two ends of what is new, and leave it so."""
        return self._new.parts()

    @property
    def waiting(self) -> int:
        """How much has come since it was last taken."""
        return self._new.observed - self._held

    def read(self, start: int, most: int) -> tuple[int, bytes]:
        """Return some output again, from an offset on, and where it begins: what is gone is left out."""
        start = min(max(0, start), self.total)
        if start < len(self._memory) or not self._spilled:
            return start, bytes(self._memory[start : start + most])
        rest = self._rest_start
        for _ in range(3):
            log = Log(self._folder, "stdout")
            begin, end = log.piece(start)
            if begin >= min(end, rest):
                break
            try:
                return begin, log.read(begin, min(end, begin + most))
            except Moved:
                continue  # the oldest part has just gone
        start = max(start, rest)
        return start, b"" if self._rest is None else self._rest.value()[start - rest :][:most]

    @property
    def _rest_start(self) -> int:
        """The offset from which on the end is in memory."""
        return self.total if self._rest is None else self.total - self._rest.kept

    def gaps(self) -> list[tuple[int, int]]:
        """Return the ranges that are not kept, in order: too much has come, or the disk was full."""
        if not self._spilled:
            return []
        found: list[tuple[int, int]] = []
        at = len(self._memory)
        for begin, end in sorted([*Log(self._folder, "stdout").pieces, (self._rest_start, self.total)]):
            if at < begin:
                found.append((at, begin))
            at = max(at, end)
        return found

    def events(self) -> "Iterator[tuple[float, bytes]]":
        """Return all that is kept, in order, with the seconds since the beginning at which it came."""
        ends = [offset for _, offset in self._marks[1:]] + [self.total]
        for (seconds, begin), end in zip(self._marks, ends, strict=True):
            at = begin
            while at < end:
                at, data = self.read(at, min(end - at, _PIECE))
                if not data or at >= end:
                    break
                yield seconds, data[: end - at]
                at += len(data)

    def _mark(self) -> None:
        """Note when what comes now has come; fewer of them, the more there are."""
        now = monotonic() - self._began
        if not self._marks or now - self._marks[-1][0] >= _APART:
            self._marks.append((now, self.total))
            if len(self._marks) > _MOST_MARKS:
                del self._marks[1::2]

    def end(self) -> None:
        """Hold no file open any more: nothing else comes; harmless when repeated."""
        log, self._log = self._log, None
        if log is not None:
            log.close()

    def close(self) -> None:
        """Take all of it away."""
        self.end()
        if self._spilled:
            try:
                for name in os.listdir(self._folder):
                    os.unlink(os.path.join(self._folder, name))
                os.rmdir(self._folder)
            except OSError:
                return

    def _spill(self) -> None:
        """Go on, on the disk; what it does not take of the beginning stays in memory."""
        self._spilled = True
        try:
            make_folder(self._folder)
            self._log = LogWriter(self._folder, "stdout", self._quota)
        except OSError:
            return
        self._log.write(bytes(self._memory))
        if not self._log.lost:
            self._memory.clear()


class View:
    """How callers see the output of one session: text, screen or raw; for one thread at a time."""

    def __init__(self, render: str, rows: int, columns: int, *, tty: bool) -> None:
        self.render = render
        self.rows = rows
        self.columns = columns
        self._tty = tty
        self._plain: Plain | None = None
        self._screen: Screen | None = None
        self._resized = False
        self._shown = ""  # what the caller saw last of lines that may still change

    @property
    def application_keys(self) -> bool:
        """True if the program wants the other form of cursor keys."""
        return self._screen is not None and self._screen.application_keys

    def resize(self, rows: int, columns: int) -> None:
        """Be of another size, from what is shown next on; any thread may call this."""
        self.rows, self.columns = rows, columns
        self._resized = True

    def is_exact(self, render: str | None) -> bool:
        """True if each byte that was printed is shown as it is."""
        return not self._tty or (render or self.render) == "raw"

    def show(self, taken: Taken, render: str | None, read: "Callable[[int, int], tuple[int, bytes]]") -> str:
        """Return what is new as it is wanted; the screen is drawn from what `read` returns."""
        text = self._text(taken) if self._tty else ""
        if self._screen is not None:
            if self._resized:
                self._screen.resize(self.rows, self.columns)
            self._screen.feed(taken.head)
            self._screen.feed(taken.tail)
        self._resized = False
        if self.is_exact(render):
            if not taken.omitted:
                return (taken.head + taken.tail).decode(errors="replace")
            head, tail = taken.head.decode(errors="replace"), taken.tail.decode(errors="replace")
            return joined(head, tail, taken.omitted)
        if (render or self.render) != "screen":
            return text
        if self._screen is None:
            from agent_exec.terminal.screen import Screen

            self._screen = Screen(self.rows, self.columns)
            self._screen.feed(read(max(0, taken.end - _REPLAYED), min(taken.end, _REPLAYED))[1])
        return self._screen.text()

    def again(self, data: bytes) -> str:
        """Return output that was shown before."""
        if self.is_exact(None):
            return data.decode(errors="replace")
        from agent_exec.terminal.plain import Plain

        plain = Plain(self.columns)
        return plain.feed(data) + plain.finish()

    def _text(self, taken: Taken) -> str:
        """Return what is new as text; of a line shown unfinished, what was added, or all if it changed."""
        plain = self._plain
        if plain is None:
            from agent_exec.terminal.plain import Plain

            plain = self._plain = Plain(self.columns)
        elif self._resized:
            plain.resize(self.columns)
        before = self._shown
        text = plain.feed(taken.head)
        if taken.omitted:
            text = joined(text + plain.finish(), plain.feed(taken.tail), taken.omitted)
        elif taken.tail:
            text += plain.feed(taken.tail)
        self._shown = plain.peek()
        return (text + self._shown).removeprefix(before)


def omission(count: int) -> str:
    """Return the line that stands for bytes that are left out."""
    return f"... {count} bytes omitted ..."


def joined(head: str, tail: str, omitted: int) -> str:
    """Return both ends of an output as one text; if bytes are missing between them, a line says how many."""
    if not omitted:
        return head + tail
    before = "" if not head or head.endswith("\n") else "\n"
    return f"{head}{before}{omission(omitted)}\n{tail}"
