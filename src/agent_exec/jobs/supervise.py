"""The supervisor: a process that owns one job, from the making of its folder to the record of its end.

It is detached from the caller, holds the job's lock for life, owns the tree of
its command, and alone writes the job's files. It reports to the caller a word
a line; the record says the rest. The command is started, and that reported,
before the engine is loaded that takes it over.
"""

import gc
import os
from time import monotonic, time

from agent_exec.host import LocalSpawner, boot_id, signal_number, tell
from agent_exec.jobs.events import ending_fields, have_told
from agent_exec.jobs.owned import OwnedJob, ending, failure, never_started, rewound
from agent_exec.jobs.record import LOCK, stamp
from agent_exec.jobs.start import (
    AMEND,
    END,
    ENDED,
    HELD,
    JOB,
    MARK,
    SIGNAL,
    STARTED,
    TIMEOUT,
    refuse,
    take_order,
)
from agent_exec.jobs.store import Store, new_id, place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.engine.loop import Loop
    from agent_exec.engine.run import Run
    from agent_exec.jobs.confined_job import BoxedSpawner
    from agent_exec.jobs.handoff import HandedSpawner
    from agent_exec.jobs.readiness.checks import CheckBox
    from agent_exec.model import errors
    from agent_exec.model.choices import Stream
    from agent_exec.model.command import Outcome
    from agent_exec.sandbox.report.guard import Guard
else:
    from agent_exec.model.lazy import Later

    errors = Later("agent_exec.model.errors")  # a start that succeeds needs none

_LOOK_SECONDS, _LOOK_SHARE = 2.0, 50
"""How often the roots of a confined command are looked at, and how many times as long as a look takes."""


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
    job_id = order["again"]["id"] if order["again"] else new_id()
    local.call(job_id)
    spawner: Any = local
    if order["sandbox"] is not None:
        from agent_exec.jobs.confined_job import BoxedSpawner

        spawner = BoxedSpawner(stdin, order["sandbox"], root, given=order["env_keys"], loopback=loopback)
    try:
        job = Supervisor(Store(root), job_id, order, spawner, report)
    except errors.AgentExecError as error:
        refuse(report, error)
        return
    if stdin >= 0 and order["terms"]:
        job.input = os.dup(stdin)
    try:
        job.serve()
    except BaseException:
        spawner.abandon()  # an error of ours, and no reason to leave an orphan
        raise


def preload() -> None:
    """Load all that a supervisor will need, for a process that forks many."""
    import agent_exec.engine.loop
    import agent_exec.engine.run  # noqa: F401
    from agent_exec.host import hide_arguments, on_terminate  # noqa: F401

    boot_id()


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

    def check_box(self) -> None:
        """Return what makes a box for a check: no box."""

    def renew(self, stdin: int) -> "OwnSpawner":
        """Return a spawner for another attempt, once nothing of the last one is left."""
        self.ahead = self.current = None
        self.gone = False
        self.stdin = stdin
        return self


class NeverStarted(Exception):
    """The command was not started: the job was ended while it waited."""


