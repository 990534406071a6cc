"""How the answers about jobs are put together: one small function for each group of fields.

Every answer has `schema_version`, `ok` and `type`; one that is not `ok` has
`error`. Fields are added here, never renamed: agents rely on them.
"""

import os
from time import time

from agent_exec.jobs.record import LOCK, stamp
from agent_exec.jobs.store import short
from agent_exec.logs.stream import STREAMS, Log, path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.jobs.output import Excerpt, Piece
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.removal import Removal
    from agent_exec.jobs.store import Store
    from agent_exec.model import errors
    from agent_exec.model.choices import Stream
    from agent_exec.model.errors import AgentExecError, StoreFailed

    Answer = dict[str, Any]
else:
    from agent_exec.model.lazy import Later

    errors = Later("agent_exec.model.errors")  # which most calls do not need

SCHEMA_VERSION = "0.1"
ENCODING = "utf-8-lossy"
_UNKNOWN = {
    "supervisor_lost": "the supervisor of this job was killed, so it is unknown how its command ended",
    "record_damaged": "the record of this job is damaged, so nothing but its output is known",
}
FACTS = (
    *("pid", "supervisor_pid", "timeout_ms", "timeout_revision", "kill_after_ms"),
    *("leftovers", "max_log_bytes"),
    *("after", "at", "missed_by_ms", "needs", "priority"),
)
"""What `status` shows of the record as it stands there."""
_HOLDS = frozenset(("after", "at", "needs"))
"""Facts of a job that holds its command back."""


def answer(kind: str, fields: "Answer") -> "Answer":
    """Return an answer that says yes."""
    return {"schema_version": SCHEMA_VERSION, "ok": True, "type": kind, **fields}


def refusal(error: "AgentExecError", fields: "Answer | None" = None, code: str | None = None) -> "Answer":
    """Return an answer that says no, and why."""
    if code is None:
        code = "internal_error" if error.code == errors.AgentExecError.code else error.code
    told: Answer = {"code": code, "message": error.message, "retryable": error.retryable}
    if error.details:
        told["details"] = dict(error.details)
    return {"schema_version": SCHEMA_VERSION, "ok": False, "type": "error", "error": told, **(fields or {})}


def of_the_system(error: OSError) -> "StoreFailed":
    """Return an error of ours for an unexpected one of the system, with the file, if it names one."""
    where = f" ({error.filename})" if error.filename else ""
    why = f"the system refused: {error.strerror or error}{where}"
    if error.errno in errors.SCARCE:
        why += "; end what is not needed any more, and try again"
    return errors.StoreFailed(why, errno=error.errno)


def head(job: "Record") -> "Answer":
    """Return the ids and the state of a job."""
    return {"job_id": job.id, "short_job_id": short(job.id), **condition(job), **attempt(job), **origin(job)}


def origin(job: "Record") -> "Answer":
    """Return which other program has written a job, if one has."""
    return {"written_by": job.facts["written_by"]} if "written_by" in job.facts else {}


def attempt(job: "Record") -> "Answer":
    """Return the number of an attempt, if it is not the first."""
    return {"attempt": job.attempt} if job.attempt > 1 else {}


def attempts(job: "Record") -> "Answer":
    """Return the attempts at a job that are kept, in short."""
    every = [job]
    if job.attempt > 1:
        from agent_exec.jobs.attempts import all_of

        every = all_of(job)
    fields: Answer = {"attempt": job.attempt, "attempts": [_attempt(one) for one in every]}
    for name in ("repeats", "retrying", "next_attempt_at", "missed_runs"):
        if job.facts.get(name):
            fields[name] = job.facts[name]
    return fields


def deadline(job: "Record") -> "Answer":
    """Return when a running job will be ended, if it will be."""
    facts = job.facts
    moment = facts.get("deadline_ms")
    if job.state != "running" or moment is None:
        return {}
    return {
        "deadline": stamp(moment / 1000),
        "deadline_remaining_ms": max(0, moment - round(time() * 1000)),
        "deadline_configured_by": "update" if "timeout_revision" in facts else "launch",
    }


def _attempt(job: "Record") -> "Answer":
    fields: Answer = {"attempt": job.attempt, "state": job.facts.get("attempt_state", job.state)}
    for name in ("exit_code", "signal", "started_at", "finished_at"):
        if job.facts.get(name) is not None:
            fields[name] = job.facts[name]
    return fields | ({"reason": job.reason} if job.reason else {})


