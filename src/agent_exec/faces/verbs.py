"""The contract of durable jobs: what each verb of `agent-exec` does, and the one object it answers with."""

import os
from time import monotonic

from agent_exec.faces import answers
from agent_exec.faces.defaults import (
    LIST_LIMIT,
    MAX_BYTES,
    OLDER_THAN,
    OLDER_THAN_TEXT,
    SNAPSHOT_CAP,
    TAIL_LINES,
    WAIT,
)
from agent_exec.jobs.ids import short
from agent_exec.logs.stream import STREAMS, Log
from agent_exec.model.errors import AgentExecError, InvalidArgument, LaunchFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from agent_exec.jobs.excerpt import Excerpt
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.start import Started
    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.choices import Stream

    Answer = dict[str, Any]


def run(
    store: "Store",
    job: "Started",
    *,
    observe: float | None = SNAPSHOT_CAP,
    lines: int = TAIL_LINES,
    size: int = MAX_BYTES,
    env_vars: "Sequence[str]" = (),
    cancel: "Cancel | None" = None,
    began: float | None = None,
    on_begin: "Callable[[str], object] | None" = None,
) -> "Answer":
    """Watch a job that was ordered just now: until its end, or for so many seconds; None is for ever.

    `on_begin` is told its id as soon as there is one.
    """
    begin = monotonic() if began is None else began
    job.begin()
    if on_begin is not None:
        on_begin(job.id)
    waited = monotonic()
    try:
        if observe != 0:
            job.wait(observe, cancel)
        found = store.find(job.id)
        if job.hung_up and observe != 0 and not found.ended:
            from agent_exec.jobs.wait import wait_for_end  # the supervisor is lost, and its command is not

            left = None if observe is None else observe - (monotonic() - waited)
            found = wait_for_end(store, found, left, cancel)
        waited = 0.0 if observe == 0 else monotonic() - waited
    finally:
        job.close()
    if observe is not None:
        waited = min(waited, observe)  # the cap is literal, however late we are woken
    fields: Answer = {"job_id": found.id, "short_job_id": short(found.id), **answers.condition(found)}
    fields["tags"] = found.facts.get("tags", [])
    for name in ("timeout_ms", "kill_after_ms"):
        fields[name] = found.facts.get(name)
    if env_vars:
        fields["env_vars"] = list(env_vars)
    fields |= answers.confinement(found)
    fields |= answers.paths(found)
    if observe != 0:
        excerpts = _tail(found, lines, size)
        fields["snapshot"] = answers.tails(found, excerpts)
        fields |= answers.texts(found, excerpts)
    if cancel is not None and cancel.is_set():
        fields["interrupted"] = True
    fields["waited_ms"] = int(waited * 1000)
    fields["elapsed_ms"] = int((monotonic() - begin) * 1000)
    if found.reason == "spawn_failed":
        return _refuse_spawn(found, fields)
    return answers.answer("run", fields)


def _refuse_spawn(job: "Record", fields: "Answer") -> "Answer":
    """Return the answer for a command that could not be started: the job is there, and says why."""
    told = job.facts.get("message", "")
    code = job.facts.get("code", LaunchFailed.code)
    error = LaunchFailed(told) if code == LaunchFailed.code else AgentExecError(told)
    return answers.refusal(error, fields, code)


def status(store: "Store", job_id: str) -> "Answer":
    """Tell all about one job but its output."""
    job = store.find(job_id)
    facts = job.facts
    fields: Answer = {"job_id": job.id, "short_job_id": short(job.id), **answers.condition(job)}
    for name in ("command", "cwd", "tags", "env_keys", "created_at", "started_at"):
        if name in facts:
            fields[name] = facts[name]
    fields["updated_at"] = answers.updated(job)
    for name in ("pid", "supervisor_pid", "timeout_ms", "kill_after_ms", "leftovers", "max_log_bytes"):
        if name in facts:
            fields[name] = facts[name]
    fields |= answers.confinement(job)
    for stream in STREAMS:
        log = Log(job.folder, stream)
        fields |= answers.amounts(job, stream, log.total, log.kept)
    fields |= answers.paths(job)
    return answers.answer("status", fields)


