"""The contract of durable jobs: each verb of `agent-exec` as a method, and the one object it answers with."""

import os
from time import monotonic

from agent_exec.faces import answers, defaults
from agent_exec.jobs.store import list_jobs, place_of
from agent_exec.logs.stream import STREAMS, Log, names_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Unpack

    from agent_exec.faces.asked import Asked
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.start import Started
    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel
    from agent_exec.requests.gate import Gate

    Answer = dict[str, Any]

    from agent_exec.faces import event_verbs, lifecycle, notify_verbs, reading, removing, services, waiting
    from agent_exec.model import errors
else:
    from agent_exec.model.lazy import Later, Methods

    errors = Later("agent_exec.model.errors")  # which most calls do not need
    event_verbs = Methods("agent_exec.faces.event_verbs")
    notify_verbs = Methods("agent_exec.faces.notify_verbs")
    lifecycle = Methods("agent_exec.faces.lifecycle")
    reading = Methods("agent_exec.faces.reading")
    removing = Methods("agent_exec.faces.removing")
    services = Methods("agent_exec.faces.services")
    waiting = Methods("agent_exec.faces.waiting")


class Jobs:
    """The jobs of one store; any thread may use it. Commands pass the gate, if there is one.

    Every method returns an answer as a dict, the same object that the program
    prints; what is refused is raised as an AgentExecError. A job outlives
    this process, however that ends. Seconds throughout; None waits without limit.
    `own` are files that no confined command may change.
    """

    __slots__ = ("gate", "own", "store")

    # Verbs that few calls need: each is loaded with its module when it is first used.
    events = event_verbs.events
    follow_events = event_verbs.follow_events
    notify = notify_verbs.notify
    create = lifecycle.create
    rejoin = lifecycle.rejoin
    restart = lifecycle.restart
    start = lifecycle.start
    set_timeout = lifecycle.set_timeout
    tag = lifecycle.tag
    await_end = reading.await_end
    extent = reading.extent
    printed = reading.printed
    read = reading.read
    view = reading.view
    delete = removing.delete
    delete_all = removing.delete_all
    gc = removing.gc
    plan = waiting.plan
    groups = waiting.groups
    set_group = waiting.set_group
    remove_group = waiting.remove_group
    up = services.up
    down = services.down
    logs = services.logs

    def __init__(self, store: "Store", gate: "Gate | None" = None, own: "Sequence[str]" = ()) -> None:
        self.store = store
        self.gate = gate
        self.own = tuple(own)

    @property
    def root(self) -> str:
        """The folder of jobs."""
        return self.store.root

    def run(
        self,
        argv: "Sequence[str]",
        *,
        stdin: bytes | None = None,
        stdin_file: str | None = None,
        stdin_fd: int = -1,
        observe: float | None = defaults.SNAPSHOT_CAP,
        tail_lines: int = defaults.TAIL_LINES,
        max_bytes: int = defaults.MAX_BYTES,
        cancel: "Cancel | None" = None,
        on_begin: "Callable[[str], object] | None" = None,
        **asked: "Unpack[Asked]",
    ) -> "Answer":
        """Start a job and watch it until its end, or for `observe` seconds.

        What else is asked of it has the names of the command line: `cwd`,
        `env` (added to ours, unless `inherit_env` is False), `env_files`,
        `timeout`, `grace`, `tags`, `leftovers`, `max_log_bytes`, and `log`, a
        file that gets both streams too ("": one in the job's folder).

        The first of the `conditions` that holds makes it ready, or with `every`
        all of them: that is recorded, and ends the watching. `ports` are given
        to it as variables; `health` is a shell line that checks it, every
        `health_every` seconds, for at most `health_timeout`; `health_failures`
        in a row make it unhealthy. It is stopped after `stop_after_idle`
        seconds without output.

        With a profile as `sandbox` it is confined. A box that cannot be made is
        the job's failure: nothing has run. What it may not read is no
        `stdin_file` either; `stdin_fd` is that file if it has been opened
        already, and stays the caller's. It waits `after` jobs (JOB, JOB:any or
        JOB:ready), for a moment (`at`: seconds since 1970, or a text) and for
        slots of groups (`needs`, by `priority`). `notify` says by which ways to
        tell of it. `retry`, `restart` and `interval` run it more than once, and
        are `--retry`, `--restart` and `--every` of the command line. `cancel`
        ends the watching, never the job; `on_begin` is called with its id as
        soon as there is one.
        """
        from agent_exec.faces.jobs import input_of, order_of
        from agent_exec.jobs.start import start

        if stdin is not None and stdin_file is not None:
            raise errors.InvalidArgument("stdin and stdin_file contradict each other; give one of them")
        if observe is not None and not (isinstance(observe, int | float) and observe >= 0):
            raise errors.InvalidArgument(
                f"observe must be 0 seconds or more, or None for no limit; got {observe!r}"
            )
        order = order_of(self, argv, stdin=stdin, **asked)
        given = stdin is not None or stdin_file is not None or stdin_fd >= 0
        job = start(
            self.store,
            order,
            gate=self.gate,
            stdin=(lambda: input_of(self.store, stdin, stdin_file, stdin_fd, order.profile))
            if given
            else None,
            shown=stdin or os.fsencode(f"the file {stdin_file}" if stdin_file else ""),
            cancel=cancel,
        )
        return self.watch(
            job,
            observe=observe,
            tail_lines=tail_lines,
            max_bytes=max_bytes,
            cancel=cancel,
            on_begin=on_begin,
            until_ready=bool(asked.get("conditions")),
        )

    def watch(
        self,
        job: "Started",
        *,
        observe: float | None = defaults.SNAPSHOT_CAP,
        tail_lines: int = defaults.TAIL_LINES,
        max_bytes: int = defaults.MAX_BYTES,
        env_vars: "Sequence[str]" = (),
        cancel: "Cancel | None" = None,
        began: float | None = None,
        on_begin: "Callable[[str], object] | None" = None,
        kind: str = "run",
        until_ready: bool = False,
    ) -> "Answer":
        """Watch a job that was ordered just now: until its end, or for so many seconds; None is no limit.

        `on_begin` is called with its id as soon as there is one. With
        `until_ready`, the watching ends once the job is ready.
        """
        begin = monotonic() if began is None else began
        job.begin()
        if on_begin is not None:
            on_begin(job.id)
        waited = monotonic()
        try:
            if observe != 0:
                job.wait(observe, cancel, until_ready=until_ready)
            found = self.store.find(job.id)
            if job.hung_up and observe != 0 and not found.ended:
                from agent_exec.jobs.wait import wait_for_end

                # The supervisor is lost, and its command is not.
                left = None if observe is None else observe - (monotonic() - waited)
                found = wait_for_end(self.store, found, left, cancel)
            waited = 0.0 if observe == 0 else monotonic() - waited
        finally:
            job.close()
        return self._watched(
            found,
            begin,
            waited,
            observe=observe,
            tail_lines=tail_lines,
            max_bytes=max_bytes,
            env_vars=env_vars,
            cancel=cancel,
            kind=kind,
            until_ready=until_ready,
        )

    def _watched(
        self,
        found: "Record",
        begin: float,
        waited: float,
        *,
        observe: float | None,
        tail_lines: int,
        max_bytes: int,
        env_vars: "Sequence[str]",
        cancel: "Cancel | None",
        kind: str,
        until_ready: bool,
    ) -> "Answer":
        """Return the answer about a job that was begun at a moment, and watched for so many seconds."""
        if observe is not None:
            waited = min(waited, observe)  # the cap is literal, however late we are woken
        fields = answers.head(found)
        fields["root"] = self.root
        fields["tags"] = found.facts.get("tags", [])
        for name in ("timeout_ms", "kill_after_ms"):
            fields[name] = found.facts.get(name)
        if env_vars:
            fields["env_vars"] = list(env_vars)
        fields |= answers.confinement(found)
        fields |= answers.readiness(found)
        if until_ready and not fields["ready"]:
            from agent_exec.faces.readiness import unmet

            fields |= unmet(self.store, found)
        fields |= answers.paths(found)
        if observe != 0:
            from agent_exec.jobs.output import tail

            excerpts = tail(found, lines=tail_lines, size=max_bytes)
            fields["snapshot"] = answers.tails(found, excerpts)
            fields |= answers.texts(found, excerpts)
        fields |= _interrupted(cancel)
        fields["waited_ms"] = int(waited * 1000)
        fields["elapsed_ms"] = int((monotonic() - begin) * 1000)
        if found.reason == "spawn_failed":
            message = found.facts.get("message", "")
            code = found.facts.get("code", errors.LaunchFailed.code)
            named = errors.LaunchFailed if code == errors.LaunchFailed.code else errors.AgentExecError
            return answers.refusal(named(message), fields, code)
        return answers.answer(kind, fields)

    def status(self, job_id: str) -> "Answer":
        """Return all about one job but its output."""
        job = self.store.find(job_id)
        facts = job.facts
        fields = answers.head(job)
        for name in ("command", "cwd", "tags", "env_keys", "created_at", "started_at"):
            if name in facts:
                fields[name] = facts[name]
        fields["updated_at"] = answers.updated(job)
        for name in answers.FACTS:
            if name in facts:
                fields[name] = facts[name]
        fields |= answers.liveness(job)
        fields |= answers.confinement(job)
        fields |= answers.notifications(job)
        fields |= answers.attempts(job)
        fields |= answers.readiness(job)
        fields |= answers.deadline(job)
        names = names_in(job.home)
        for stream in STREAMS:
            log = Log(job.home, stream, names)
            fields |= answers.amounts(job, stream, log.total, log.kept)
        fields |= answers.paths(job)
        return answers.answer("status", fields)

    def tail(
        self,
        job_id: str,
        *,
        tail_lines: int | None = None,
        max_bytes: int = defaults.MAX_BYTES,
        cursor: str | None = None,
        merged: bool = False,
        grep: str | None = None,
        attempt: int | None = None,
        view: str | None = None,
    ) -> "Answer":
        """Return the end of a job's output, at most 50 lines of it, or all that came since a cursor.

        `attempt` is the number of an attempt; None is the current one. With a `view` ("auto", "errors",
        "grep=REGEX" …) return what that shows of each stream instead.
        """
        from agent_exec.jobs import output

        job = self.store.find(job_id)
        if attempt is not None and attempt != job.attempt:
            from agent_exec.jobs.attempts import attempt_of

            job = attempt_of(job, attempt)
        place = None if cursor is None else output.parse_cursor(cursor, job.id, job.attempt)
        fields: Answer = {"job_id": job.id, "state": job.state, **answers.attempt(job)}
        lines = tail_lines
        if lines is None:
            lines = defaults.TAIL_LINES if place is None else 0
        if view is not None:
            from agent_exec.jobs.viewing import excerpts_of
            from agent_exec.requests.variables import secret_values

            secrets = secret_values(os.environ)
            excerpts, fields["view"] = excerpts_of(job, view, size=max_bytes, secrets=secrets)
        elif grep is not None:
            from agent_exec.jobs.search import search

            found = search(job, grep, lines=lines, size=max_bytes, offsets=place)
            excerpts = {stream: excerpt for stream, (excerpt, _) in found.items()}
            fields["grep"] = {"pattern": grep} | {f"{s}_matches": count for s, (_, count) in found.items()}
        elif place is not None:
            excerpts = output.since(job, place, lines=lines, size=max_bytes)
        else:
            excerpts = output.tail(job, lines=lines, size=max_bytes)
        if place is not None:
            fields["more"] = any(excerpt.more for excerpt in excerpts.values())
        if merged and grep is None:
            pieces = output.merged(job, excerpts, lines=lines if place is None else 0)
            fields["merged"] = answers.merged(pieces, final=job.ended)
            fields |= answers.measures(job, excerpts)
        else:
            fields |= answers.tails(job, excerpts)
        fields |= answers.texts(job, excerpts, shown=not (merged or grep is not None or view is not None))
        fields |= answers.paths(job)
        return answers.answer("tail", fields)

    def wait(
        self,
        job_id: str,
        *,
        seconds: float | None = defaults.WAIT,
        tail_lines: int = defaults.TAIL_LINES,
        max_bytes: int = defaults.MAX_BYTES,
        conditions: "Sequence[str]" = (),
        every: bool = False,
        forks: bool = False,
        cancel: "Cancel | None" = None,
    ) -> "Answer":
        """Wait for the end of a job, for so many seconds or without limit, and return the end of its output.

        The first of the `conditions` that holds ends the wait too, or with
        `every` all of them. `forks` is for a process without threads.
        """
        from agent_exec.jobs.output import tail
        from agent_exec.jobs.wait import wait_for_end

        begin = monotonic()
        job = self.store.find(job_id)
        ready: Answer = {}
        if conditions:
            from agent_exec.faces.readiness import watching_of

            watching = watching_of(self.store, job, conditions, self.gate, every=every, forks=forks)
            try:
                job = wait_for_end(self.store, job, seconds, cancel, watching)
                ready = watching.fields()
            finally:
                watching.close()
        else:
            job = wait_for_end(self.store, job, seconds, cancel)
        waited = monotonic() - begin
        excerpts = tail(job, lines=tail_lines, size=max_bytes)
        fields = answers.head(job)
        fields |= answers.tails(job, excerpts)
        fields |= answers.texts(job, excerpts)
        fields["updated_at"] = answers.updated(job)
        fields |= answers.confinement(job)
        fields |= ready or answers.readiness(job)
        fields |= answers.paths(job)
        fields |= _interrupted(cancel)
        fields["waited_ms"] = int(waited * 1000)
        return answers.answer("wait", fields)

    def kill(
        self, job_id: str, *, signal: str = "TERM", wait: bool = True, cancel: "Cancel | None" = None
    ) -> "Answer":
        """End a job with all its processes, or send them a signal."""
        from agent_exec.host import signal_name
        from agent_exec.jobs.kill import kill

        job = self.store.find(job_id)
        number = signal_of(signal)
        begin = monotonic()
        over = job.ended
        job = kill(self.store, job, number, wait=wait, cancel=cancel)
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
            **_interrupted(cancel),
        }
        return answers.answer("kill", fields)

    def list(
        self,
        *,
        cwd: str | None = None,
        states: "Sequence[str]" = (),
        tags: "Sequence[str]" = (),
        limit: int = defaults.LIST_LIMIT,
        within: "Callable[[str], bool] | None" = None,
    ) -> "Answer":
        """Return the newest jobs, of one working directory or of all (None).

        `within` says of which others, by their working directories.
        """
        scope = None if cwd is None else place_of(cwd)
        if tags:
            from agent_exec.jobs.start import check_tags

            check_tags(tag.removesuffix(".*") for tag in tags)
        jobs, truncated, skipped = list_jobs(
            self.store, cwd=scope, states=states, tags=tags, limit=limit, within=within
        )
        fields: Answer = {"root": self.root}
        if scope is not None:
            fields["cwd_scope"] = scope
        fields["jobs"] = [answers.entry(job) for job in jobs]
        fields["truncated"] = truncated
        fields["skipped"] = skipped
        return answers.answer("list", fields)

    def locate(self, job_id: str) -> "tuple[str, str]":
        """Return the whole id of a job, and its working directory."""
        job = self.store.find(job_id)
        return job.id, str(job.facts.get("cwd", ""))


