"""The events of a store's jobs, as an answer of the program and one by one."""

from agent_exec.faces.answers import answer
from agent_exec.jobs.events.reading import NOW, START, EventReader
from agent_exec.jobs.store import is_id
from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from agent_exec.faces.verbs import Answer, Jobs
    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel

LIMIT = 100
KINDS = (
    "created",
    "waiting",
    "started",
    "ready",
    "output-match",
    "healthy",
    "unhealthy",
    "retrying",
    "restarting",
    "ended",
    "lost",
)
"""The kinds of events that can be asked for; `gap` is always shown."""


def events(
    self: "Jobs",
    *,
    since: str | None = None,
    job: str | None = None,
    kinds: "Collection[str]" = (),
    limit: int = LIMIT,
) -> "Answer":
    """Return the events since a cursor, the oldest first, and the cursor to go on from; 0 is no limit."""
    reader = _reader(self.store, since or START, job, kinds)
    found: list[Answer] = []
    cursor, more = reader.cursor, False
    for one in reader.read():
        if limit and len(found) == limit:
            more = True
            break
        found.append(one)
        cursor = reader.cursor
    fields = {"root": self.root, "events": found, "cursor": cursor if more else reader.cursor, "more": more}
    return answer("events", fields)


def follow_events(
    self: "Jobs",
    *,
    since: str | None = None,
    job: str | None = None,
    kinds: "Collection[str]" = (),
    limit: int = 0,
    seconds: float | None = None,
    cancel: "Cancel | None" = None,
) -> "Iterator[Answer]":
    """Return each event as it happens, from now on or since a cursor: so many, so long, or without limit.

    Each has `cursor`, the place to go on from after it.
    """
    from agent_exec.jobs.events.following import follow

    reader = _reader(self.store, since or NOW, job, kinds)

    def found() -> "Iterator[Answer]":
        left = limit
        for one in follow(self.store, reader, seconds, cancel):
            yield {**one, "cursor": reader.cursor}
            left -= 1
            if left == 0:
                return

    return found()


def _reader(store: "Store", since: str, job: str | None, kinds: "Collection[str]") -> EventReader:
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidArgument(f"there is no kind of event {kind!r}; there are {', '.join(KINDS)}")
    if job is not None:
        job = job.upper() if is_id(job.upper()) else store.find(job).id  # the log knows deleted jobs, too
    return EventReader(store, since, job=job, kinds=kinds)
