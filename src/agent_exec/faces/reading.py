"""Reads of a job for other programs of ours: ranges of its output, its newest line, an awaitable end."""

from agent_exec.faces import defaults
from agent_exec.logs.stream import STREAMS, Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.faces.verbs import Answer, Jobs
    from agent_exec.jobs.output import Excerpt
    from agent_exec.model.choices import Stream
    from agent_exec.views.wanted import View


def read(self: "Jobs", job_id: str, stream: "Stream", start: int | None, size: int) -> "Excerpt":
    """Return some of a stream from an offset on, whole characters; None gives its end."""
    from agent_exec.jobs.output import following, last

    job = self.store.find(job_id)
    if start is None:
        return last(job, stream, size=size)
    return following(job, stream, start, size=size)


def view(
    self: "Jobs",
    job_id: str,
    stream: "Stream",
    view: "View",
    *,
    more: str = "",
    secrets: "Sequence[bytes]" = (),
) -> str:
    """Return a view of a stream; `more` is the call that shows what it leaves out."""
    from agent_exec.jobs.viewing import view_of

    job = self.store.find(job_id)
    return view_of(job, stream, view, limit=defaults.VIEWED, more=more, secrets=secrets).text


def extent(self: "Jobs", job_id: str, stream: "Stream") -> "tuple[int, bool]":
    """Return how many bytes have come of a stream, and whether no more will."""
    job = self.store.find(job_id)
    return Log(job.home, stream).total, job.ended


def printed(self: "Jobs", job_id: str) -> "tuple[int, str]":
    """Return how many bytes a job has printed, and its newest line."""
    from agent_exec.jobs.output import last_line

    folder = self.store.find(job_id).home
    logs = {stream: Log(folder, stream) for stream in STREAMS}
    newest = max(STREAMS, key=lambda stream: logs[stream].modified)
    return sum(log.total for log in logs.values()), last_line(folder, newest)


async def await_end(
    self: "Jobs",
    job_id: str,
    *,
    seconds: float | None = defaults.WAIT,
    tail_lines: int = defaults.TAIL_LINES,
    max_bytes: int = defaults.MAX_BYTES,
) -> "Answer":
    """Await the end of a job, as `wait` does, under asyncio or trio.

    A cancelled task ends the wait and leaves the job alone.
    """
    from agent_exec.engine.awaiting import in_thread
    from agent_exec.model.cancel import Cancel

    cancel = Cancel()

    def wait() -> "Answer":
        return self.wait(job_id, seconds=seconds, tail_lines=tail_lines, max_bytes=max_bytes, cancel=cancel)

    return await in_thread(wait, cancel.set)
