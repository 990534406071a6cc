"""Pieces of a job's output, cut where lines and characters end."""

from agent_exec.logs.stream import Log, Moved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.model.choices import Stream

_ATTEMPTS = 8
_LONGEST_CHARACTER = 4
_LINE = 500


class Excerpt:
    """A range of one stream.

    `start` and `end` are offsets of its bytes in the whole stream, of which
    `total` have come and `kept` are there. `cut` says that something before it is not in it,
    `more` that something after it is there already.
    """

    __slots__ = ("cut", "data", "end", "kept", "more", "skipped", "start", "total")

    def __init__(
        self, data: bytes, start: int, log: Log, *, cut: bool, more: bool = False, skipped: int = 0
    ) -> None:
        self.data = data
        self.start = start
        self.end = start + len(data)
        self.total = log.total
        self.kept = log.kept
        self.cut = cut
        self.more = more
        self.skipped = skipped
        """How many bytes were to be read before it and are no longer kept."""

    def drop(self, size: int) -> None:
        """Leave out some bytes at its beginning."""
        if size:
            self.data = self.data[size:]
            self.start += size
            self.cut = True

    @property
    def text(self) -> str:
        """All of it, as text."""
        return self.data.decode("utf-8", "replace")

    @property
    def lines(self) -> bytes:
        """It without the newline at its end."""
        data = self.data
        if data.endswith(b"\r\n"):
            return data[:-2]
        return data[:-1] if data.endswith(b"\n") else data


def last(folder: str, stream: "Stream", *, lines: int, size: int, final: bool) -> Excerpt:
    """Return the last lines of a stream within its last bytes; 0 lines is no limit.

    Unless it is `final`, a character that is not complete yet is left for later.
    """
    return _steadily(folder, stream, lambda log: _last(log, lines, size, final))


def following(folder: str, stream: "Stream", offset: int, *, lines: int, size: int, final: bool) -> Excerpt:
    """Return what follows an offset, at most so many lines and bytes of it; 0 lines is no limit."""
    return _steadily(folder, stream, lambda log: _following(log, offset, lines, size, final))


def last_line(folder: str, stream: "Stream") -> str:
    """Return the newest line of a stream that is not blank, as far as it has come."""
    from agent_exec.model.output import newest_line

    return newest_line(last(folder, stream, lines=0, size=_LINE, final=False).text)


def _steadily(folder: str, stream: "Stream", take: "Callable[[Log], Excerpt]") -> Excerpt:
    """Take an excerpt of a log whose oldest parts may go while we read."""
    for _ in range(_ATTEMPTS):
        try:
            log = Log(folder, stream)
            return take(log)
        except Moved:
            continue
    return Excerpt(b"", log.total, log, cut=True, more=True)


def _last(log: Log, lines: int, size: int, final: bool) -> Excerpt:
    pieces = log.pieces
    begin, end = pieces[-1] if pieces else (0, 0)
    begin = max(begin, end - size)
    data = log.read(begin, end) if end > begin else b""
    data = data[: _whole(data)] if not final else data
    skip = 0
    if begin > 0:
        while skip < _LONGEST_CHARACTER - 1 and skip < len(data) and data[skip] & 0xC0 == 0x80:
            skip += 1
    if lines:
        place = len(data) - 1 if data.endswith(b"\n") else len(data)
        for _ in range(lines):
            place = data.rfind(b"\n", skip, place)
            if place < 0:
                break
        skip = place + 1 if place >= 0 else skip
    begin += skip
    return Excerpt(data[skip:], begin, log, cut=begin > 0)


def _following(log: Log, offset: int, lines: int, size: int, final: bool) -> Excerpt:
    begin, end = log.piece(offset)
    stop = min(end, begin + size)
    data = log.read(begin, stop) if stop > begin else b""
    if not final or stop < log.total:
        data = data[: _whole(data)] or (data if stop < log.total else b"")
    place = -1
    for _ in range(lines):
        place = data.find(b"\n", place + 1)
        if place < 0:
            break
    if place >= 0:
        data = data[: place + 1]
    skipped = begin - offset if data else 0
    return Excerpt(data, begin, log, cut=skipped > 0, more=begin + len(data) < log.total, skipped=skipped)


def _whole(data: bytes) -> int:
    """Return the length of `data` without a character at its end that is only begun."""
    for back in range(1, min(_LONGEST_CHARACTER, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            need = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return len(data) - back if need > back else len(data)
    return len(data)
