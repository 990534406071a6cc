"""Reads jobs that the Rust agent-exec has written: `meta.json` and `state.json` in folders of the store.

They are read, waited for and deleted here, and never changed: their own
program does that. Their logs have the names of ours.
"""

import os
from time import time

from agent_exec.jobs.record import OVER, STATES, Record, stamp, take_facts
from agent_exec.model.errors import InvalidState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

META = "meta.json"
STATE = "state.json"
WRITTEN_BY = "written_by"
"""The fact that a job is one of another program, and which."""

_NAMELESS = 10.0
"""A job that is to run has named its process in this time, or its supervisor is gone."""
_SLACK = 60.0
"""A process that was started so much later than its job has the pid of another one."""
_LETTERS = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_")
_LONGEST = 255


def is_name(text: str) -> bool:
    """True if this can be the name of such a job's folder, or a part of it."""
    return 0 < len(text) <= _LONGEST and _LETTERS.issuperset(text)


def is_foreign(job: Record) -> bool:
    """True if another program has written this job."""
    return WRITTEN_BY in job.facts


def refuse(job: Record) -> None:
    """Raise InvalidState for a job that only another program may change."""
    if is_foreign(job):
        raise InvalidState(
            f"job {job.id} was written by the Rust agent-exec, which alone can change or end it: use that "
            "program; here it can be listed, read, waited for, and deleted once it has ended",
            job_id=job.id,
            state=job.state,
        )


def read(job_id: str, folder: str) -> Record | None:
    """Return a job of the Rust agent-exec; None if there is none, or it makes no sense."""
    meta = take_facts(os.path.join(folder, META))
    if meta is None or _text(_part(meta, "job"), "id") != job_id or not isinstance(meta.get("command"), list):
        return None
    facts = _of_meta(job_id, meta)
    if os.path.isfile(full := os.path.join(folder, "full.log")):
        facts["full_log_path"] = full
    path = os.path.join(folder, STATE)
    if not os.path.lexists(path):
        return Record(job_id, folder, facts, "created")
    said = take_facts(path)
    state = _text(_part(said, "job"), "status")
    if said is None or state not in STATES:
        return Record(job_id, folder, facts, "failed", None, "record_damaged")
    facts |= _of_state(said)
    if state == "exited" and "exit_code" not in facts:
        return Record(job_id, folder, facts, "failed", None, "record_damaged")
    if state in OVER:
        reason = "timeout" if facts["timed_out"] else None
        if state == "failed":
            reason = "supervisor_lost" if "pid" in facts else "spawn_failed"
            facts["message"] = "its command could not be started"
        return Record(job_id, folder, facts, state, None, reason)
    if state == "created":
        return Record(job_id, folder, facts, "created")
    if not _lives(facts) if "pid" in facts else time() - os.lstat(path).st_mtime > _NAMELESS:
        return Record(job_id, folder, facts, "failed", None, "supervisor_lost")
    return Record(job_id, folder, facts, "running")


def changed(job: Record) -> float:
    """Return when such a job last changed, by its own words."""
    from agent_exec.jobs.record import moment

    return moment(job.facts.get("finished_at") or job.facts.get("updated_at") or job.facts["created_at"])


def _of_meta(job_id: str, meta: "dict[str, Any]") -> "dict[str, Any]":
    """Return what was asked of a job, under our names."""
    limit = meta.get("abandon_job_after_ms", meta.get("timeout_ms"))
    grace = meta.get("kill_after_ms")
    facts: dict[str, Any] = {
        "job_id": job_id,
        WRITTEN_BY: "rust",
        "command": [str(word) for word in meta["command"]],
        "created_at": _moment(meta, "created_at") or stamp(0),
        "env_keys": _texts(meta, "env_keys"),
        "tags": _texts(meta, "tags"),
        "timeout_ms": limit if type(limit) is int and limit > 0 else None,
        "kill_after_ms": grace if type(grace) is int else 0,
    }
    if isinstance(meta.get("cwd"), str):
        facts["cwd"] = meta["cwd"]
    return facts


def _of_state(said: "dict[str, Any]") -> "dict[str, Any]":
    """Return how a job stands, under our names; its process is known by a pid alone, which proves nothing."""
    result = _part(said, "result")
    facts: dict[str, Any] = {
        "started_at": _moment(_part(said, "job"), "started_at"),
        "finished_at": _moment(said, "finished_at"),
        "updated_at": _moment(said, "updated_at"),
        "signal": _signal(_text(result, "signal")),
    }
    for name in ("exit_code", "duration_ms"):
        facts[name] = result.get(name) if type(result.get(name)) is int else None
    facts = {name: value for name, value in facts.items() if value is not None}
    facts["output_complete"] = facts["logs_drained"] = said.get("logs_drained", True) is True
    facts["timed_out"] = isinstance(said.get("abandoned_by"), str)
    if type(said.get("pid")) is int and said["pid"] > 0:
        facts |= {"pid": said["pid"], "start": 0, "boot": ""}
    return facts


def _lives(facts: "dict[str, Any]") -> bool:
    """True if the process of a job runs, which is noted; its pid may be that of another process by now."""
    from agent_exec.host import identify, is_alive, moment_of_start
    from agent_exec.jobs.record import moment

    found = identify(facts["pid"])
    if found is None or not is_alive(found):
        return False
    began = moment_of_start(found)
    if began is not None and "started_at" in facts and began > moment(facts["started_at"]) + _SLACK:
        return False
    facts |= {"start": found.start, "boot": found.boot}
    return True


def _part(said: "dict[str, Any] | None", name: str) -> "dict[str, Any]":
    part = None if said is None else said.get(name)
    return part if isinstance(part, dict) else {}


def _text(said: "dict[str, Any]", name: str) -> "Any":
    value = said.get(name)
    return value if isinstance(value, str) else None


def _texts(said: "dict[str, Any]", name: str) -> list[str]:
    value = said.get(name)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _moment(said: "dict[str, Any]", name: str) -> str | None:
    """Return a time of theirs as we write times; None for an invalid one."""
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(said[name])
        return stamp((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _signal(text: str | None) -> str | None:
    """Return the name of a signal, which they write as TERM, SIGTERM or 15."""
    from agent_exec.host import signal_name, signal_number

    number = None if text is None else signal_number(text)
    return text and (f"SIG{text.removeprefix('SIG')}" if number is None else signal_name(number))