def condition(job: "Record") -> "Answer":
    """Return the state of a job, and how it ended once it has."""
    if not job.ended:
        return {"state": job.state, "supervisor": _supervisor(job), **waiting(job)}
    facts = job.facts
    signal = facts.get("signal")
    fields: Answer = {"state": job.state, "exit_code": facts.get("exit_code"), "signal": signal}
    if signal:
        from agent_exec.host import signal_number

        fields["signal_number"] = signal_number(signal)
    fields["timed_out"] = facts.get("timed_out", False)
    if job.reason:
        fields["reason"] = job.reason
    if job.reason in _UNKNOWN:
        fields["message"] = _UNKNOWN[job.reason]
    elif "message" in facts:
        fields["message"] = facts["message"]
    if "dependency" in facts:
        fields["dependency"] = facts["dependency"]
    fields["finished_at"] = facts.get("finished_at")
    fields["duration_ms"] = facts.get("duration_ms")
    fields["leaked"] = facts.get("leaked", False)
    fields |= {name: facts[name] for name in ("processes_ended", "processes_left", "note") if name in facts}
    fields["output_complete"] = _complete(job)
    return fields


def _supervisor(job: "Record") -> str:
    return "unknown" if "written_by" in job.facts else job.supervisor or "none"


def liveness(job: "Record") -> "Answer":
    """Return whether the output of a job is final, and of one that runs whether it lives and how long."""
    fields: Answer = {"logs_drained": job.ended and job.facts.get("logs_drained", True)}
    if job.state == "running":
        from time import time

        from agent_exec.host import is_alive
        from agent_exec.jobs.record import moment

        fields["process_alive"] = is_alive(job.identity) if job.identity else job.supervisor is not None
        if "started_at" in job.facts:
            fields["elapsed_ms"] = max(0, int((time() - moment(job.facts["started_at"])) * 1000))
    return fields


def waiting(job: "Record") -> "Answer":
    """Return what a job waits for before its command starts, if it was asked to."""
    if job.state != "created" or _HOLDS.isdisjoint(job.facts):
        return {}
    from agent_exec.jobs.waiting import waiting_for

    return {"waiting_for": waiting_for(job)}


def confinement(job: "Record") -> "Answer":
    """Tell of the box that a job is in, if it is in one: which it is, and once it has ended what it did."""
    found = job.facts.get("sandbox")
    return {"sandbox": found} if isinstance(found, dict) else {}


_READINESS = ("ready_when", "ports", "health", "stop_after_idle_ms")


def readiness(job: "Record") -> "Answer":
    """Tell of the readiness, the ports and the health of a job that was started with such terms."""
    if job.facts.keys().isdisjoint(_READINESS):
        return {}
    from agent_exec.faces.readiness import told

    return told(job)


def created(job: "Record", env_vars: "Sequence[str]" = ()) -> "Answer":
    """Return the answer about a job that was made, and not started."""
    fields = head(job) | {"tags": job.facts["tags"]}
    for name in ("timeout_ms", "kill_after_ms"):
        fields[name] = job.facts[name]
    if env_vars:
        fields["env_vars"] = list(env_vars)
    fields["root"] = os.path.dirname(job.folder)
    return answer("create", fields | confinement(job) | paths(job))


def timeout_moved(job: "Record", what: str, kind: str = "timeout") -> "Answer":
    """Return the answer about a job whose deadline was set or cleared."""
    fields = head(job) | {"timeout_ms": job.facts["timeout_ms"]} | deadline(job)
    if kind == "abandon":  # the names of another program of this name
        fields |= {
            "abandon_job_after_ms": job.facts["timeout_ms"],
            "abandon_deadline": fields.get("deadline"),
            "abandon_remaining_ms": fields.get("deadline_remaining_ms"),
            "abandon_revision": job.facts["timeout_revision"],
            "abandon_configured_by": "update",
        }
    return answer(f"{kind}_{what}", fields)


def notifications(job: "Record") -> "Answer":
    """Return the notifications of a job, if it has any."""
    if not job.facts.get("notification"):
        return {}
    from agent_exec.jobs.events.notification import shown

    return {"notification": shown(job.facts["notification"])}


def _complete(job: "Record") -> bool:
    """True if all output is there: the record says so, and the files are as long as it says."""
    sizes = {stream: job.facts.get(f"{stream}_total_bytes", 0) for stream in STREAMS}
    return bool(job.facts.get("output_complete")) and all(
        not size or Log(job.home, stream).total >= size for stream, size in sizes.items()
    )


def entry(job: "Record") -> "Answer":
    """Return a job as a line of a list."""
    fields: Answer = {"job_id": job.id, "short_job_id": short(job.id), "state": job.state}
    if not job.ended:
        fields["supervisor"] = _supervisor(job)
    if job.reason:
        fields["reason"] = job.reason
    fields |= attempt(job) | origin(job)
    for name in ("exit_code", "signal", "command", "cwd", "tags", "created_at", "started_at", "finished_at"):
        if job.facts.get(name) is not None:
            fields[name] = job.facts[name]
    fields["updated_at"] = updated(job)
    return fields | waiting(job)