def tail(
    store: "Store",
    job_id: str,
    *,
    lines: int | None = None,
    size: int = MAX_BYTES,
    cursor: str | None = None,
    merged: bool = False,
    grep: str | None = None,
) -> "Answer":
    """Return the end of a job's output, at most 50 lines of it, or all that came since a cursor."""
    from agent_exec.jobs import tail as tailing

    job = store.find(job_id)
    place = None if cursor is None else tailing.Cursor.parse(cursor, job.id)
    fields: Answer = {"job_id": job.id, "state": job.state}
    if lines is None:
        lines = TAIL_LINES if place is None else 0
    if grep is not None:
        from agent_exec.jobs.search import search

        found = search(job, grep, lines=lines, size=size, cursor=place)
        excerpts = {stream: excerpt for stream, (excerpt, _) in found.items()}
        fields["grep"] = {"pattern": grep} | {f"{s}_matches": count for s, (_, count) in found.items()}
    elif place is not None:
        excerpts = tailing.since(job, place, lines=lines, size=size)
    else:
        excerpts = tailing.tail(job, lines=lines, size=size)
    if place is not None:
        fields["more"] = any(excerpt.more for excerpt in excerpts.values())
    if merged and grep is None:
        pieces = tailing.merged(job, excerpts, lines=lines if place is None else 0)
        fields["merged"] = answers.merged(pieces, final=job.ended)
        fields |= answers.measures(job, excerpts)
    else:
        fields |= answers.tails(job, excerpts)
    fields |= answers.texts(job, excerpts, shown=not (merged or grep is not None))
    fields |= answers.paths(job)
    return answers.answer("tail", fields)


def wait(
    store: "Store",
    job_id: str,
    *,
    seconds: float | None = WAIT,
    lines: int = TAIL_LINES,
    size: int = MAX_BYTES,
    cancel: "Cancel | None" = None,
) -> "Answer":
    """Wait for the end of a job, for so many seconds or for ever, and return its output."""
    from agent_exec.jobs.wait import wait_for_end

    begin = monotonic()
    job = wait_for_end(store, store.find(job_id), seconds, cancel)
    waited = monotonic() - begin
    excerpts = _tail(job, lines, size)
    fields: Answer = {"job_id": job.id, "short_job_id": short(job.id), **answers.condition(job)}
    fields |= answers.tails(job, excerpts)
    fields |= answers.texts(job, excerpts)
    fields["updated_at"] = answers.updated(job)
    fields |= answers.confinement(job)
    fields |= answers.paths(job)
    if cancel is not None and cancel.is_set():
        fields["interrupted"] = True
    fields["waited_ms"] = int(waited * 1000)
    return answers.answer("wait", fields)


def kill(
    store: "Store",
    job_id: str,
    *,
    signal: str = "TERM",
    wait: bool = True,
    cancel: "Cancel | None" = None,
) -> "Answer":
    """End a job, or send a signal to all of its processes."""
    from agent_exec.host import signal_name, signal_number
    from agent_exec.jobs.kill import force
    from agent_exec.jobs.kill import kill as end

    job = store.find(job_id)
    number = signal_number(signal)
    if number is None and signal_number("SIGHUP") is None:
        number = force()  # a system without signals: all that it does not know is the force
    if number is None:
        raise InvalidArgument(f"no signal {signal!r} on this system; use TERM, INT, KILL or another's name")
    begin = monotonic()
    over = job.ended
    job = end(store, job, number, wait=wait, cancel=cancel)
    observed = 0 if over else int((monotonic() - begin) * 1000)
    condition = answers.condition(job)
    if "signal" in condition:
        condition["terminated_signal"] = condition.pop("signal")
        condition.pop("signal_number", None)
    fields: Answer = {
        "job_id": job.id,
        "signal": signal_name(number),
        "signal_number": number,
        **condition,
        "observed_within_ms": observed,
    }
    if cancel is not None and cancel.is_set():
        fields["interrupted"] = True
    return answers.answer("kill", fields)


