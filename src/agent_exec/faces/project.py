"""The verbs of a project: `up` starts its services in order and waits for them, `down` ends them, `logs`."""

from contextlib import contextmanager
from os.path import dirname
from time import monotonic, sleep

from agent_exec.faces import answers
from agent_exec.jobs.kill import kill
from agent_exec.jobs.project.running import last_job, live_jobs, project_lock
from agent_exec.jobs.store import short
from agent_exec.model.errors import AgentExecError, DependencyFailed, NotReady
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from agent_exec.jobs.project.file import Project, Service
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.start import Started
    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel

    Answer = dict[str, Any]
    Begin = Callable[[Service, list[list[str]]], Started]
    """Starts a service after jobs, each by its id with what to wait for."""

WAIT = 60.0
"""How long `up` waits until all are ready, in seconds."""
LINES = 20
"""How many lines of each stream are shown of a service that is not ready."""
_BYTES = 8192
_OFTEN, _SELDOM = 0.01, 0.05
_PATIENCE = 10.0
_HEAD = frozenset(
    "job_id short_job_id state supervisor waiting_for dependency exit_code signal reason message "
    "finished_at duration_ms".split()
)


class Step(Value):
    """What `up` does about a service: `action`, and its job if there is one already."""

    service: "Service"
    action: str
    job: "Record | None" = None
    changed: bool = False

    @property
    def starts(self) -> bool:
        """True if a job is to be started."""
        return self.action in ("start", "recreate")


def plan(
    store: "Store", project: "Project", names: "Sequence[str]", *, recreate: bool, again: bool = False
) -> "list[Step]":
    """Return what is to be done, in order: what runs already is left alone.

    With `recreate`, what runs by another definition is started anew, and with
    `again` all that is named; so is what still waits for one of these. A job that
    has ended well is done, unless it is named, or something that needs it is started.
    """
    live = live_jobs(store, project.folder)
    chosen = {service.name for service in project.choose(list(names))}
    anew: set[str] = set()
    for service in project.services.values():  # each follows its needs
        job = live.get(service.name)
        if job is None:
            continue
        asked = (recreate and _has_changed(job, service)) or (again and service.name in names)
        if (asked and service.name in chosen) or (_waits(job) and not anew.isdisjoint(service.after)):
            anew.add(service.name)
    steps: list[Step] = []
    for service in reversed(project.choose([*chosen, *anew])):
        job = live.get(service.name)
        named = service.name in names
        if job is not None:
            action = "recreate" if service.name in anew else "keep"
            steps.append(Step(service, action, job, _has_changed(job, service)))
            continue
        last = last_job(store, project.folder, service) if service.kind == "job" else None
        needed = named or any(step.starts and service.name in step.service.after for step in steps)
        done = last is not None and not needed and _went_well(last, service)
        steps.append(Step(service, "done", last) if done else Step(service, "start"))
    return steps[::-1]


def _has_changed(job: "Record", service: "Service") -> bool:
    """True if a job was started by another definition of its service."""
    about = job.facts.get("project")
    return not isinstance(about, dict) or about.get("definition") != service.definition


def _went_well(job: "Record", service: "Service") -> bool:
    well = job.state == "exited" and job.facts.get("exit_code") == 0
    return well and not _has_changed(job, service)


