"""Moves the deadline of a job that runs; its supervisor decides by its own clock when it is over."""

from time import time

from agent_exec.jobs.amend import amend
from agent_exec.jobs.restart import profile_of
from agent_exec.jobs.start import TIMEOUT
from agent_exec.model.errors import InvalidArgument, InvalidState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store


def set_deadline(store: "Store", job: "Record", seconds: float | None) -> "Record":
    """End a running job so many seconds from now, None is never; return it with its new deadline."""
    if seconds is not None and not seconds > 0:
        raise InvalidArgument(f"a deadline lies ahead: give more than 0 seconds; got {seconds!r}")
    revision = 0

    def change(found: "Record") -> "dict[str, Any]":
        nonlocal revision
        if found.state != "running" or found.supervisor != "alive":
            raise _too_late(found)
        facts = found.facts
        now = time()
        gone = 0.0
        if "started_ms" in facts:
            gone = now - facts["started_ms"] / 1000
        profile = profile_of(found) if "sandbox" in facts else None
        wall = None if profile is None else profile.limits.wall
        if wall is not None and (seconds is None or gone + seconds > wall):
            raise InvalidArgument(
                f"the sandbox of job {found.id} ends it after {wall:g} s; no deadline lies beyond that",
                job_id=found.id,
            )
        revision = facts.get("timeout_revision", 0) + 1
        return {
            TIMEOUT: None if seconds is None else round(seconds * 1000),
            "timeout_ms": None if seconds is None else round((gone + seconds) * 1000),
            "launch_timeout_ms": facts.get("launch_timeout_ms", facts["timeout_ms"]),
            "deadline_ms": None if seconds is None else round((now + seconds) * 1000),
            "timeout_revision": revision,
        }

    found = amend(store, job, change)
    if found.ended or found.facts.get("timeout_revision") != revision:
        raise _too_late(found)
    return found


def _too_late(job: "Record") -> InvalidState:
    what = "is being ended" if job.state == "running" else f"is {job.state}"
    return InvalidState(
        f"job {job.id} {what}, and only a running job has a deadline that can be moved",
        job_id=job.id,
        state=job.state,
    )
