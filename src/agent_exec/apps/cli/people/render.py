"""Answers as text for people: by their type, or as names and values."""

from time import time

from agent_exec.apps.cli.people.paint import Paint, span
from agent_exec.model.visible import visible
from agent_exec.terminal.safe import Safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Answer = dict[str, Any]
    Lines = list[str]

_STATES = {
    "running": ("●", "blue"),
    "created": ("○", "dim"),
    "waiting": ("◌", "yellow"),
    "unknown": ("?", "red"),
}
_HIDDEN = ("schema_version", "ok", "type", "root", "short_job_id", "truncated", "skipped")
"""Fields of an answer that say nothing to a person."""


def render(told: "Answer", paint: Paint) -> str:
    """Return an answer as text, which ends with a newline."""
    lines = _KINDS.get(str(told.get("type")), _fields)(told, paint)
    return "".join(f"{line}\n" for line in lines)


def mark(job: "Answer") -> tuple[str, str]:
    """Return the symbol of a job's state, and its style."""
    state = job.get("state")
    if state in _STATES:
        return _STATES[state]
    if state == "exited" and "exit_code" not in job:
        return "■", "dim"  # the answer does not say how it ended
    return ("✓", "green") if job.get("exit_code") == 0 and state == "exited" else ("✗", "red")


def state(job: "Answer") -> str:
    """Return how a job is, or how it ended, in a few words."""
    found = str(job.get("state"))
    if job.get("timed_out"):
        return "timed out"
    if job.get("signal"):
        return f"{found} by {job['signal']}"
    return f"exit {job['exit_code']}" if found == "exited" and job.get("exit_code") is not None else found


def command(job: "Answer") -> str:
    """Return a job's command as a line of shell."""
    from shlex import join

    return join(map(str, job.get("command", ())))


def _moment(text: object) -> float | None:
    from agent_exec.jobs.record import moment

    return moment(text) if isinstance(text, str) and text else None


def age(job: "Answer") -> str:
    """Return how long ago a job was created."""
    created = _moment(job.get("created_at"))
    return "" if created is None else span(time() - created)


def took(job: "Answer") -> str:
    """Return how long a job has run, or ran."""
    began, ended = _moment(job.get("started_at")), _moment(job.get("finished_at"))
    if began is None:
        return ""
    if ended is None and job.get("state") != "running":
        return ""
    return span((time() if ended is None else ended) - began)


def _error(told: "Answer", paint: Paint) -> "Lines":
    error = told["error"]
    return [
        f"{paint('✗', 'red')} {line}" if not place else line
        for place, line in enumerate(_text(error["message"]))
    ] + [paint(f"  {error['code']}", "dim")]


def _text(text: str) -> "Lines":
    return [visible(line) for line in text.split("\n")]


def _job(told: "Answer", paint: Paint) -> "Lines":
    """Return the output of a job, how it is, and what can be done next."""
    short = str(told.get("short_job_id") or told.get("job_id", ""))[-8:]
    return [*_printed_by(told, short, paint), *_next(told, short, paint)]


def _printed_by(told: "Answer", name: str, paint: Paint) -> "Lines":
    """Return the output of a command, how it ended, and what its sandbox has blocked."""
    lines: Lines = []
    for stream in ("stdout", "stderr"):
        text = told.get(stream) or ""
        if text:
            lines += [paint("stderr:", "dim")] if stream == "stderr" else []
            lines += _printed(text, paint)
    sign, style = mark(told)
    said = [f"{paint(sign, style)} {paint(state(told), style)}", name]
    if "duration_ms" in told:
        said.append(span(told["duration_ms"] / 1000))
    if told.get("ready"):
        said.append("ready")
    if told.get("output_complete") is False or told.get("truncated"):
        said.append("not all of its output is shown")
    lines.append(" · ".join(said))
    return [*lines, *_sandbox(told, paint)]


def _next(told: "Answer", short: str, paint: Paint) -> "Lines":
    found = told.get("state")
    if found == "running":
        steps = f"agent-exec logs -f {short} · agent-exec wait {short} · agent-exec kill {short}"
    elif found == "created":
        steps = f"agent-exec start {short}"
    elif mark(told)[0] == "✗":
        steps = f"agent-exec logs {short} · agent-exec restart {short}"
    else:
        return []
    return [paint(f"  next: {steps}", "dim")]