def up(
    store: "Store",
    project: "Project",
    names: "Sequence[str]",
    *,
    check: "Callable[[Service], Answer]",
    begin: "Begin",
    recreate: bool = False,
    again: bool = False,
    dry_run: bool = False,
    seconds: float = WAIT,
    cancel: "Cancel | None" = None,
) -> "Answer":
    """Start services in the order of their needs, and wait until all are ready, for so many seconds.

    With 0 seconds, wait only until all are started. The job of a service waits
    by itself for the jobs that it needs, whatever becomes of this process.

    `check` returns what a service comes to, or raises before anything is
    started; `begin` starts one. A service that cannot become
    ready ends the wait: the answer has its last lines. What was started goes on.
    """
    began = monotonic()
    work = _Work(store, project, begin)
    with _locked(store, project.folder):
        steps = plan(store, project, names, recreate=recreate, again=again)
        checked = {step.service.name: _naming(step.service, check) for step in steps if step.starts}
        if dry_run:
            told = [_planned(step, checked.get(step.service.name, {})) for step in steps]
            return answers.answer("up", {"project": project.file, "dry_run": True, "services": told})
        work.start(steps)
    records = work.finish(began + (WAIT if seconds == 0 else seconds), cancel, begun=seconds == 0)
    told = [_entry(work, step, records) for step in steps]
    fields: Answer = {"project": project.file, "dry_run": False, "services": told}
    if cancel is not None and cancel.is_set():
        fields["interrupted"] = True
    fields["waited_ms"] = int((monotonic() - began) * 1000)
    late = [entry for entry in told if not entry["ready"]]
    if not late or seconds == 0:
        return answers.answer("up", fields)
    return answers.refusal(NotReady(_complaint(late)), fields)


class _Work:
    """The jobs of services: all are started at once, and each waits by itself for those that it needs.

    The caller holds the lock of the project while they are started.
    """

    def __init__(self, store: "Store", project: "Project", begin: "Begin") -> None:
        self._store = store
        self._project = project
        self._begin = begin
        self._steps: Sequence[Step] = ()
        self._jobs: dict[str, str] = {}
        self.found: set[str] = set()
        """The services that another process has started meanwhile."""

    def start(self, steps: "Sequence[Step]") -> None:
        """End what is to be started anew, and start all in the order of their needs."""
        self._steps = steps
        for step in reversed(steps):
            if step.job is not None and step.action == "recreate":
                _end(self._store, step.job)
            elif step.job is not None:
                self._jobs[step.service.name] = step.job.id
        for step in steps:
            name = step.service.name
            if name in self._jobs:
                continue
            needs = [[self._jobs[need], until] for need, until in step.service.after.items()]
            try:
                started = _naming(step.service, self._begin, needs)
                try:
                    started.begin()
                finally:
                    started.close()
                self._jobs[name] = started.id
            except AgentExecError as error:
                if error.details.get("field") != name:
                    raise
                # An `up` that was killed has ordered it just before.
                self.found.add(name)
                self._jobs[name] = _other(self._store, self._project.folder, name)

    def finish(self, deadline: float, cancel: "Cancel | None", *, begun: bool) -> "dict[str, Record | None]":
        """Return the jobs once all are ready, one cannot be, or time is up; with `begun`, once all run."""
        pause = _OFTEN
        while True:
            records = {name: self._store.read(job_id) for name, job_id in self._jobs.items()}
            verdicts = {step.service.name: self._verdict(step, records) for step in self._steps}
            left = min(pause, deadline - monotonic())
            if left <= 0 or (cancel is not None and cancel.is_set()):
                return records
            if begun and not any(job is not None and _waits(job) for job in records.values()):
                return records
            if all(verdicts.values()) or (False in verdicts.values() and not self._doomed(verdicts)):
                return records
            sleep(left)
            pause = min(_SELDOM, pause * 1.2)

    @staticmethod
    def _verdict(step: Step, records: "Mapping[str, Record | None]") -> bool | None:
        return _is_ready(step.service, records[step.service.name])

    def _doomed(self, verdicts: "Mapping[str, bool | None]") -> bool:
        """True if a service still waits for one that has failed: it is about to fail too."""
        return any(
            verdicts[step.service.name] is None and verdicts[need] is False and until != "any"
            for step in self._steps
            for need, until in step.service.after.items()
        )


def _other(store: "Store", folder: str, name: str) -> str:
    """Return the id of the job that has the lock of a service, once it can be seen."""
    deadline = monotonic() + _PATIENCE
    while monotonic() < deadline:
        found = live_jobs(store, folder).get(name)
        if found is not None:
            return found.id
        sleep(_SELDOM)
    raise NotReady(f"{name} is being started or ended by another process; try again")


