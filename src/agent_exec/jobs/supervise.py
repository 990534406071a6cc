"""The supervisor: a process that owns one job, from the making of its folder to the record of its end.

It is detached from the caller, holds the job's lock for life, owns the tree of
its command, and alone writes the job's files. It reports to the caller a word
a line; the record says the rest. The command is started, and that reported,
before the engine is loaded that takes it over.
"""

import gc
import os
from marshal import loads
from time import monotonic, time

from agent_exec.host import Control, FileLock, LocalSpawner, boot_id, signal_number, tell
from agent_exec.jobs.record import CONTROL, LOCK, RecordWriter, stamp
from agent_exec.jobs.start import ENDED, JOB, MARK, REFUSED, SIGNAL, STARTED
from agent_exec.jobs.store import Store, broken, created, new_id, place_of
from agent_exec.logs.stream import STREAMS, ArrivalWriter, LogWriter
from agent_exec.model.errors import AgentExecError, KeeperLost, SandboxUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.engine.run import Run
    from agent_exec.jobs.confined_job import BoxedSpawner
    from agent_exec.jobs.handoff import HandedSpawner
    from agent_exec.model.choices import Stream
    from agent_exec.model.command import Outcome
    from agent_exec.sandbox.report.guard import Guard

_LOOK_SECONDS, _LOOK_SHARE = 2.0, 50
"""How often the roots of a confined command are looked at, and how many times as long as a look takes."""

_REASONS = {"timeout": "timeout", "stopped": "killed"}


def main(fds: list[int]) -> None:
    """Take the order from the first descriptor, and report to the second; the third is the command's input.

    The others are those of the loopback network that its box shares, if it does.
    """
    orders, report, stdin, *loopback = fds
    local = OwnSpawner(stdin)
    request = take_order(orders)
    if request is None:
        return  # the caller has changed its mind
    os.close(orders)
    root, order = request
    job_id = new_id()
    local.call(job_id)
    spawner: Any = local
    if order["sandbox"] is not None:
        from agent_exec.jobs.confined_job import BoxedSpawner

        spawner = BoxedSpawner(stdin, order["sandbox"], root, given=order["env_keys"], loopback=loopback)
    try:
        job = Supervisor(Store(root), job_id, order, spawner, report)
    except AgentExecError as error:
        refuse(report, error)
        return
    try:
        job.serve()
    except BaseException:
        spawner.abandon()  # an error of ours, and no reason to leave an orphan
        raise


def refuse(report: int, error: AgentExecError) -> None:
    """Report why there is no job."""
    from agent_exec.model.jsonline import dump

    told = {"code": error.code, "message": error.message, "details": dict(error.details)}
    tell(report, f"{REFUSED} {dump(told)}\n".encode())


def preload() -> None:
    """Load all that a supervisor will need, for a process that forks many."""
    import agent_exec.engine.loop
    import agent_exec.engine.run  # noqa: F401
    from agent_exec.host import hide_arguments, on_terminate  # noqa: F401

    boot_id()


def take_order(fd: int) -> "Any":
    """Read the whole order; None if it never comes."""
    data = b""
    while len(data) < 8 or len(data) - 8 < int.from_bytes(data[:8], "little"):
        more = os.read(fd, 1 << 16)
        if not more:
            return None
        data += more
    return loads(data[8:])


class OwnSpawner(LocalSpawner):
    """Gives the command a process in no box, of which the record has nothing to tell."""

    __slots__ = ()

    room = 0
    """How many more bytes of the record are reserved for its end."""
    keep = 0
    """How many of the last bytes of each stream the run keeps."""
    boxed = False
    """True if a sandbox helper owns the process tree."""
    guard = None
    ran = False
    """True if the command ran before there was a job."""

    def report(self, _outcome: "Outcome") -> "dict[str, Any]":
        """Return what the record says of the box when the command has ended."""
        return {}


