"""Lists jobs, the newest first, reading no more records than it has to."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store

_LIVE = frozenset(("created", "running"))


class Listing:
    """The jobs that were asked for; `truncated` if there are more, `skipped` for folders without a record."""

    __slots__ = ("jobs", "skipped", "truncated")

    def __init__(self) -> None:
        self.jobs: list[Record] = []
        self.truncated = False
        self.skipped = 0


def list_jobs(
    store: "Store",
    *,
    cwd: str | None = None,
    states: "Collection[str]" = (),
    tags: "Sequence[str]" = (),
    limit: int = 50,
    within: "Callable[[str], bool] | None" = None,
) -> Listing:
    """Return the newest jobs of a working directory, in one of the states, with all the tags; 0 is no limit.

    `within` says which working directories count.
    """
    listing = Listing()
    if states and _LIVE.issuperset(states):
        candidates = store.live_ids()
    elif cwd is not None:
        candidates = store.ids_of(cwd)
    else:
        candidates = store.ids()
    for job_id in candidates:
        job = store.read(job_id)
        if job is None:
            listing.skipped += os.path.isdir(store.folder(job_id))
            continue
        if (
            (cwd is not None and job.facts.get("cwd") != cwd)
            or (states and job.state not in states)
            or (within is not None and not within(str(job.facts.get("cwd"))))
            or not all(_has(job.facts.get("tags", ()), pattern) for pattern in tags)
        ):
            continue
        if limit and len(listing.jobs) == limit:
            listing.truncated = True
            break
        listing.jobs.append(job)
    return listing


def _has(tags: "Sequence[str]", pattern: str) -> bool:
    """True if one of the tags is this one, or for `name.*`, that name or below it."""
    if pattern.endswith(".*"):
        name = pattern[:-2]
        return any(tag == name or tag.startswith(f"{name}.") for tag in tags)
    return pattern in tags