def _naming(service: "Service", act: "Callable[..., Any]", *more: object) -> "Any":
    """Do something about a service; what goes wrong says which service it was."""
    try:
        return act(service, *more)
    except AgentExecError as error:
        error.message = f"{service.title}: {error.message}"
        error.args = (error.message,)
        raise


def _is_ready(service: "Service", job: "Record | None") -> bool | None:
    """True if a service is ready or a job has ended well, False if it cannot be, None while that is open."""
    if job is None:
        return False
    if service.kind == "job":
        return job.facts.get("exit_code") == 0 and job.state == "exited" if job.ended else None
    return False if job.ended else bool(job.facts.get("ready_at")) or None


def _waits(job: "Record") -> bool:
    """True if a job waits for its first start."""
    return job.state == "created" and not job.facts.get("retrying")


def _planned(step: Step, checked: "Answer") -> "Answer":
    action = {"keep": "changed" if step.changed else "running"}.get(step.action, step.action)
    fields: Answer = {"name": step.service.name, "kind": step.service.kind}
    fields["action"] = f"would_{action}" if step.starts else action
    fields |= {} if step.job is None else {"job_id": step.job.id}
    return fields | {"after": list(step.service.after), **checked}


def _entry(work: _Work, step: Step, records: "Mapping[str, Record | None]") -> "Answer":
    """Return what became of a service."""
    name = step.service.name
    job = records.get(name)
    fields: Answer = {"name": name, "kind": step.service.kind}
    kept = "changed" if step.changed else "running"
    fields["action"] = {"start": "started", "recreate": "recreated", "keep": kept}.get(step.action, "done")
    if name in work.found:
        fields["action"] = "running"
    if job is not None and (_waits(job) or job.reason == DependencyFailed.code):
        fields["action"] = "not_started"
    fields["ready"] = _is_ready(step.service, job) is True
    if step.changed and not step.starts:
        fields["note"] = "it runs by an older definition; `agent-exec up --recreate` starts it anew"
    if job is None:
        return fields | {"message": "its job was deleted"}
    fields |= _head(job)
    if "ports" in job.facts:
        fields["ports"] = job.facts["ports"]
    if fields["ready"]:
        return fields
    wanted = {"ready_when": job.facts["ready_when"]} if "ready_when" in job.facts else {}
    return {**fields, **wanted, **_last_lines(job)}


def _head(job: "Record") -> "Answer":
    """Return which job it is, and how it is."""
    return {name: value for name, value in answers.head(job).items() if name in _HEAD}


def _last_lines(job: "Record") -> "Answer":
    from agent_exec.jobs.output import tail

    excerpts = tail(job, lines=LINES, size=_BYTES)
    return {f"{name}_tail": excerpt.lines.decode("utf-8", "replace") for name, excerpt in excerpts.items()}


def _complaint(late: "Sequence[Answer]") -> str:
    """Return which services are not ready, why, and what to do."""
    begun = [one for one in late if one["action"] != "not_started"]
    first = [one for one in begun if one.get("state") != "running"] or begun or late
    parts = [f"{one['name']} is not ready: {_why(one)}" for one in first[:3]]
    more = f", and {len(first) - 3} more" if len(first) > 3 else ""
    return f"{'; '.join(parts)}{more}. The last lines are in `services`; what was started goes on"


def _why(entry: "Answer") -> str:
    state, code = entry.get("state"), entry.get("exit_code")
    if entry["action"] == "not_started" and state == "created":
        return "it still waits for what it needs; wait longer with --until 5m"
    if state == "running":
        wanted = " and ".join(entry.get("ready_when", ())) or "its end"
        return f"it runs, and still waits for {wanted}; wait longer with --until 5m"
    if entry.get("message"):
        return str(entry["message"])
    what = f"exit code {code}" if code is not None else entry.get("signal") or entry.get("reason") or state
    before = "it failed" if entry["kind"] == "job" else "it ended"
    return f"{before} ({what})"


def _end(store: "Store", job: "Record", cancel: "Cancel | None" = None) -> "Record":
    from agent_exec.host import signal_number

    return kill(store, job, signal_number("TERM") or 15, cancel=cancel)


