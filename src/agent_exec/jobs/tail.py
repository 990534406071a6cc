"""Reads a job's output: its end, what came since a cursor, both streams in order of arrival, or a search."""

from agent_exec.jobs import arrivals
from agent_exec.jobs.excerpt import Excerpt, following, last
from agent_exec.jobs.logs import STREAMS, Log, Moved
from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.jobs.record import Record
    from agent_exec.model.command import Stream

_BLOCK = 1 << 20
_SEARCHED = 256 << 20
"""How far back a search goes; the answer says so when it was not far enough."""


class Cursor:
    """A place in both streams of one job, as an opaque text for whoever goes on from it."""

    __slots__ = ("offsets",)

    def __init__(self, offsets: "dict[Stream, int]") -> None:
        self.offsets = offsets

    def text(self, job_id: str) -> str:
        """Give it as text."""
        stdout, stderr = (self.offsets[stream] for stream in STREAMS)
        return f"{job_id[-10:]}-{stdout:x}-{stderr:x}"

    @classmethod
    def parse(cls, text: str, job_id: str) -> "Cursor":
        """Read it back; refuse what is no cursor of this job."""
        try:
            owner, *offsets = text.split("-")
            stdout, stderr = (int(offset, 16) for offset in offsets)
        except ValueError:
            owner, stdout, stderr = "", -1, -1
        if owner != job_id[-10:] or stdout < 0 or stderr < 0:
            raise InvalidArgument(
                f"{text!r} is no cursor of job {job_id}; pass that of an earlier answer about it as it is",
                cursor=text,
            )
        return cls({"stdout": stdout, "stderr": stderr})


def tail(job: "Record", *, lines: int, size: int) -> "dict[Stream, Excerpt]":
    """Give the end of each stream."""
    return {stream: last(job.folder, stream, lines=lines, size=size, final=job.ended) for stream in STREAMS}


def since(job: "Record", cursor: Cursor, *, size: int) -> "dict[Stream, Excerpt]":
    """Give what came since a cursor, the oldest first; at most so much of each stream."""
    return {
        stream: following(job.folder, stream, cursor.offsets[stream], size=size, final=job.ended)
        for stream in STREAMS
    }


class Piece:
    """Some output of one stream that came together; `moment` is None where that is not known."""

    __slots__ = ("data", "moment", "stream")

    def __init__(self, moment: float | None, stream: "Stream", data: bytes) -> None:
        self.moment = moment
        self.stream = stream
        self.data = data


def merged(job: "Record", excerpts: "dict[Stream, Excerpt]") -> list[Piece]:
    """Give these excerpts as one sequence of pieces, in the order in which they arrived."""
    known = arrivals.since(job.folder, {stream: part.start for stream, part in excerpts.items() if part.data})
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


def search(
    job: "Record", pattern: str, *, lines: int, size: int, cursor: Cursor | None = None
) -> "dict[Stream, tuple[Excerpt, int]]":
    """Give the last lines of each stream that match, or those since a cursor, and how many were found."""
    import re

    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise InvalidArgument(f"{pattern!r} is no regular expression: {error}", pattern=pattern) from None
    found: dict[Stream, tuple[Excerpt, int]] = {}
    for stream in STREAMS:
        log = Log(job.folder, stream)
        start = 0 if cursor is None else cursor.offsets[stream]
        hits: list[bytes] = []
        room = size
        reached = log.total
        for place, line in _lines_back(log, start):
            reached = place
            if wanted.search(line.decode("utf-8", "replace")):
                room -= len(line) + 1
                if room < 0 or (lines and len(hits) == lines):
                    break
                hits.append(line)
        data = b"\n".join(reversed(hits))
        excerpt = Excerpt(data, reached, log, cut=reached > start)
        excerpt.end = log.total
        found[stream] = excerpt, len(hits)
    return found


def _lines_back(log: Log, start: int) -> "Iterator[tuple[int, bytes]]":
    """Give the lines of a log with their offsets, from its end back to `start`, as far as they are kept."""
    floor = max(start, log.total - _SEARCHED)
    for begin, end in reversed(log.pieces):
        rest = b""
        place = end
        while place > max(begin, floor):
            first = max(begin, floor, place - _BLOCK)
            try:
                data = log.read(first, place) + rest
            except Moved:
                return
            rest, *whole = data.split(b"\n")
            place = first + len(data)
            for line in reversed(whole):
                place -= len(line)
                if line or place < log.total:  # what follows the last newline is no line
                    yield place, line.removesuffix(b"\r")
                place -= 1
            place = first
            if len(rest) > _BLOCK:
                yield place, rest
                rest = b""
        if rest:
            yield place, rest.removesuffix(b"\r")
