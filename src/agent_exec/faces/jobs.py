"""Durable jobs for Python callers: the verbs as methods, which give what the program prints."""

import os

from agent_exec.faces import defaults, verbs
from agent_exec.model.command import Command
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.limits import Limits
from agent_exec.places import here
from agent_exec.requests.given_variables import Environment
from agent_exec.requests.opening import IN_FORCE, open_gate, rule_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from agent_exec.jobs.excerpt import Excerpt
    from agent_exec.jobs.order import Order
    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.choices import ApprovalPolicy, Leftovers, Stream
    from agent_exec.requests.arguments import Approver, Rules
    from agent_exec.requests.gate import Gate
    from agent_exec.sandbox.profile import Profile

    Answer = dict[str, Any]

_INPUT = 1 << 40


class Jobs:
    """The jobs of one store; any thread may use it. What is to run passes the gate, if there is one.

    Every method gives an answer as a dict, the same object that the program
    prints; what is refused is raised as an AgentExecError. A job outlives
    this process, however that ends. Seconds throughout; None waits for ever.
    `own` are files that no confined command may change.
    """

    __slots__ = ("_gate", "_own", "_store")

    def __init__(self, store: "Store", gate: "Gate | None" = None, own: "Sequence[str]" = ()) -> None:
        self._store = store
        self._gate = gate
        self._own = tuple(own)

    @property
    def root(self) -> str:
        """The folder of jobs."""
        return self._store.root

    def run(
        self,
        argv: "Sequence[str]",
        *,
        cwd: str | None = None,
        env: "Mapping[str, str] | None" = None,
        stdin: bytes | None = None,
        stdin_file: str | None = None,
        stdin_fd: int = -1,
        timeout: float | None = None,
        grace: float = defaults.GRACE,
        tags: "Sequence[str]" = (),
        leftovers: "Leftovers" = "kill",
        max_log_bytes: int = defaults.QUOTA,
        observe: float | None = defaults.SNAPSHOT_CAP,
        tail_lines: int = defaults.TAIL_LINES,
        max_bytes: int = defaults.MAX_BYTES,
        sandbox: "Profile | None" = None,
        cancel: "Cancel | None" = None,
        on_begin: "Callable[[str], object] | None" = None,
    ) -> "Answer":
        """Start a job and watch it until its end, or for `observe` seconds; `env` is added to ours.

        With a profile it is confined. A box that cannot be made is the job's
        failure: nothing has run. What it may not read is no `stdin_file`
        either; `stdin_fd` is that file if it has been opened already, and
        stays the caller's. `cancel` ends the watching, never the
        job; `on_begin` is told its id as soon as there is one.
        """
        from agent_exec.jobs.start import start

        if stdin is not None and stdin_file is not None:
            raise InvalidArgument("stdin and stdin_file contradict each other; give one of them")
        if observe is not None and not (isinstance(observe, int | float) and observe >= 0):
            raise InvalidArgument(f"observe must be 0 seconds or more, or None for ever; got {observe!r}")
        order = _order(
            argv, cwd, env, stdin, timeout, grace, tags, leftovers, max_log_bytes, sandbox, self._own
        )
        given = stdin is not None or stdin_file is not None or stdin_fd >= 0
        job = start(
            self._store,
            order,
            gate=self._gate,
            stdin=(lambda: self._input(stdin, stdin_file, stdin_fd, sandbox)) if given else None,
            shown=stdin or os.fsencode(f"the file {stdin_file}" if stdin_file else ""),
            cancel=cancel,
        )
        return verbs.run(
            self._store,
            job,
            observe=observe,
            lines=tail_lines,
            size=max_bytes,
            cancel=cancel,
            on_begin=on_begin,
        )

    def _input(self, stdin: bytes | None, file: str | None, opened: int, sandbox: "Profile | None") -> int:
        """Return a descriptor of a command's input."""
        from agent_exec.jobs.stdin import from_bytes, from_file

        if opened >= 0:
            return os.dup(opened)
        if stdin is not None:
            return from_bytes(self._store, stdin, _INPUT)
        if sandbox is None:
            return from_file(file or "")
        from agent_exec.faces.sandbox import hidden_by

        return from_file(file or "", hidden=hidden_by(sandbox, [self.root]))

    def status(self, job_id: str) -> "Answer":
        """Tell all about one job but its output."""
        return verbs.status(self._store, job_id)

    def tail(
        self,
        job_id: str,
        *,
        tail_lines: int | None = None,
        max_bytes: int = defaults.MAX_BYTES,
        cursor: str | None = None,
        merged: bool = False,
        grep: str | None = None,
    ) -> "Answer":
        """Return the end of a job's output, or what came since a cursor."""
        return verbs.tail(
            self._store, job_id, lines=tail_lines, size=max_bytes, cursor=cursor, merged=merged, grep=grep
        )

    def wait(
        self,
        job_id: str,
        *,
        seconds: float | None = defaults.WAIT,
        tail_lines: int = defaults.TAIL_LINES,
        max_bytes: int = defaults.MAX_BYTES,
        cancel: "Cancel | None" = None,
    ) -> "Answer":
        """Wait for the end of a job, and return the end of its output."""
        return verbs.wait(
            self._store, job_id, seconds=seconds, lines=tail_lines, size=max_bytes, cancel=cancel
        )

    async def await_end(
        self,
        job_id: str,
        *,
        seconds: float | None = defaults.WAIT,
        tail_lines: int = defaults.TAIL_LINES,
        max_bytes: int = defaults.MAX_BYTES,
    ) -> "Answer":
        """Await the end of a job, as `wait` does, under asyncio or trio.

        A cancelled task ends the wait and leaves the job alone.
        """
        from agent_exec.engine.awaiting import in_thread
        from agent_exec.model.cancel import Cancel

        cancel = Cancel()

        def wait() -> "Answer":
            return self.wait(
                job_id, seconds=seconds, tail_lines=tail_lines, max_bytes=max_bytes, cancel=cancel
            )

        return await in_thread(wait, cancel.set)

    def kill(
        self, job_id: str, *, signal: str = "TERM", wait: bool = True, cancel: "Cancel | None" = None
    ) -> "Answer":
        """End a job with all its processes, or send them a signal."""
        return verbs.kill(self._store, job_id, signal=signal, wait=wait, cancel=cancel)

    def list(
        self,
        *,
        cwd: str | None = None,
        states: "Sequence[str]" = (),
        tags: "Sequence[str]" = (),
        limit: int = defaults.LIST_LIMIT,
        within: "Callable[[str], bool] | None" = None,
    ) -> "Answer":
        """Tell of the newest jobs, of one working directory or of all; `within` says of which others."""
        return verbs.list_(self._store, cwd=cwd, states=states, tags=tags, limit=limit, within=within)

    def cwd_of(self, job_id: str) -> str:
        """Tell the working directory of a job."""
        return str(self._store.find(job_id).facts.get("cwd", ""))

    def read(self, job_id: str, stream: "Stream", start: int | None, size: int) -> "Excerpt":
        """Return some of a stream from an offset on, whole characters; None gives its end."""
        from agent_exec.jobs.excerpt import following, last

        job = self._store.find(job_id)
        if start is None:
            return last(job.folder, stream, lines=0, size=size, final=job.ended)
        return following(job.folder, stream, start, lines=0, size=size, final=job.ended)

    def extent(self, job_id: str, stream: "Stream") -> "tuple[int, bool]":
        """Return how many bytes have come of a stream, and whether no more will."""
        from agent_exec.logs.stream import Log

        job = self._store.find(job_id)
        return Log(job.folder, stream).total, job.ended

    def printed(self, job_id: str) -> "tuple[int, str]":
        """Return how many bytes a job has printed, and its newest line."""
        from agent_exec.jobs.excerpt import last_line
        from agent_exec.logs.stream import STREAMS, Log

        folder = self._store.find(job_id).folder
        logs = {stream: Log(folder, stream) for stream in STREAMS}
        newest = max(STREAMS, key=lambda stream: logs[stream].modified)
        return sum(log.total for log in logs.values()), last_line(folder, newest)

    def delete(self, job_id: str) -> "Answer":
        """Take away a job that has ended."""
        return verbs.delete(self._store, job_id)

    def gc(
        self,
        *,
        older_than: float = defaults.OLDER_THAN,
        max_jobs: int | None = None,
        max_bytes: int | None = None,
    ) -> "Answer":
        """Take away ended jobs that are older than so many seconds, or beyond so many jobs or bytes."""
        return verbs.gc(
            self._store,
            older_than=older_than,
            given=f"{older_than:g}s",
            max_jobs=max_jobs,
            max_bytes=max_bytes,
        )