def end(
    store: "Store",
    file: str,
    project: "Project | None",
    names: "Sequence[str]",
    cancel: "Cancel | None" = None,
) -> "Answer":
    """End services of a project, by default all; raise InvalidArgument for a name that it has not.

    Without a project, as for a file with mistakes, all that runs is known by its folder.
    """
    folder = dirname(file)
    for name in names if project is not None else ():
        if name not in live_jobs(store, folder):
            project.check_name(name)  # type: ignore[union-attr]  # as was asked
    told = down(store, folder, names, list(project.services) if project is not None else [], cancel)
    return answers.answer("down", {"project": file, "services": told})


def down(
    store: "Store",
    folder: str,
    names: "Sequence[str]",
    order: "Sequence[str]" = (),
    cancel: "Cancel | None" = None,
) -> "list[Answer]":
    """End services of a folder, by default all, each before those that it needs; return what became of each.

    `order` are the names as `up` starts them; jobs of other names are ended first.
    """
    with _locked(store, folder):
        live = live_jobs(store, folder)
        places = {name: place for place, name in enumerate(order)}
        wanted = [name for name in live if not names or name in names]
        wanted.sort(key=lambda name: (places.get(name, len(places)), live[name].id), reverse=True)
        told = []
        for name in wanted:
            job = _end(store, live[name], cancel)
            told.append({"name": name, "action": "stopped" if job.ended else "stopping", **_head(job)})
        told += [{"name": name, "action": "not_running"} for name in names if name not in live]
        return told


@contextmanager
def _locked(store: "Store", folder: str) -> "Iterator[None]":
    """Let one process at a time start and end services of a project."""
    lock = project_lock(store, folder)
    lock.acquire(wait=True)
    try:
        yield
    finally:
        lock.release()


def logs(store: "Store", project: "Project", names: "Sequence[str]", *, lines: int, size: int) -> "Answer":
    """Return the newest lines of services together, in the order in which they came; 0 lines is no limit."""
    from agent_exec.faces.verbs import Jobs

    for name in names:
        project.check_name(name)
    services: list[Answer] = []
    found: list[Answer] = []
    for name, job in _newest(store, project).items():
        if names and name not in names:
            continue
        entry: Answer = {"name": name}
        services.append(entry)
        if job is None:
            continue
        entry |= {"job_id": job.id, "short_job_id": short(job.id), "state": job.state}
        told = Jobs(store).tail(job.id, merged=True, tail_lines=lines, max_bytes=size)
        entry["truncated"] = told["truncated"]
        found += _lines(name, told["merged"])
    found.sort(key=lambda line: line["time"] or "")  # a stable sort: lines of one service keep their order
    shown = found[-lines:] if lines else found
    cut = len(shown) < len(found) or any(entry.get("truncated") for entry in services)
    return answers.answer(
        "logs", {"project": project.file, "lines": shown, "truncated": cut, "services": services}
    )


def jobs_of(store: "Store", project: "Project") -> "dict[str, str]":
    """Return the id of the newest job of each service, "" for one that was never started."""
    return {name: "" if job is None else job.id for name, job in _newest(store, project).items()}


def _newest(store: "Store", project: "Project") -> "dict[str, Record | None]":
    live = live_jobs(store, project.folder)
    return {
        name: live.get(name) or last_job(store, project.folder, service)
        for name, service in project.services.items()
    }


def _lines(name: str, pieces: "Sequence[Answer]") -> "list[Answer]":
    """Return the lines of a service, each with the moment of its first piece."""
    found: list[Answer] = []
    open_lines: dict[str, Answer] = {}
    moment: str | None = None
    for piece in pieces:
        moment = piece["time"] or moment
        stream = piece["stream"]
        parts = piece["text"].split("\n")
        for place, text in enumerate(parts):
            last = place == len(parts) - 1
            if last and not text:
                break
            line = open_lines.pop(stream, None)
            if line is None:
                line = {"time": moment, "name": name, "stream": stream, "text": ""}
                found.append(line)
            line["text"] += text.removesuffix("\r")
            if last:
                open_lines[stream] = line
    return found