class Supervisor(OwnedJob):
    """One job, and all that is held for it."""

    loop: "Loop"
    """What its duties may watch by: there once the job waits, or its command runs."""
    input = -1
    """The command's input, for further attempts; -1 if there is none, or no attempt can follow."""

    def __init__(
        self,
        store: Store,
        job_id: str,
        order: "dict[str, Any]",
        spawner: "OwnSpawner | BoxedSpawner | HandedSpawner",
        report: int,
    ) -> None:
        super().__init__(store, job_id, order, spawner.room)
        self._recalled = False
        if order["terms"]:
            from agent_exec.jobs.duties import load

            self._duties = load(self, order["terms"])
        self._spawner = spawner
        self._report = report
        self._run: Run | None = None
        self._began = 0.0
        self._terminated = False
        self._discard = False
        self._ticks = 0.0
        self._written: dict[str, Any] = {}
        self._elsewhere = False  # whether the command's pid means nothing here
        self._make()

    def serve(self) -> None:
        """Run the command to its end, as often as it is to be run, and record that."""
        self.tell(f"{JOB} {self.id}")
        facts = self._run_once()
        while self._duties and self._begin_again(facts):
            facts = self._run_once()
        self._publish(facts)
        have_told(self.store, self.id)
        if not self._spawner.gone:
            self._stay()
        self._spawner.close()

    def _run_once(self) -> "dict[str, Any]":
        """Run the command to its end, and return how it ended."""
        try:
            if self._duties:
                self._hold()
            command = self._spawner.start(self.order["argv"], self.order["cwd"], self._environment())
            if command is not None:
                self._note_start(*command)
            run = self._take_over()
            while not run.done:
                self.loop.turn()
            outcome = run.outcome()
            facts = ending(outcome, terminated=self._terminated) | self._spawner.report(outcome)
        except NeverStarted:
            self._spawner.abandon()
            facts = never_started(terminated=self._terminated)
        except errors.AgentExecError as error:
            self._spawner.abandon()
            if self._spawner.ran and not self._began:
                self._note_start()  # before us, and it was gone before it could be identified
            facts = failure(error, began=bool(self._began), boxed=self._spawner.boxed)
        for duty in self._duties:
            stream, held = duty.rest()
            if held:
                self._write(stream, held)
        facts["duration_ms"] = round((monotonic() - self._began) * 1000) if self._began else 0
        facts["output_complete"] = self._spawner.gone and not any(log.lost for log in self._logs.values())
        facts |= {f"{stream}_total_bytes": log.total for stream, log in self._logs.items()}
        facts["finished_at"] = stamp(time())
        for duty in self._duties:
            duty.ended(facts)
        return facts

    def _begin_again(self, facts: "dict[str, Any]") -> bool:
        """Begin the next attempt, once it is its time; False if there is to be none, or there is no room."""
        pauses = [duty.pause(facts) for duty in self._duties]
        pause = min((pause for pause in pauses if pause is not None), default=None)
        if pause is None or not self._spawner.gone:
            return False
        if not self._recalled:
            facts |= {"retrying": True, "next_attempt_at": stamp(time() + pause)}
            self._record.append(facts)
            self._written = dict(facts)
            self.event("retrying", **ending_fields(facts))
            self._run = None
            self._began = 0.0
            self._wait_for(pause)
            facts |= {"retrying": False, "next_attempt_at": None}
        if self._recalled:
            reason = "supervisor_terminated" if self._terminated else "killed"
            facts |= {
                "attempt_state": facts["state"],
                "state": "killed",
                "reason": reason,
                "timed_out": False,
            }
            facts["finished_at"] = stamp(time())
            return False
        former, logs = self._record, self._logs
        try:
            self._open_attempt(self.attempt + 1, place_of(self.order["cwd"]))
        except OSError:
            return False
        for log in logs.values():
            log.sync()
            log.close()
        former.finish()
        self._written = {}
        self._spawner = self._spawner.renew(rewound(self.input))
        return True

    def _wait_for(self, seconds: float) -> None:
        """Wait until it is time for the next attempt, or the job is ended."""
        over: list[bool] = []
        timer = self.loop.after(seconds, lambda: over.append(True))
        while not (over or self._recalled):
            self.loop.turn()
        timer.cancel()

    def _hold(self) -> None:
        """Wait until every duty lets the command start; raise NeverStarted if the job is ended before."""
        self._listen()
        for duty in self._duties:
            duty.hold()
        if not all(duty.ready() for duty in self._duties):
            self.event("waiting")
            self.tell(HELD)
            self._settle()
        while not (self._recalled or all(duty.ready() for duty in self._duties)):
            self.loop.turn()
        if self._recalled:
            raise NeverStarted

    def _environment(self) -> dict[bytes, bytes]:
        env: dict[bytes, bytes] = self.order["env"]
        if self.order["mark"]:
            env[MARK.encode()] = self.id.encode()
        return env

    def _note_start(self, pid: int = 0, start: int = 0) -> None:
        """Record and report that the command runs, and its identity if that is known."""
        self._began = monotonic()
        who: dict[str, Any] = {"pid": pid, "start": start, "boot": boot_id()} if pid else {}
        now, timeout = time(), self.order["timeout"]
        if timeout is not None:
            who["deadline_ms"] = round((now + timeout) * 1000)
        who["started_ms"] = round(now * 1000)
        self._record.append({**who, "started_at": stamp(now)})
        self.event("started", **({"pid": pid} if pid else {}))
        self.tell(STARTED)
        for duty in self._duties:
            duty.started()

    def _note(self, event: str, _detail: object) -> None:
        """Hear that the command was started, where that was not done ahead."""
        if event != "spawned" or self._began or self._run is None:
            return
        who = None if self._elsewhere else self._run.identity
        self._note_start(*((who.pid, who.start) if who is not None else ()))

    def _take_over(self) -> "Run":
        """Load the engine, and have it run the command to its end."""
        from agent_exec.engine.run import Run
        from agent_exec.model.command import Command, Limits
        from agent_exec.model.output import Head, Tail

        order = self.order
        self._listen()
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
        self._run = run = Run(command, launch, self.loop, self._spawner, lambda _run: None, guard=guard)
        run.launch()
        if self._recalled:
            run.stop()  # this process was asked to end before there was a run to stop
        if guard is not None:
            self.loop.after(_LOOK_SECONDS, lambda: self._look_again(guard))
        if self._spawner.stdin >= 0:
            os.close(self._spawner.stdin)
        if not self._ticks:
            self._tick()
        self._settle()
        return run

    def _listen(self) -> None:
        """Make the loop, and hear from inside it what is asked of this job; harmless when repeated."""
        if hasattr(self, "loop"):
            return
        from agent_exec.engine.loop import Loop
        from agent_exec.host import on_terminate

        self.loop = Loop(many=False, wakeable=True)
        on_terminate(self._terminate)
        self._control.listen(self.loop, self._heard)
        self.lock.on_deletion(self.loop, self._deleted)

    def _settle(self) -> None:
        """Get ready for a life that may be long, unlike the caller's; harmless when repeated."""
        if gc.isenabled():
            return  # freezing again would keep the garbage of former attempts
        from agent_exec.host import hide_arguments

        # A command that kills by a word in command lines does not mean this process.
        hide_arguments(f"agent-exec: supervisor of {self.id}")
        gc.freeze()  # what is loaded stays, and need not be looked through
        gc.enable()

    def _look_again(self, guard: "Guard") -> None:
        """Have what the command must not make taken away while it runs: that may be for days."""
        began = monotonic()
        guard.look()
        pause = max(_LOOK_SECONDS, _LOOK_SHARE * (monotonic() - began))
        if guard is self._spawner.guard:
            self.loop.after(pause, lambda: self._look_again(guard))

    def stop(self) -> None:
        """Stop the command, by force after its grace."""
        if self._run is not None and not self._run.done:
            self._run.stop()

    def check_box(self) -> "CheckBox | None":
        """Return what makes a box for a check of this job; None if the command is not confined."""
        return self._spawner.check_box()

    def tell(self, line: str) -> None:
        """Report a line to the caller, if it still listens."""
        tell(self._report, f"{line}\n".encode())

    def _keep(self, stream: "Stream", chunk: bytes) -> None:
        """Write what the command has printed."""
        if self._discard:
            return
        for duty in self._duties:
            chunk = duty.passed(stream, chunk)
        if chunk:
            self._write(stream, chunk)

    def _heard(self, line: str) -> None:
        """Do what a line from the control pipe asks for."""
        word, _, rest = line.partition(" ")
        if word == AMEND:
            self._amend(rest)
            return
        if word not in (END, SIGNAL):
            for duty in self._duties:
                duty.heard(word, rest)
            return
        run, number = self._run, signal_number(rest)
        if number is None:
            return
        self._recalled = self._recalled or word == END  # also between two attempts
        if run is None:
            return
        if run.done:
            self._end_left(number, only_signal=word == SIGNAL)
        elif word == SIGNAL:
            run.signal(number)
        elif number == signal_number("KILL"):
            run.kill()
        else:
            run.stop(number)

    def _amend(self, name: str) -> None:
        """Write the facts in a file of the job's folder to the record, then delete it: that is the answer."""
        from agent_exec.jobs.record import take_facts

        path = os.path.join(self.folder, os.path.basename(name))
        facts = take_facts(path)
        if facts is None:
            return
        moved = TIMEOUT in facts
        if moved and (self._run is None or self._run.phase != "running"):
            os.unlink(path)  # too late: the record does not change
            return
        try:
            self._record.amend(facts)
        except OSError:
            return  # the file stays: the asker hears that nothing was written
        if moved and self._run is not None:
            left = facts[TIMEOUT]
            self._run.expire(None if left is None else left / 1000)
        self.order["tags"] = facts.get("tags", self.order["tags"])  # which the next attempt has too
        from agent_exec.jobs.duties import hear_amended

        self._duties = hear_amended(self, self._duties, facts)
        self.wake_followers()
        os.unlink(path)

    def _deleted(self) -> None:
        """Stop the command: the job's files were deleted, and no verb can reach it any more."""
        self._recalled = True
        self.stop()

    def _terminate(self) -> None:
        """End the job before this process, which was asked to end."""
        self._terminated = self._recalled = True
        if self._run is not None and self._run.done:
            self._end_left(signal_number("TERM") or 0)
        elif self._run is not None:
            self._run.stop()
        else:
            self.loop.post(lambda: None)  # it waits, and looks again

    def _end_left(self, number: int, *, only_signal: bool = False) -> None:
        """Signal what was left alive; unless that is all, end it by force after the grace."""
        if (left := self._spawner.current) is None:
            return
        if only_signal:
            left.signal(number)
        elif number == signal_number("KILL"):
            left.kill()
        else:
            left.terminate(number)
            self.loop.after(self.order["grace"], left.kill)

    def _tick(self) -> None:
        """Touch the lock from time to time, as a sign of life."""
        every = self._ticks = self.order["progress"]
        if every:
            try:
                os.utime(os.path.join(self.folder, LOCK))
            except OSError:
                pass  # the job is being taken away
            self.loop.after(every, self._tick)

    def _publish(self, facts: "dict[str, Any]") -> None:
        """Record how it ended, report it, and have all of it on the disk."""
        known = self._written.items()  # on record already, if the next attempt was waited for
        self._record.append({name: value for name, value in facts.items() if (name, value) not in known})
        if self.event("ended", **ending_fields(facts)):
            self.store.settle(self.id)  # else the index says that readers of events look at the record
        self.tell(ENDED)
        os.close(self._report)
        if self._spawner.gone:
            self._control.close()
        else:
            self.wake_followers()  # which hear no hang-up yet
        for log in self._logs.values():
            log.sync()
        self._record.finish()
        for duty in self._duties:
            duty.published(facts)

    def _stay(self) -> None:
        """Go on taking the output of what was to be left alive, until it is gone."""
        while not self._spawner.gone:
            self._discard = any(log.abandoned for log in self._logs.values())
            self.loop.turn()
        self._control.close()