def open_jobs(
    root: str | None = None,
    *,
    rules: "Rules" = IN_FORCE,
    approver: "Approver | None" = None,
    approval_policy: "ApprovalPolicy | None" = None,
) -> "Jobs":
    """Return the durable jobs of a folder, by default the one in force here.

    `rules`, a file of them or a Policy, judge what is to run; by default those
    in force, and with None no rules do. `approver` is asked where they say so,
    as `approval_policy` allows.
    """
    from agent_exec.settings import jobs_store

    gate = open_gate(rules, approver=approver, approval=approval_policy)
    return Jobs(jobs_store(root), gate, own=rule_files(rules))


def _order(
    argv: "Sequence[str]",
    cwd: str | None,
    env: "Mapping[str, str] | None",
    stdin: bytes | None,
    timeout: float | None,
    grace: float,
    tags: "Sequence[str]",
    leftovers: "Leftovers",
    quota: int,
    sandbox: "Profile | None",
    own: "Sequence[str]",
) -> "Order":
    from agent_exec.host import own_environment
    from agent_exec.jobs.order import Order

    # Checked here: what is wrong is told to the caller, and no supervisor meets it.
    command = Command(
        argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        limits=Limits(timeout=timeout, grace=grace),
        leftovers=leftovers,
    )
    given = [f"{os.fsdecode(name)}={os.fsdecode(value)}" for name, value in (command.env or {}).items()]
    environment = Environment(own_environment(), given=given)
    if quota and quota < defaults.SMALLEST_QUOTA:
        raise InvalidArgument(f"max_log_bytes must be 0 or {defaults.SMALLEST_QUOTA} at least; got {quota!r}")
    if sandbox is not None:
        from agent_exec.requests.dispatch import check_profile

        check_profile(sandbox)
    return Order(
        command.argv,
        cwd=here() if command.cwd is None else command.cwd,
        env=environment.values,
        env_keys=environment.given,
        tags=tags,
        timeout=timeout,
        grace=grace,
        leftovers=leftovers,
        quota=quota,
        sandbox=sandbox,
        own=own,
    )
