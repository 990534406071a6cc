"""Reads a job's output: its end, what came since a cursor, both streams in order of arrival."""

from agent_exec.jobs.excerpt import Excerpt, following, last
from agent_exec.logs.stream import STREAMS
from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.jobs.record import Record
    from agent_exec.model.choices import Stream


_LONGEST_CURSOR = 64


class Cursor:
    """A place in both streams of one job, as an opaque text for whoever goes on from it."""

    __slots__ = ("offsets",)

    def __init__(self, offsets: "dict[Stream, int]") -> None:
        self.offsets = offsets

    def text(self, job_id: str) -> str:
        """Return it as text."""
        stdout, stderr = (self.offsets[stream] for stream in STREAMS)
        return f"{job_id[-10:]}-{stdout:x}-{stderr:x}"

    @classmethod
    def parse(cls, text: str, job_id: str) -> "Cursor":
        """Read it back; refuse what is no cursor of this job."""
        try:
            owner, *offsets = text[:_LONGEST_CURSOR].split("-")
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
    """Return the end of each stream."""
    return {stream: last(job.folder, stream, lines=lines, size=size, final=job.ended) for stream in STREAMS}


def since(job: "Record", cursor: Cursor, *, lines: int, size: int) -> "dict[Stream, Excerpt]":
    """Give what came since a cursor, the oldest first; at most so much of each stream; 0 lines: no limit."""
    return {
        stream: following(job.folder, stream, cursor.offsets[stream], lines=lines, size=size, final=job.ended)
        for stream in STREAMS
    }


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
    from agent_exec.jobs import interleaving

    known = interleaving.since(
        job.folder, {stream: part.start for stream, part in excerpts.items() if part.data}
    )
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