def updated(job: "Record") -> str:
    """Return when something was last heard of a job."""
    for name in ("finished_at", "updated_at"):
        if name in job.facts:
            return str(job.facts[name])
    times = [Log(job.home, stream).modified for stream in STREAMS]
    try:
        times.append(os.stat(os.path.join(job.folder, LOCK)).st_mtime)
    except OSError:
        pass
    # Never before it began: the clock of the files is coarser than ours.
    return max(stamp(max(times)), str(job.facts.get("started_at") or job.facts.get("created_at", "")))


def paths(job: "Record") -> "Answer":
    """Return where the output is."""
    fields = {f"{stream}_log_path": path(job.home, stream) for stream in STREAMS}
    if "full_log_path" in job.facts:
        fields["full_log_path"] = job.facts["full_log_path"]
    return fields


def tails(job: "Record", excerpts: "dict[Stream, Excerpt]") -> "Answer":
    """Return the ends of both streams, without their last newline, and how much of how much that is."""
    fields: Answer = {f"{stream}_tail": _text(excerpt.lines) for stream, excerpt in excerpts.items()}
    return fields | measures(job, excerpts)


def measures(job: "Record", excerpts: "dict[Stream, Excerpt]") -> "Answer":
    """Return how much of how much is shown; never more than has come, for bytes are counted as they came."""
    fields: Answer = {
        "truncated": any(excerpt.cut or excerpt.more for excerpt in excerpts.values()),
        "encoding": ENCODING,
    }
    for stream, excerpt in excerpts.items():
        fields[f"{stream}_observed_bytes"] = _total(job, stream, excerpt.total)
        fields[f"{stream}_included_bytes"] = len(excerpt.lines)
    return fields


def texts(job: "Record", excerpts: "dict[Stream, Excerpt]", *, shown: bool = True) -> "Answer":
    """Return both streams as they are, with the ranges they are of, and the cursor to go on from."""
    from agent_exec.jobs.output import cursor_text

    fields: Answer = {}
    for stream, excerpt in excerpts.items():
        if shown:
            fields[stream] = excerpt.text
        fields[f"{stream}_range"] = [excerpt.start, excerpt.end]
        fields |= amounts(job, stream, excerpt.total, excerpt.kept)
        if excerpt.skipped:
            fields[f"{stream}_skipped_bytes"] = excerpt.skipped
    fields["encoding"] = ENCODING
    fields["cursor"] = cursor_text(
        job.id, {stream: excerpt.end for stream, excerpt in excerpts.items()}, job.attempt
    )
    return fields


def amounts(job: "Record", stream: "Stream", seen: int, kept: int) -> "Answer":
    """Return how much of a stream has come, and what of it is not kept."""
    total = _total(job, stream, seen)
    fields: Answer = {f"{stream}_total_bytes": total}
    if total > kept:
        fields[f"{stream}_dropped_bytes"] = total - kept
    return fields


def _total(job: "Record", stream: "Stream", seen: int) -> int:
    """Return how much of a stream has come: the record knows when it is over, the log until then."""
    return max(seen, int(job.facts.get(f"{stream}_total_bytes", 0)))


def merged(pieces: "Sequence[Piece]", *, final: bool) -> "list[Answer]":
    """Return pieces of both streams as text, characters whole."""
    from agent_exec.model.output import Text

    decoders = {stream: Text() for stream in STREAMS}
    told: list[Answer] = []
    for piece in pieces:
        text = decoders[piece.stream].feed(piece.data)
        moment = None if piece.moment is None else stamp(piece.moment)
        told.append({"time": moment, "stream": piece.stream, "text": text})
    for stream, decoder in decoders.items() if final else ():
        told.append({"time": None, "stream": stream, "text": decoder.finish()})
    return [entry for entry in told if entry["text"]]


def removals(
    store: "Store", done: "Sequence[Removal]", *, dry_run: bool, cwd: str | None = None, elsewhere: int = 0
) -> "Answer":
    """Return what became of the jobs that were to be deleted, and how many are of other folders."""
    fields: Answer = {"root": store.root, "dry_run": dry_run}
    if cwd is not None:
        fields["cwd_scope"] = cwd
    actions = [removal.action for removal in done]
    fields["deleted"] = actions.count("deleted")
    fields["skipped"] = actions.count("skipped")
    fields["out_of_scope"] = elsewhere
    fields["failed"] = actions.count("failed")
    fields["jobs"] = [
        {"job_id": one.job.id, "state": one.job.state, "action": one.action, "reason": one.reason}
        for one in done
    ]
    return answer("delete", fields)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
