"""Reads a job's output: its end, what came since a cursor, both streams in order of arrival."""

from agent_exec.logs.stream import STREAMS, Log, Moved, arrivals
from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.jobs.record import Record
    from agent_exec.model.choices import Stream

_ATTEMPTS = 8
_LONGEST_CHARACTER = 4
_LINE = 500
_LONGEST_CURSOR = 64


class Excerpt:
    """A range of one stream, cut where lines and characters end.

    `start` and `end` are offsets of its bytes in the whole stream, of which
    `total` have come and `kept` are there. `cut` says that something before it
    is not in it, `more` that something after it is there already, and
    `skipped` how many bytes were to be read before it and are no longer kept.
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
        if self.data.endswith(b"\r\n"):
            return self.data[:-2]
        return self.data.removesuffix(b"\n")


def last(job: "Record", stream: "Stream", *, lines: int = 0, size: int) -> Excerpt:
    """Return the last lines of a stream within its last bytes; 0 lines is no limit.

    While the job runs, a character that is not complete yet is left for later.
    """
    return _steadily(job.home, stream, lambda log: _last(log, lines, size, job.ended))


def following(job: "Record", stream: "Stream", offset: int, *, lines: int = 0, size: int) -> Excerpt:
    """Return what follows an offset, at most so many lines and bytes of it; 0 lines is no limit."""
    return _steadily(job.home, stream, lambda log: _following(log, offset, lines, size, job.ended))


def last_line(folder: str, stream: "Stream") -> str:
    """Return the newest line of a stream that is not blank, as far as it has come."""
    from agent_exec.model.output import newest_line

    return newest_line(_steadily(folder, stream, lambda log: _last(log, 0, _LINE, False)).text)


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
    if not final:
        data = _whole(data)
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
        data = _whole(data) or (data if stop < log.total else b"")
    place = -1
    for _ in range(lines):
        place = data.find(b"\n", place + 1)
        if place < 0:
            break
    if place >= 0:
        data = data[: place + 1]
    skipped = begin - offset if data else 0
    return Excerpt(data, begin, log, cut=skipped > 0, more=begin + len(data) < log.total, skipped=skipped)


def _whole(data: bytes) -> bytes:
    """Return some output without a character at its end that is only begun."""
    if data[-_LONGEST_CHARACTER:].isascii():
        return data
    from agent_exec.model.output import unfinished

    return data[: len(data) - unfinished(data)]


Offsets = dict["Stream", int]
"""A place in both streams of one job: where the next output of each is."""


def cursor_text(job_id: str, offsets: "Offsets", attempt: int = 1) -> str:
    """Return a place as an opaque text, from which a caller can go on."""
    stdout, stderr = (offsets[stream] for stream in STREAMS)
    return f"{job_id[-10:]}-{stdout:x}-{stderr:x}" + (f"-{attempt:x}" if attempt > 1 else "")


def parse_cursor(text: str, job_id: str, attempt: int = 1) -> "Offsets":
    """Return the place that a text names; raise InvalidArgument for what is not a cursor of this attempt."""
    try:
        owner, *offsets = text[:_LONGEST_CURSOR].split("-")
        stdout, stderr, of = (
            int(offset, 16) for offset in (offsets if len(offsets) == 3 else (*offsets, "1"))
        )
    except ValueError:
        owner, stdout, stderr, of = "", -1, -1, 1
    if owner == job_id[-10:] and of != attempt:
        raise InvalidArgument(
            f"cursor {text!r} is one of attempt {of}, and this is attempt {attempt}: give --attempt {of} to "
            "go on there, or leave out the cursor",
            cursor=text,
        )
    if owner != job_id[-10:] or stdout < 0 or stderr < 0:
        raise InvalidArgument(
            f"{text!r} is not a cursor of job {job_id}; pass that of an earlier answer about it as it is",
            cursor=text,
        )
    return {"stdout": stdout, "stderr": stderr}


def tail(job: "Record", *, lines: int, size: int) -> "dict[Stream, Excerpt]":
    """Return the end of each stream."""
    return {stream: last(job, stream, lines=lines, size=size) for stream in STREAMS}


def since(job: "Record", offsets: "Offsets", *, lines: int, size: int) -> "dict[Stream, Excerpt]":
    """Return what came since a place, the oldest first; at most so much of each stream."""
    return {stream: following(job, stream, offsets[stream], lines=lines, size=size) for stream in STREAMS}


class Piece:
    """Some output of one stream that came together; `moment` is None where that is not known."""

    __slots__ = ("data", "moment", "stream")

    def __init__(self, moment: float | None, stream: "Stream", data: bytes) -> None:
        self.moment = moment
        self.stream = stream
        self.data = data


def merged(job: "Record", excerpts: "dict[Stream, Excerpt]", *, lines: int) -> list[Piece]:
    """Return these excerpts as one sequence of pieces, in the order in which they arrived.

    At most the last so many lines of both together, 0 is no limit; the
    excerpts are cut to what is left.
    """
    pieces = _merge(job, excerpts)
    if lines:
        for stream, size in cut(pieces, lines).items():
            excerpts[stream].drop(size)
    return pieces


def cut(pieces: list[Piece], lines: int) -> "dict[Stream, int]":
    """Cut pieces off the front until so many lines are left; return how many bytes went of each stream."""
    gone: dict[Stream, int] = dict.fromkeys(STREAMS, 0)
    count = 0
    for place in range(len(pieces) - 1, -1, -1):
        piece = pieces[place]
        newlines = piece.data.count(b"\n") - (place == len(pieces) - 1 and piece.data.endswith(b"\n"))
        if count + newlines < lines:
            count += newlines
            continue
        kept = piece.data.split(b"\n", count + newlines - lines + 1)[-1]
        gone[piece.stream] += len(piece.data) - len(kept)
        piece.data = kept
        for earlier in pieces[:place]:
            gone[earlier.stream] += len(earlier.data)
        del pieces[: place if kept else place + 1]
        break
    return gone


def _merge(job: "Record", excerpts: "dict[Stream, Excerpt]") -> list[Piece]:
    known = arrivals(job.home, {stream: part.start for stream, part in excerpts.items() if part.data})
    pieces: list[Piece] = []
    place = {stream: part.start for stream, part in excerpts.items()}
    moments: dict[Stream, float | None] = dict.fromkeys(place)

    def take(stream: "Stream", until: int) -> None:
        part = excerpts[stream]
        start, stop = place[stream], min(until, part.end)
        if stop > start:
            data = part.data[start - part.start : stop - part.start]
            if pieces and pieces[-1].stream == stream and pieces[-1].moment == moments[stream]:
                pieces[-1].data += data
            else:
                pieces.append(Piece(moments[stream], stream, data))
            place[stream] = stop

    # What a record brings reaches to the next record of the same stream.
    ends: dict[Stream, int] = {stream: part.end for stream, part in excerpts.items()}
    spans: list[tuple[float, Stream, int]] = []
    for moment, stream, offset in reversed(known):
        spans.append((moment, stream, ends[stream]))
        ends[stream] = offset
    for stream in STREAMS:
        take(stream, ends[stream])  # older than the index reaches
    for moment, stream, until in reversed(spans):
        moments[stream] = moment
        take(stream, until)
    for stream in STREAMS:
        take(stream, excerpts[stream].end)
    return pieces