def signal_of(name: str) -> int:
    """Return the number of a signal; raise InvalidArgument if there is none of this name."""
    from agent_exec.host import signal_number
    from agent_exec.jobs.kill import force

    number = signal_number(name)
    if number is None and signal_number("SIGHUP") is None:
        number = force()  # a system without signals: all that it does not know is the force
    if number is None:
        raise errors.InvalidArgument(f"no signal {name!r} on this system; use TERM, INT, KILL or another")
    return number


def _interrupted(cancel: "Cancel | None") -> "Answer":
    return {"interrupted": True} if cancel is not None and cancel.is_set() else {}


def schema() -> "Answer":
    """Return the JSON Schema of every answer."""
    from agent_exec.model.jsonline import load

    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs.schema.json")
    with open(file, encoding="utf-8") as text:
        found = load(text.read())
    fields = {"schema_format": "json-schema-draft-07", "schema": found, "generated_at": found["$comment"]}
    return answers.answer("schema", fields)


def exit_code(told: "Answer") -> int:
    """Return the exit code that a job's answer stands for, where the caller asks for it.

    The job's own; 128 + n for signal n; 124 if it has not ended, 125 if it is
    unknown how it ended, 127 if it never ran. Where readiness was waited for,
    0 says that it is ready, and 1 that it ended with 0 before it was.
    """
    if told.get("ready"):
        return 0
    if told.get("type") == "sandbox_run":
        return int(told["exit_code"])
    if "unmet" in told:
        return _ending_code(told) or 1
    return _ending_code(told)


def _ending_code(told: "Answer") -> int:
    if told.get("state") not in ("exited", "killed", "failed"):
        return 124
    if told.get("exit_code") is not None:
        return int(told["exit_code"])
    if told.get("signal_number"):
        return 128 + int(told["signal_number"])
    return 125 if told.get("reason") in ("supervisor_lost", "sandbox_lost") else 127
