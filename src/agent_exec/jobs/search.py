"""Looks for lines in the output of a job: the last ones that match, or those that came since a cursor."""

from agent_exec.jobs.output import Excerpt
from agent_exec.logs.stream import STREAMS, Log, Moved
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.patterns import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from regex import Pattern

    from agent_exec.jobs.output import Offsets
    from agent_exec.jobs.record import Record
    from agent_exec.model.choices import Stream

_BLOCK = 1 << 20
"""So much is read at once; a longer line is looked at in pieces."""
_PATIENCE = 0.5
"""How many seconds a search in one line may take."""
_SEARCHED = 256 << 20
"""How far a search goes; the answer says so when it was not far enough."""


def search(
    job: "Record", pattern: str, *, lines: int, size: int, offsets: "Offsets | None" = None
) -> "dict[Stream, tuple[Excerpt, int]]":
    """Return the lines of each stream that match, at most so many lines and bytes, and how many they are.

    Without a cursor these are the last ones. With one they are the first
    since then, and the excerpt ends after the last line that was looked at:
    a line that is not complete yet is left for the next search.
    """
    wanted = compiled(pattern)
    found: dict[Stream, tuple[Excerpt, int]] = {}
    for stream in STREAMS:
        log = Log(job.home, stream)
        try:
            if offsets is None:
                found[stream] = _backward(log, wanted, lines, size, final=job.ended)
            else:
                found[stream] = _forward(log, offsets[stream], wanted, lines, size, final=job.ended)
        except TimeoutError:
            raise InvalidArgument(
                f"{pattern!r} takes too long on a line of {stream}; use a simpler expression", pattern=pattern
            ) from None
    return found


def _backward(log: Log, wanted: "Pattern[str]", lines: int, size: int, *, final: bool) -> tuple[Excerpt, int]:
    hits: list[bytes] = []
    start = end = log.total
    for place, line, whole in _lines_back(log):
        if not whole and not final:
            end = place  # it goes on: the next search with our cursor finds all of it
            start = place
            continue
        if wanted.search(line.decode("utf-8", "replace"), timeout=_PATIENCE):
            if lines and len(hits) == lines:
                break
            if len(line) >= size:
                if hits:
                    break
                line = line[: max(0, size - 1)]  # noqa: PLW2901 - better some of it than nothing
            size -= len(line) + 1
            hits.append(line)
        start = place
    hits.reverse()
    return _excerpt(hits, start, end, log, cut=start > 0), len(hits)


def _forward(
    log: Log, offset: int, wanted: "Pattern[str]", lines: int, size: int, *, final: bool
) -> tuple[Excerpt, int]:
    hits: list[bytes] = []
    start = log.piece(offset)[0] if offset < log.total else offset
    end = start
    for place, line, after in _lines_on(log, start, final=final):
        if wanted.search(line.decode("utf-8", "replace"), timeout=_PATIENCE):
            if (lines and len(hits) == lines) or (hits and len(line) >= size):
                end = place
                break
            line = line[: max(0, size - 1)]  # noqa: PLW2901 - better some of it than nothing
            size -= len(line) + 1
            hits.append(line)
        end = after
    excerpt = _excerpt(hits, start, end, log, cut=False)
    excerpt.skipped = start - offset
    excerpt.more = end < log.total
    return excerpt, len(hits)


def _excerpt(hits: list[bytes], start: int, end: int, log: Log, *, cut: bool) -> Excerpt:
    excerpt = Excerpt(b"".join(line + b"\n" for line in hits), start, log, cut=cut)
    excerpt.end = end
    return excerpt


def _lines_back(log: Log) -> "Iterator[tuple[int, bytes, bool]]":
    """Return the lines of a log from its end back: offset, line, and whether it is complete."""
    floor = max(0, log.total - _SEARCHED)
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
                after = place
                place -= len(line)
                if line or place < log.total:  # what follows the last newline is no line
                    yield place, line.removesuffix(b"\r"), after < log.total
                place -= 1
            place = first
            if len(rest) > _BLOCK:
                yield place, rest, True
                rest = b""
        if rest or (place == begin < log.total):
            yield place, rest.removesuffix(b"\r"), place + len(rest) < log.total


def _lines_on(log: Log, start: int, *, final: bool) -> "Iterator[tuple[int, bytes, int]]":
    """Return the lines of a log from an offset on: offset, line, and the offset after it."""
    place = start
    stop = min(log.total, start + _SEARCHED)
    rest = b""
    while place + len(rest) < stop:
        begin, end = log.piece(place + len(rest))
        if rest and begin > place + len(rest):
            yield place, rest.removesuffix(b"\r"), place + len(rest)  # a gap ends it
            rest = b""
        if not rest:
            place = begin
        try:
            data = rest + log.read(begin, min(end, begin + _BLOCK))
        except Moved:
            return
        *whole, rest = data.split(b"\n")
        for line in whole:
            yield place, line.removesuffix(b"\r"), place + len(line) + 1
            place += len(line) + 1
        if len(rest) > _BLOCK:
            yield place, rest, place + len(rest)
            place, rest = place + len(rest), b""
    if rest and final:
        yield place, rest.removesuffix(b"\r"), place + len(rest)