def list_(
    store: "Store",
    *,
    cwd: str | None = None,
    states: "Sequence[str]" = (),
    tags: "Sequence[str]" = (),
    limit: int = LIST_LIMIT,
    within: "Callable[[str], bool] | None" = None,
) -> "Answer":
    """Tell of the newest jobs, of one working directory or of all (None).

    `within` says of which others, by their working directories.
    """
    from agent_exec.jobs.list import list_jobs
    from agent_exec.jobs.store import place_of

    scope = None if cwd is None else place_of(cwd)
    listing = list_jobs(store, cwd=scope, states=states, tags=tags, limit=limit, within=within)
    fields: Answer = {"root": store.root}
    if scope is not None:
        fields["cwd_scope"] = scope
    fields["jobs"] = [answers.entry(job) for job in listing.jobs]
    fields["truncated"] = listing.truncated
    fields["skipped"] = listing.skipped
    return answers.answer("list", fields)


def delete(store: "Store", job_id: str, *, dry_run: bool = False) -> "Answer":
    """Take one job away."""
    from agent_exec.jobs.delete import delete as remove

    job = store.find(job_id)
    return answers.removals(store, [remove(store, job, dry_run=dry_run)], dry_run=dry_run)


def delete_all(store: "Store", cwd: str, *, dry_run: bool = False) -> "Answer":
    """Take away all jobs of a working directory that have ended."""
    from agent_exec.jobs.delete import delete_all as remove
    from agent_exec.jobs.store import place_of

    scope = place_of(cwd)
    return answers.removals(store, remove(store, scope, dry_run=dry_run), dry_run=dry_run, cwd=scope)


def gc(
    store: "Store",
    *,
    older_than: float = OLDER_THAN,
    given: str | None = None,
    max_jobs: int | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
) -> "Answer":
    """Bound the store by age, number and size."""
    from agent_exec.jobs.gc import collect

    done = collect(store, older_than=older_than, max_jobs=max_jobs, max_bytes=max_bytes, dry_run=dry_run)
    fields: Answer = {
        "root": store.root,
        "dry_run": dry_run,
        "older_than": given or OLDER_THAN_TEXT,
        "older_than_source": "default" if given is None else "flag",
        "max_jobs": max_jobs,
        "max_bytes": max_bytes,
        "scanned_dirs": done.scanned,
        "candidate_count": done.candidates,
        "deleted": done.deleted,
        "out_of_scope": done.kept,
        "failed": done.failed,
        "skipped": done.kept + done.failed,
        "freed_bytes": done.freed,
    }
    return answers.answer("gc", fields)


def schema() -> "Answer":
    """Return the JSON Schema of every answer."""
    from agent_exec.model.jsonline import load

    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs.schema.json")
    with open(file, encoding="utf-8") as text:
        found = load(text.read())
    return answers.answer(
        "schema",
        {
            "schema_format": "json-schema-draft-07",
            "schema": found,
            "generated_at": found["$comment"],
        },
    )


def exit_code(told: "Answer") -> int:
    """Return the exit code that a job's answer stands for, where the caller asks for it.

    The job's own; 128 + n for signal n; 124 if it has not ended, 125 if
    nobody knows how it ended, 127 if it never ran.
    """
    if told.get("state") not in ("exited", "killed", "failed"):
        return 124
    if told.get("exit_code") is not None:
        return int(told["exit_code"])
    if told.get("signal_number"):
        return 128 + int(told["signal_number"])
    return 125 if told.get("reason") in ("supervisor_lost", "sandbox_lost") else 127


def _tail(job: "Record", lines: int, size: int) -> "dict[Stream, Excerpt]":
    from agent_exec.jobs.tail import tail as take

    return take(job, lines=lines, size=size)
