"""Views of the output of a job: each stream by its failures, its ends, its matches or a range."""

from time import monotonic

from agent_exec.jobs.output import Excerpt, following, parse_cursor
from agent_exec.logs.stream import STREAMS, Log
from agent_exec.views.reader import Source
from agent_exec.views.show import Shown, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from agent_exec.jobs.record import Record
    from agent_exec.model.choices import Stream
    from agent_exec.views.wanted import View

_UNKNOWN = -1
"""For a job that has ended without an exit code, which is not a success."""


def source_of(
    job: "Record", stream: "Stream", start: int, end: int, secrets: "Iterable[bytes]" = ()
) -> Source:
    """Return a range of a stream, with secrets masked."""

    def read(start: int, most: int) -> tuple[int, bytes]:
        part = following(job, stream, start, size=most)
        return part.start, part.data

    return Source(read, start, end, secrets)


def view_of(
    job: "Record",
    stream: "Stream",
    view: "View",
    *,
    limit: int,
    more: str = "",
    secrets: "Iterable[bytes]" = (),
) -> Shown:
    """Return a view of a stream in at most so many bytes; `more` is the call that shows what is left out."""
    total = Log(job.home, stream).total
    start = min(parse_cursor(view.cursor, job.id, job.attempt)[stream], total) if view.kind == "since" else 0
    code = job.facts.get("exit_code") if job.ended else None
    return show(
        source_of(job, stream, start, total, secrets),
        view,
        limit=limit,
        exit_code=_UNKNOWN if job.ended and code is None else code,
        more=more,
        clock=monotonic,
    )


def excerpts_of(
    job: "Record", text: str, *, size: int, secrets: "Iterable[bytes]" = ()
) -> "tuple[dict[Stream, Excerpt], dict[str, Any]]":
    """Return each stream as the view that a text names shows it, and what it keeps and leaves out."""
    from agent_exec.views.wanted import parse

    view = parse(text)
    excerpts: dict[Stream, Excerpt] = {}
    told: dict[str, Any] = {"name": text}
    for stream in STREAMS:
        log = Log(job.home, stream)
        shown = view_of(job, stream, view, limit=size, secrets=secrets)
        kept = sum(end - start for start, end in shown.kept)
        excerpts[stream] = Excerpt(shown.text.encode(), 0, log, cut=kept < log.total)
        excerpts[stream].end = log.total
        told[f"{stream}_kept"] = [list(span) for span in shown.kept]
        told[f"{stream}_omitted_bytes"] = shown.omitted_bytes
        told[f"{stream}_omitted_lines"] = shown.omitted_lines
    return excerpts, told