def _printed(text: str, paint: Paint) -> "Lines":
    safe = Safe(colours=paint.on)
    shown = safe.feed(text.encode("utf-8", "replace")) + safe.finish()
    return shown.removesuffix("\n").split("\n")


def _sandbox(told: "Answer", paint: Paint) -> "Lines":
    box = told.get("sandbox")
    message = box.get("message") if isinstance(box, dict) else None
    return [paint(line, "yellow") for line in _text(message)] if message else []


def _list(told: "Answer", paint: Paint) -> "Lines":
    jobs = told["jobs"]
    scope = told.get("cwd_scope")
    lines: Lines = []
    if jobs:
        rows = [[("", ""), ("", ""), *((name, "dim") for name in ("job", "age", "took", "state", "tags"))]]
        rows[0] += [("command" if scope else "folder  command", "dim")]
        for number, job in enumerate(jobs, 1):
            sign, style = mark(job)
            text = command(job)
            rows.append(
                [
                    (f"%{number}", "dim"),
                    (sign, style),
                    (str(job["short_job_id"]), ""),
                    (age(job), ""),
                    (took(job), ""),
                    (state(job), style),
                    (",".join(job.get("tags", ())), "cyan"),
                    (text if scope else f"{job.get('cwd', '')}  {text}", ""),
                ]
            )
        lines += paint.table(rows)
    else:
        lines.append(f"no jobs{f' of {visible(scope)}' if scope else ''}")
        lines.append(paint("  next: agent-exec run --no-wait -- COMMAND · agent-exec list --all", "dim"))
    if told.get("truncated"):
        lines.append(paint("  there are more: --limit 0 shows all", "dim"))
    if told.get("elsewhere"):
        lines.append(paint(f"  {told['elsewhere']} more in other folders: --all shows them", "dim"))
    return lines


def _sessions(told: "Answer", paint: Paint) -> "Lines":
    rows = []
    for one in told["sessions"]:
        known = {"state": "running" if one["running"] else "exited", **one}
        sign, style = mark(known)
        client = str(one.get("client") or one["kind"])
        since = span(float(one.get("age_seconds", 0)))
        rows.append([(sign, style), (one["id"], ""), (since, ""), (client, "cyan"), (str(one["cmd"]), "")])
    if not rows:
        return ["no sessions", paint("  next: agent-exec mcp install gives terminals to an agent", "dim")]
    return [*paint.table(rows), paint("  next: agent-exec attach ID · agent-exec attach ID --watch", "dim")]


def _events(told: "Answer", paint: Paint) -> "Lines":
    return paint.table([event_cells(event) for event in told["events"]]) or ["no events"]


def event_cells(event: "Answer") -> "list[tuple[str, str]]":
    """Return the cells of an event: when, what, of which job, and more."""
    styles = {"ended": "bold", "lost": "red", "unhealthy": "red", "ready": "green", "retrying": "yellow"}
    kind = str(event["kind"])
    more = " ".join(
        f"{name}={value if isinstance(value, str | int | float) else command({'command': value})}"
        for name, value in event.items()
        if name not in ("id", "kind", "job_id", "time", "cursor", "cwd")
        and value not in (None, [], "")
        and isinstance(value, str | int | float | list)
    )
    return [
        (str(event.get("time", ""))[11:19], "dim"),
        (kind, styles.get(kind, "")),
        (str(event.get("job_id", ""))[-8:], ""),
        (more, "dim"),
    ]


def _explain(told: "Answer", paint: Paint) -> "Lines":
    style = {"allow": "green", "deny": "red"}.get(str(told["verdict"]), "yellow")
    lines = [f"{paint(told['verdict'], 'bold', style)}: {visible(str(told['reason']))}"]
    if told.get("rule"):
        lines.append(f"  rule: {visible(str(told['rule']))}")
    doors = told.get("doors") or {}
    lines += paint.table([[("  " + door, "dim"), (str(outcome), "")] for door, outcome in doors.items()])
    for part in told.get("commands", ()) if len(told.get("commands", ())) > 1 else ():
        lines.append(f"  {part['verdict']}: {visible(part['text'])} ({visible(str(part['reason']))})")
    lines += [paint(f"  {visible(str(doubt))}", "yellow") for doubt in told.get("doubts", ())]
    return lines


