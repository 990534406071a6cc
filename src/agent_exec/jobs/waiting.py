"""What a job may wait for before it starts: as it is asked for, and as it stands."""

import os
from time import time

from agent_exec.jobs.foreign import refuse
from agent_exec.jobs.record import stamp
from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from heapq import heappop, heappush
    from typing import Any

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store
else:
    from _heapq import heappop, heappush

UNTIL = ("ok", "any", "ready")
"""What to wait for of another job: its success, any end, or that it is ready."""

_PRIORITIES = 1000
_AT = "use 2026-01-31T18:30:00Z, 18:30 for its next time, or +10m"


def waiting_terms(
    store: "Store",
    *,
    after: "str | Sequence[str]" = (),
    needs: "str | Sequence[str] | Mapping[str, int]" = (),
    priority: int | str | None = None,
    at: "str | float | None" = None,
) -> "dict[str, Any]":
    """Return the terms of an order for what a job waits for; raise for what cannot be waited for."""
    terms: dict[str, Any] = {}
    if after:
        terms["after"] = _after(store, [after] if isinstance(after, str) else after)
    if at is not None:
        terms["at"] = moment(at) if isinstance(at, str) else float(at)
    if needs:
        from agent_exec.places import groups_folder

        folder = groups_folder()  # by the environment of the caller, which a supervisor need not have
        terms["needs"] = [_needs(folder, needs), _priority(priority or 0), folder]
    elif priority is not None:
        raise InvalidArgument("a priority sorts jobs that need slots of the same group; say which with needs")
    return terms


def _after(store: "Store", given: "Sequence[str]") -> list[list[str]]:
    """Return the ids of jobs with what to wait for, each job once."""
    found: dict[str, str] = {}
    for text in given:
        name, colon, until = str(text).partition(":")
        if colon and until not in UNTIL:
            raise InvalidArgument(
                f"{text!r} waits for nothing that a job does; write JOB:ok, JOB:any or JOB:ready"
            )
        job = store.find(name)
        if not job.ended:
            refuse(job)  # it wakes no process of ours
        if found.setdefault(job.id, until or "ok") != (until or "ok"):
            raise InvalidArgument(f"job {job.id} is named twice, as {found[job.id]} and as {until or 'ok'}")
    return [[job_id, until] for job_id, until in found.items()]


def _needs(folder: str, given: "str | Sequence[str] | Mapping[str, int]") -> dict[str, int]:
    from agent_exec.jobs.groups import check_needs, parse_needs, read_slots

    if isinstance(given, str):
        text = given
    elif isinstance(given, dict):
        text = ",".join(f"{name}:{count}" for name, count in given.items())
    else:
        text = ",".join(given)
    needs = parse_needs(text)
    check_needs(read_slots(folder), needs)
    return needs


def _priority(given: int | str) -> int:
    try:
        number = int(given)
    except ValueError:
        number = _PRIORITIES + 1
    if abs(number) > _PRIORITIES:
        raise InvalidArgument(
            f"a priority is a whole number from -{_PRIORITIES} to {_PRIORITIES}; got {given!r}"
        )
    return number


def moment(text: str, now: float | None = None) -> float:
    """Return the moment that a text names, in seconds since 1970: a time, the next time of day, or a span."""
    from datetime import datetime, timedelta

    now = time() if now is None else now
    if text.startswith("+"):
        from agent_exec.model.command import seconds

        return now + seconds(text[1:], bare="s")
    today = datetime.fromtimestamp(now)  # a time of day is a local one
    try:
        if "-" in text[1:]:
            return datetime.fromisoformat(text).timestamp()
        hour, minute, *rest = map(int, text.split(":"))
        second = rest.pop() if rest else 0
        if rest:
            raise ValueError(text)
        named = today.replace(hour=hour, minute=minute, second=second, microsecond=0)
    except (ValueError, OverflowError):
        raise InvalidArgument(f"{text!r} is not a time to start at; {_AT}") from None
    return (named if named.timestamp() > now else named + timedelta(days=1)).timestamp()


def waiting_for(job: "Record") -> "list[dict[str, Any]]":
    """Return what a job that has not started still waits for."""
    facts = job.facts
    found: list[dict[str, Any]] = []
    if "after" in facts:
        from agent_exec.jobs.duties.after import state_of, verdict
        from agent_exec.jobs.store import Store

        store = Store(os.path.dirname(job.folder))
        for one in facts["after"]:
            other = store.read(one["job_id"])
            if verdict(other, one["until"]) is not True:
                found.append({"kind": "after", **one, "state": state_of(other)})
    if "at" in facts and facts["at"] > stamp(time()):
        found.append({"kind": "at", "time": facts["at"]})
    if "needs" in facts:
        found += [{"kind": "needs", "group": name, "slots": count} for name, count in facts["needs"].items()]
    return found


def planned(store: "Store") -> "list[Record]":
    """Return the jobs that wait before they start, in the order in which they would by what is known now.

    A job comes after those that it waits for; among the others, the earliest
    moment, the greatest priority and the oldest come first.
    """
    jobs = {
        job.id: job
        for job in map(store.read, store.live_ids())
        if job is not None and job.state == "created" and job.facts.keys() & {"after", "at", "needs"}
    }
    now = stamp(time())
    behind: dict[str, list[str]] = {}
    left: dict[str, int] = {}
    for job in jobs.values():
        others = [one["job_id"] for one in job.facts.get("after", ()) if one["job_id"] in jobs]
        left[job.id] = len(others)
        for other in others:
            behind.setdefault(other, []).append(job.id)
    line: list[tuple[str, int, str]] = []

    def enter(job: "Record") -> None:
        at = str(job.facts.get("at", ""))
        heappush(line, (at if at > now else "", -job.facts.get("priority", 0), job.id))

    for job in jobs.values():
        if not left[job.id]:
            enter(job)
    found = []
    while line:
        job_id = heappop(line)[2]
        found.append(jobs[job_id])
        for other in behind.get(job_id, ()):
            left[other] -= 1
            if not left[other]:
                enter(jobs[other])
    return found
