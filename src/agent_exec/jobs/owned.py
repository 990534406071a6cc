"""What a supervisor holds of its job: lock, control pipe, the current attempt's files, and facts for them."""

import os

from agent_exec.host import Control, FileLock
from agent_exec.jobs.events import EventWriter, creation_fields
from agent_exec.jobs.record import CONTROL, LOCK, stamp
from agent_exec.jobs.record_writer import RecordWriter
from agent_exec.jobs.store import broken, created, place_of
from agent_exec.logs.stream import STREAMS
from agent_exec.logs.writing import ArrivalWriter, LogWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.jobs.duties import Duty
    from agent_exec.jobs.store import Store
    from agent_exec.model import errors
    from agent_exec.model.choices import Stream
    from agent_exec.model.command import Outcome

    Facts = dict[str, Any]
else:
    from agent_exec.model.lazy import Later

    errors = Later("agent_exec.model.errors")  # a start that succeeds needs none

VARIABLES, INPUT = "variables", "input"
"""Files of a job that was created and not started: values of variables, and input."""


class OwnedJob:
    """A job that this process owns: it holds the lock, and alone writes the files.

    `room` is how many more bytes of a record are reserved for its last line.
    """

    lock: FileLock
    home: str
    """The folder of the current attempt's record and logs."""
    _control: Control
    _record: RecordWriter
    _logs: "dict[Stream, LogWriter]"

    def __init__(self, store: "Store", job_id: str, order: "dict[str, Any]", room: int) -> None:
        self.store = store
        self.id = job_id
        self.order = order
        self.attempt = 1
        self.folder = store.folder(job_id)
        self._room = room
        self._arrivals: ArrivalWriter | None = None
        self._duties: Sequence[Duty] = ()
        self._events = EventWriter(store.root, job_id)

    def _make(self) -> None:
        """Make the job, or the attempt at one that exists which the order names."""
        again = self.order["again"]
        try:
            if again is None:
                self._make_new()
            else:
                self._make_again(again["attempt"])
        except OSError as error:
            raise broken(error, self.store.root) from error

    def _make_new(self) -> None:
        cwd = place_of(self.order["cwd"])
        self.store.make(self.id, cwd)
        try:
            self.lock = FileLock(os.path.join(self.folder, LOCK))
            self.lock.acquire()
            self._open(cwd)
        except BaseException:
            self.store.remove(self.id, cwd)
            raise

    def _make_again(self, attempt: int) -> None:
        from agent_exec.jobs.attempts import claim

        self.lock = claim(self.store, self.id, attempt)
        try:
            self.store.revive(self.id)
            self.attempt = attempt
            self._open(place_of(self.order["cwd"]))
        except BaseException:
            if attempt > 1:
                self.store.settle(self.id)
            raise
        for name in (VARIABLES, INPUT):  # which are not needed any more
            try:
                os.unlink(os.path.join(self.folder, name))
            except OSError:
                continue

    def _open(self, cwd: str) -> None:
        """Say that this process owns the job, and make the record and the logs."""
        self.lock.sign()
        self._control = Control.create(os.path.join(self.folder, CONTROL))
        if self.attempt > 1:
            self._open_attempt(self.attempt, cwd)
            return
        self.home = self.folder
        self._logs = self._new_logs(self.home)
        facts = self._first_facts(cwd)
        # Last, for it makes the job one that others see.
        if self.order["again"] is None:
            self._record = RecordWriter(self.home, facts, self._room)
            self._events.note("created", creation_fields(facts))
        else:
            self._record = RecordWriter.reopen(self.home, self._room)
            self._record.amend(facts | {"awaits": None})
            self.wake_followers()  # which could not hear of it before

    def _open_attempt(self, attempt: int, cwd: str) -> None:
        """Make the record and the logs of a further attempt, and make it the current one.

        Raise OSError if there is no room for it: then the former one is still the current one.
        """
        from agent_exec.jobs.attempts import commit, make

        home = make(self.folder, attempt)
        logs = self._new_logs(home)
        facts = self._first_facts(cwd) | {"attempt": attempt}
        record = RecordWriter(home, facts, self._room)
        try:
            if hasattr(self, "_record") and self.attempt == 1:
                self._record.amend({"attempt": attempt})  # this process has the job's own record open
            else:
                commit(self.folder, attempt)
        except BaseException:
            record.finish()
            raise
        self.attempt, self.home, self._logs, self._record = attempt, home, logs, record
        if self._arrivals is not None:
            self._arrivals.close()
            self._arrivals = None
        self._events.begin(attempt)

    def _new_logs(self, home: str) -> "dict[Stream, LogWriter]":
        return {stream: LogWriter(home, stream, self.order["quota"]) for stream in STREAMS}

    def _first_facts(self, cwd: str) -> "dict[str, Any]":
        facts = first_facts(self.id, cwd, self.order)
        for duty in self._duties:
            facts |= duty.facts()
        return facts

    def append(self, facts: "dict[str, Any]") -> None:
        """Write more facts to the record; none if the disk is full."""
        try:
            self._record.amend(facts)
        except OSError:
            return  # the room that is left is for the end
        self.wake_followers()

    def wake_followers(self) -> None:
        """Have the jobs that wait for this one look again."""
        from agent_exec.jobs.hearing import followers, wake

        wake(self.store, followers(self.store, self.id), self.id)

    def event(self, kind: str, **fields: "Any") -> bool:
        """Write an event of this job to the log of the store; False if that has no room.

        The fields are those of an event in the schema: what else is known goes into `details`.
        """
        found = self._events.note(kind, fields)
        written = self._events.write()
        for duty in self._duties:
            duty.noted(found)
        return written

    def _write(self, stream: "Stream", chunk: bytes) -> None:
        log = self._logs[stream]
        if self._arrivals is None:
            self._arrivals = ArrivalWriter(self.home)
        self._arrivals.note(stream, log.total)
        log.write(chunk)
        for duty in self._duties:
            duty.printed(stream, chunk)