def _doctor(told: "Answer", paint: Paint) -> "Lines":
    lines: Lines = []
    for backend in told["backends"]:
        good = backend["available"]
        chosen = paint(" (used)", "bold") if backend["name"] == told.get("chosen") else ""
        ratio = f", {backend['spawn_ratio']}x of a plain start" if backend.get("spawn_ratio") else ""
        lines.append(
            f"{paint('✓', 'green') if good else paint('✗', 'red')} {backend['name']}{chosen}: "
            f"{backend['strength'] + ratio if good else visible(str(backend['reason']))}"
        )
        lines += [paint(f"    not enforced: {visible(one)}", "dim") for one in backend["unenforced"] if good]
    if not told.get("chosen"):
        lines.append(
            paint("nothing is confined here: commands are refused unless --sandbox full-access", "red")
        )
    return lines


def _ran(told: "Answer", paint: Paint) -> "Lines":
    return _printed_by({**told, "state": "killed" if told.get("signal") else "exited"}, "sandbox", paint)


def _logs(told: "Answer", paint: Paint) -> "Lines":
    rows = [[(str(line["name"]), "cyan"), (str(line["text"]), "")] for line in told["lines"]]
    return paint.table(rows) or ["nothing was printed"]


def _services(told: "Answer", paint: Paint) -> "Lines":
    rows = []
    for name, service in _named(told["services"]):
        sign, style = mark(service)
        ready = "ready" if service.get("ready") else state(service)
        rows.append(
            [(sign, style), (name, "bold"), (ready, style), (str(service.get("job_id") or "")[-8:], "")]
        )
    lines = paint.table(rows)
    return [*lines, *([visible(str(told["message"]))] if told.get("message") else [])]


def _named(services: "Any") -> "list[tuple[str, Answer]]":
    if isinstance(services, dict):
        return list(services.items())
    return [(str(one.get("name", one.get("service", ""))), one) for one in services]


def _approvals(told: "Answer", paint: Paint) -> "Lines":
    rows = [
        [(one["id"], "bold"), (one["command"], ""), (one["cwd"] or "", "dim"), (one["reason"], "yellow")]
        for one in told["approvals"]
    ]
    return paint.table(rows) or ["no question waits for an approval"]


def _approval(told: "Answer", paint: Paint) -> "Lines":
    question = told.get("question")
    if question is None:
        return _fields(told, paint)
    ways = "|".join(question["answers"])
    rule = [paint(f"rule: {question['rule']}", "dim")] if question["rule"] else []
    return [*question["text"].split("\n"), *rule, f"agent-exec approvals answer {told['id']} {ways}"]


def _fields(told: "Answer", paint: Paint) -> "Lines":
    """Return names and values, one a line; tables of objects below their names."""
    rows: list[list[tuple[str, str]]] = []
    for name, value in told.items():
        if name in _HIDDEN or value in (None, [], {}, ""):
            continue
        text = command(told) if name == "command" and isinstance(value, list) else _value(value)
        rows.append([(name, "dim"), (text, "")])
    return paint.table(rows) or [f"{paint('✓', 'green')} done"]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, dict):
        return " ".join(f"{name}={_value(one)}" for name, one in value.items() if one is not None)
    return str(value)


_KINDS: "dict[str, Callable[[Answer, Paint], Lines]]" = {
    "error": _error,
    **dict.fromkeys(("run", "start", "restart", "create", "wait", "tail"), _job),
    "list": _list,
    "sessions": _sessions,
    "events": _events,
    "approvals": _approvals,
    "approval": _approval,
    "policy_explain": _explain,
    "sandbox_doctor": _doctor,
    "sandbox_run": _ran,
    "logs": _logs,
    **dict.fromkeys(("up", "down"), _services),
}