class Supervisor:
    """One job, and all that is held for it."""

    def __init__(
        self,
        store: Store,
        job_id: str,
        order: "dict[str, Any]",
        spawner: "OwnSpawner | BoxedSpawner | HandedSpawner",
        report: int,
    ) -> None:
        self._store = store
        self._id = job_id
        self._order = order
        self._spawner = spawner
        self._report = report
        self._run: Run | None = None
        self._arrivals: ArrivalWriter | None = None
        self._began = 0.0
        self._terminated = False
        self._discard = False
        self._elsewhere = False  # whether the command's pid means nothing here
        cwd = place_of(order["cwd"])
        self._folder = store.make(job_id, cwd)
        try:
            self.lock = FileLock(os.path.join(self._folder, LOCK))
            self.lock.acquire()
            self.lock.sign()
            self._control = Control.create(os.path.join(self._folder, CONTROL))
            self._logs = {stream: LogWriter(self._folder, stream, order["quota"]) for stream in STREAMS}
            # Last, for it makes the job one that others see.
            self._record = RecordWriter(self._folder, _first_facts(job_id, cwd, order), spawner.room)
        except BaseException as error:
            store.remove(job_id, cwd)
            if isinstance(error, OSError):
                raise broken(error, store.root) from error
            raise

    def serve(self) -> None:
        """Run the command to its end, and record it."""
        self._tell(f"{JOB} {self._id}")
        try:
            command = self._spawner.start(self._order["argv"], self._order["cwd"], self._environment())
            if command is not None:
                self._note_start(*command)
            run = self._take_over()
            while not run.done:
                self._loop.turn()
            outcome = run.outcome()
            facts = self._ending(outcome) | self._spawner.report(outcome)
        except AgentExecError as error:
            self._spawner.abandon()
            if self._spawner.ran and not self._began:
                self._note_start()  # before us, and it was gone before it could be identified
            facts = self._failure(error)
        self._publish(facts)
        if not self._spawner.gone:
            self._stay()
        self._spawner.close()

    def _environment(self) -> dict[bytes, bytes]:
        env: dict[bytes, bytes] = self._order["env"]
        if self._order["mark"]:
            env[MARK.encode()] = self._id.encode()
        return env

    def _note_start(self, pid: int = 0, start: int = 0) -> None:
        """Record and report that the command runs, and its identity if that is known."""
        self._began = monotonic()
        who = {"pid": pid, "start": start, "boot": boot_id()} if pid else {}
        self._record.append({**who, "started_at": stamp(time())})
        self._tell(STARTED)

    def _note(self, event: str, _detail: object) -> None:
        """Hear that the command was started, where that was not done ahead."""
        if event != "spawned" or self._began or self._run is None:
            return
        who = None if self._elsewhere else self._run.identity
        self._note_start(*((who.pid, who.start) if who is not None else ()))

    def _take_over(self) -> "Run":
        """Load the engine, and have it run the command to its end."""
        from agent_exec.engine.loop import Loop
        from agent_exec.engine.run import Run
        from agent_exec.host import hide_arguments, on_terminate
        from agent_exec.model.command import Command, Limits
        from agent_exec.model.output import Head, Tail

        order = self._order
        self._loop = Loop(many=False, wakeable=True)
        command = Command(
            order["argv"],
            cwd=order["cwd"],
            env=order["env"],
            limits=Limits(timeout=order["timeout"], grace=order["grace"]),
            leftovers=order["leftovers"],
            keep=Tail(self._spawner.keep) if self._spawner.keep else Head(0),
            on_output=self._keep,
            on_event=self._note,
        )
        launch = self._spawner.prepare(command)
        self._elsewhere = launch.box is not None and launch.box.own_pids
        guard = self._spawner.guard
        run = Run(command, launch, self._loop, self._spawner, _nothing, guard=guard)
        self._run = run
        on_terminate(self._terminate)
        self._control.listen(self._loop, self._heard)
        self.lock.on_deletion(self._loop, self._deleted)
        run.launch()
        if guard is not None:
            self._loop.after(_LOOK_SECONDS, lambda: self._look_again(guard))
        if self._spawner.stdin >= 0:
            os.close(self._spawner.stdin)
        self._tick()
        # A command that kills by a word in command lines does not mean this process.
        hide_arguments(f"agent-exec: supervisor of {self._id}")
        # Unlike the caller's, this life may be long; what is loaded stays, and need not be looked through.
        gc.freeze()
        gc.enable()
        return run

    def _look_again(self, guard: "Guard") -> None:
        """Have what the command must not make taken away while it runs: that may be for days."""
        began = monotonic()
        guard.look()
        pause = max(_LOOK_SECONDS, _LOOK_SHARE * (monotonic() - began))
        self._loop.after(pause, lambda: self._look_again(guard))

    def _tell(self, line: str) -> None:
        tell(self._report, f"{line}\n".encode())

    def _keep(self, stream: "Stream", chunk: bytes) -> None:
        """Write what the command has printed."""
        if self._discard:
            return
        log = self._logs[stream]
        if self._arrivals is None:
            self._arrivals = ArrivalWriter(self._folder)
        self._arrivals.note(stream, log.total)
        log.write(chunk)

    def _heard(self, line: str) -> None:
        """Do what a line from the control pipe asks for."""
        word, _, rest = line.partition(" ")
        run = self._run
        number = signal_number(rest)
        if run is None or number is None:
            return
        if run.done:
            self._end_left(number, only_signal=word == SIGNAL)
        elif word == SIGNAL:
            run.signal(number)
        elif number == signal_number("KILL"):
            run.kill()
        else:
            run.stop(number)

    def _deleted(self) -> None:
        """Stop the command: the job's files were deleted, and no verb can reach it any more."""
        if self._run is not None and not self._run.done:
            self._run.stop()

    def _terminate(self) -> None:
        """End the job before this process, which was asked to end."""
        self._terminated = True
        if self._run is not None and self._run.done:
            self._end_left(signal_number("TERM") or 0)
        elif self._run is not None:
            self._run.stop()

    def _end_left(self, number: int, *, only_signal: bool = False) -> None:
        """Signal what was left alive; unless that is all, end it by force after the grace."""
        left = self._spawner.current
        if left is None:
            return
        if only_signal:
            left.signal(number)
        elif number == signal_number("KILL"):
            left.kill()
        else:
            left.terminate(number)
            self._loop.after(self._order["grace"], left.kill)

    def _tick(self) -> None:
        """Touch the lock from time to time, as a sign of life."""
        every = self._order["progress"]
        if every:
            try:
                os.utime(os.path.join(self._folder, LOCK))
            except OSError:
                pass  # the job is being taken away
            self._loop.after(every, self._tick)

    def _ending(self, outcome: "Outcome") -> "dict[str, Any]":
        """Return the facts of how a command ended."""
        reason = _REASONS.get(outcome.cause or "")
        if reason == "killed" and self._terminated:
            reason = "supervisor_terminated"
        return {
            "state": "killed" if outcome.cause or outcome.signal else "exited",
            "exit_code": None if outcome.signal else outcome.exit_code,
            "signal": outcome.signal,
            "reason": reason,
            "timed_out": outcome.timed_out,
            "duration_ms": self._duration_ms,
            "leaked": outcome.leaked,
            "output_complete": self._output_complete,
        }

    def _failure(self, error: AgentExecError) -> "dict[str, Any]":
        """Return the facts of a job whose command never ran, or was lost with its box or keeper."""
        lost = isinstance(error, KeeperLost)
        gone = lost and self._spawner.boxed
        reason = "sandbox_lost" if gone else "supervisor_lost" if lost else "spawn_failed"
        return {
            "state": "failed",
            "exit_code": None,
            "signal": None,
            "reason": reason if self._began else "spawn_failed",
            "code": SandboxUnavailable.code if gone else error.code,
            "message": error.message,
            "timed_out": False,
            "duration_ms": self._duration_ms if self._began else 0,
            "leaked": False,
            "output_complete": self._output_complete,
        }

    @property
    def _duration_ms(self) -> int:
        return round((monotonic() - self._began) * 1000)

    @property
    def _output_complete(self) -> bool:
        return self._spawner.gone and not any(log.lost for log in self._logs.values())

    def _publish(self, facts: "dict[str, Any]") -> None:
        """Record how it ended, report it, and have all of it on the disk."""
        facts |= {f"{stream}_total_bytes": log.total for stream, log in self._logs.items()}
        facts["finished_at"] = stamp(time())
        self._record.append(facts)
        self._store.settle(self._id)
        self._tell(ENDED)
        os.close(self._report)
        if self._spawner.gone:
            self._control.close()
        for log in self._logs.values():
            log.sync()
        self._record.finish()

    def _stay(self) -> None:
        """Go on taking the output of what was to be left alive, until it is gone."""
        while not self._spawner.gone:
            self._discard = any(log.abandoned for log in self._logs.values())
            self._loop.turn()
        self._control.close()


def _nothing(_run: "Run") -> None:
    pass


def _first_facts(job_id: str, cwd: str, order: "dict[str, Any]") -> "dict[str, Any]":
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
    return facts