_REASONS = {"timeout": "timeout", "stopped": "killed"}


def first_facts(job_id: str, cwd: str, order: "Facts") -> "Facts":
    """Return the first line of the record: names of variables, never their values."""
    timeout = order["timeout"]
    facts = {
        "job_id": job_id,
        "command": order["argv"],
        "cwd": cwd,
        "created_at": stamp(created(job_id)),
        "supervisor_pid": os.getpid(),
        "env_keys": order["env_keys"],
        "tags": order["tags"],
        "timeout_ms": None if timeout is None else round(timeout * 1000),
        "kill_after_ms": round(order["grace"] * 1000),
        "leftovers": order["leftovers"],
        "max_log_bytes": order["quota"],
    }
    if order["sandbox"] is not None:
        facts["sandbox"] = {name: order["sandbox"][name] for name in ("profile", "policy")}
    more = _unusual(order)
    if more:
        facts["order"] = more
    return facts


def _unusual(order: "Facts") -> "Facts":
    """Return what else must be known to start the command again, where it is not the default."""
    more: Facts = {name: order[name] for name in ("progress", "terms", "input") if order[name]}
    more |= {name: False for name in ("mark", "inherit") if not order[name]}
    box = order["sandbox"]
    if box is not None and "text" in box:
        more["sandbox"] = {name: box[name] for name in ("text", "own", "loopback")}
    return more


def ending(outcome: "Outcome", *, terminated: bool) -> "Facts":
    """Return how a command ended; `terminated` is True if its supervisor was asked to end."""
    reason = _REASONS.get(outcome.cause or "")
    if reason == "killed" and terminated:
        reason = "supervisor_terminated"
    ended, left = outcome.tally
    counts = {"processes_ended": ended, "processes_left": left} if ended else {}
    return counts | {
        "state": "killed" if outcome.cause or outcome.signal else "exited",
        "exit_code": None if outcome.signal else outcome.exit_code,
        "signal": outcome.signal,
        "reason": reason,
        "timed_out": outcome.timed_out,
        "leaked": outcome.leaked,
    }


def never_started(*, terminated: bool) -> "Facts":
    """Return the end of a job that was ended while its command waited."""
    return {
        "state": "killed",
        "exit_code": None,
        "signal": None,
        "reason": "supervisor_terminated" if terminated else "killed",
        "timed_out": False,
        "leaked": False,
    }


def failure(error: "errors.AgentExecError", *, began: bool, boxed: bool) -> "Facts":
    """Return the end of a job whose command never ran, or was lost with its box or keeper."""
    lost = isinstance(error, errors.KeeperLost)
    gone = lost and boxed
    never = error.code if isinstance(error, errors.DependencyFailed) else "spawn_failed"
    reason = "sandbox_lost" if gone else "supervisor_lost" if lost else never
    return {
        "state": "failed",
        "exit_code": None,
        "signal": None,
        "reason": reason if began else never,
        "code": errors.SandboxUnavailable.code if gone else error.code,
        "message": error.message,
        "timed_out": False,
        "leaked": False,
    }


def rewound(fd: int) -> int:
    """Return a copy of a descriptor, at the beginning of its file; -1 if there is none."""
    if fd < 0:
        return -1
    try:
        os.lseek(fd, 0, os.SEEK_SET)
    except OSError:
        pass  # a device, which has no beginning
    return os.dup(fd)
