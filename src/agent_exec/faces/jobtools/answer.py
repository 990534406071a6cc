"""The answers about jobs as a model reads them, made from the objects that programs get."""

import os
from shlex import join
from time import time

from agent_exec.jobs.record import OVER
from agent_exec.jobs.store import short
from agent_exec.logs.stream import STREAMS
from agent_exec.model.visible import visible
from agent_exec.tools.tool import answer_text, ending, seconds, tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Answer = dict[str, Any]

_COMMAND = 40
"""How many characters of a command a line of a list shows."""
_LOST = ("supervisor_lost", "sandbox_lost")


def text_of(answer: "Answer", root: str) -> str:
    """Return an answer of any tool as a text; folders are shown relative to `root`."""
    kind = answer["type"]
    if kind == "error":
        return f"{answer['error']['code']}: {answer['error']['message']}"
    if kind == "list":
        return _list(answer, root)
    if kind == "status":
        return _status(answer, root)
    return answer_text(
        _headline(answer),
        answer.get("stdout", ""),
        answer.get("stderr", ""),
        notes=_notes(answer),
        left_out=_left_out(answer),
    )


def _headline(answer: "Answer") -> str:
    """Return the first line: the job, its state, and how long it ran or the call has waited."""
    said = f"job {short(answer['job_id'])} {_state(answer)}"
    if answer["state"] in OVER:
        return f"{said}, {seconds(answer['duration_ms'])}" if answer.get("duration_ms") is not None else said
    return f"{said}, {seconds(answer['waited_ms'])}" if "waited_ms" in answer else said


def _state(job: "Answer") -> str:
    """Return the state of a job in a few words: `runs`, `exit 3`, `killed by SIGTERM`."""
    state = job["state"]
    if state not in OVER:
        return "runs" if state == "running" else "is about to start"
    if state == "failed" and job.get("exit_code") is None and not job.get("signal"):
        return "was lost" if job.get("reason") in _LOST else "failed to start"
    signal = job.get("terminated_signal" if job.get("type") == "kill" else "signal")
    return ending(job.get("exit_code"), signal, timed_out=bool(job.get("timed_out")))


def _readiness(answer: "Answer") -> "Iterator[str]":
    """Yield which conditions hold, with the proof, and which do not, with the reason."""
    for one in answer.get("met", ()):
        proof = one.get("line") or one.get("address") or one.get("path") or ""
        places = [f"{at['address']} port {at['port']} ({at['family']})" for at in one.get("listening", ())]
        yield f"[ready] {visible(one['for'])}: {visible(', '.join(places) or proof)}".rstrip(": ")
    for one in answer.get("unmet", ()):
        yield f"[not ready] {visible(one['for'])}: {visible(one.get('message', ''))}".rstrip(": ")


def _notes(answer: "Answer") -> "Iterator[str]":
    yield answer.get("note", "")
    yield from _readiness(answer)
    yield tally(answer.get("processes_ended", 0), answer.get("processes_left", 0))
    yield answer.get("message", "")
    box = answer.get("sandbox")
    if isinstance(box, dict):
        yield box.get("message", "")
        if hit := [one for one in box.get("limits_hit", ()) if one != "wall"]:
            yield f"[sandbox] limits reached: {', '.join(hit)}"


def _left_out(answer: "Answer") -> "Iterator[str]":
    """Yield what the answer does not show, and the call that shows it."""
    job_id = short(answer["job_id"])
    for stream in STREAMS:
        start, end = answer.get(f"{stream}_range", (0, 0))
        total = answer.get(f"{stream}_total_bytes", 0)
        if start > 0 and "more" not in answer:
            call = f"tail job_id={job_id} lines=0 max_bytes={total}"
            yield f"bytes 0 to {start} of {total} of {stream} are left out; {call} shows them"
        elif end < total and "more" in answer:
            yield f"{stream} has {total - end} bytes more; tail job_id={job_id} cursor={answer['cursor']}"
        if dropped := answer.get(f"{stream}_dropped_bytes"):
            yield f"{dropped} bytes of {stream} were not kept"


def _list(answer: "Answer", root: str) -> str:
    lines = [_line(job, root) for job in answer["jobs"]]
    if answer["truncated"]:
        lines.append("[older jobs are left out; list limit=0 shows them]")
    if answer["skipped"]:
        lines.append(f"[{answer['skipped']} records of jobs could not be read]")
    return "\n".join(lines) or "no jobs"


def _line(job: "Answer", root: str) -> str:
    """Return a job of a list: id, state, age, command, and its folder and tags if there are any."""
    command = visible(join(job.get("command", ())))
    shown = command if len(command) <= _COMMAND else f"{command[:_COMMAND]}…"
    where = f" in {visible(os.path.relpath(job['cwd'], root))}" if job.get("cwd", root) != root else ""
    tags = f" #{' #'.join(job['tags'])}" if job.get("tags") else ""
    return f"{short(job['job_id'])} {_state(job)}, {_age(job['created_at'])} ago: {shown}{where}{tags}"


def _age(moment: str) -> str:
    """Return how long ago a moment of a record was: `12 s`, `5 min`, `3 h`, `2 d`."""
    from datetime import datetime

    past = max(0, int(time() - datetime.fromisoformat(moment).timestamp()))
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if past >= 2 * size:
            return f"{past // size} {unit}"
    return f"{past} s"


def _status(answer: "Answer", root: str) -> str:
    lines = [f"{_headline(answer)}: {visible(join(answer.get('command', ())))}"]
    if answer.get("cwd", root) != root:
        lines.append(f"cwd {visible(answer['cwd'])}")
    told = {
        "pid": answer.get("pid"),
        "started": answer.get("started_at"),
        "finished": answer.get("finished_at"),
        "timeout": seconds(answer["timeout_ms"]) if answer.get("timeout_ms") else None,
        "env": ", ".join(answer.get("env_keys", ())),
        "tags": ", ".join(answer.get("tags", ())),
    }
    lines.append(", ".join(f"{name} {value}" for name, value in told.items() if value))
    lines.append(", ".join(f"{stream} {answer[f'{stream}_total_bytes']} bytes" for stream in STREAMS))
    return "\n".join(filter(None, (*lines, *_notes(answer))))
