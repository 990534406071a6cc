"""Follows a job's output: each read returns what has come since the one before, over all its attempts."""

from agent_exec.jobs import output
from agent_exec.logs.stream import STREAMS
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store
    from agent_exec.model.choices import Stream

_PIECE = 64 << 10


class Gap(Value):
    """Bytes of a stream that are no longer kept."""

    stream: "Stream"
    size: int


class Attempt(Value):
    """A further attempt has begun, whose output follows."""

    number: int


class Follower:
    """A place in the output of a job; `offsets` are those right behind what was read last.

    `attempt` is the one attempt to follow, by default the current one and those after it.
    """

    def __init__(
        self, store: "Store", job_id: str, cursor: str | None = None, attempt: int | None = None
    ) -> None:
        self._store = store
        self._attempt = attempt
        self.job = self._look(job_id)
        self.offsets: output.Offsets = dict.fromkeys(STREAMS, 0)
        if cursor:
            self.offsets = output.parse_cursor(cursor, self.job.id, self.job.attempt)

    @property
    def cursor(self) -> str:
        """The place as text."""
        return output.cursor_text(self.job.id, self.offsets, self.job.attempt)

    def last(self, lines: int, size: int) -> "list[output.Piece]":
        """Return the last lines of both streams; what follows them is read next."""
        excerpts = output.tail(self.job, lines=lines, size=size)
        self.offsets = {stream: part.end for stream, part in excerpts.items()}
        return output.merged(self.job, excerpts, lines=lines)

    def read(self) -> "Iterator[output.Piece | Gap | Attempt]":
        """Yield what has come; all of it if `job.ended` afterwards."""
        job = self._look(self.job.id)  # before the output: what came before its end is read
        if job.home != self.job.home:
            yield from self._rest()  # of the attempt that is over
            self.job = job
            self.offsets = dict.fromkeys(STREAMS, 0)
            yield Attempt(job.attempt)
        self.job = job
        yield from self._rest()

    def _rest(self) -> "Iterator[output.Piece | Gap]":
        more = True
        while more:
            more = False
            excerpts = output.since(self.job, self.offsets, lines=0, size=_PIECE)
            for stream in STREAMS:
                if skipped := excerpts[stream].skipped:
                    yield Gap(stream, skipped)
                self.offsets[stream] = excerpts[stream].start
                more |= excerpts[stream].more
            for piece in output.merged(self.job, excerpts, lines=0):
                self.offsets[piece.stream] += len(piece.data)
                yield piece

    def _look(self, job_id: str) -> "Record":
        job = self._store.find(job_id)
        if self._attempt is None or self._attempt == job.attempt:
            return job
        from agent_exec.jobs.attempts import attempt_of

        return attempt_of(job, self._attempt)
