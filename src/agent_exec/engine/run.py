"""A Run: one Command from spawn to Outcome."""

import sys
from _thread import TIMEOUT_MAX, RLock, allocate_lock
from time import monotonic

from agent_exec.host import identify, signal_number
from agent_exec.model.command import Outcome, Terminal
from agent_exec.model.errors import AgentExecError, InputClosed, InvalidArgument, InvalidState, KeeperLost
from agent_exec.model.lifecycle import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from agent_exec.engine.confinement import Watch
    from agent_exec.engine.loop import Loop, Timer
    from agent_exec.host.ports import Gaze, Process, Spawner
    from agent_exec.model.choices import Cause, Phase, Stream
    from agent_exec.model.command import Command, Launch
    from agent_exec.model.identity import Identity
    from agent_exec.model.lifecycle import Effect, Event


class Run:
    """A command that was started, or waits for a slot.

    Any thread may call its methods: `wait` and `outcome` wait, others return at once, and act in order.
    """

    def __init__(
        self,
        command: "Command",
        launch: "Launch",
        loop: "Loop",
        spawner: "Spawner",
        ended: "Callable[[Run], object]",
        drive: "Callable[[Run, float | None], object] | None" = None,
        guard: "Watch | None" = None,
    ) -> None:
        self.command = command
        self.guard = guard
        self._launch = launch
        self._loop = loop
        self._spawner = spawner
        self._ended = ended
        self._drive = drive
        self._on_event = command.on_event
        self._phase: Phase = "queued"
        self._process: Process | None = None
        self._timer: Timer | None = None
        self._stdout = command.keep.fresh()
        self._stderr = command.keep.fresh()
        self._timeout = command.limits.timeout
        self._spawned = 0.0
        self._pid: int | None = None
        self._polite: int | None = None  # the signal it is asked to end with, if not the usual one
        self._start = 0
        self._cause: Cause | None = None
        self._exit_code: int | None = None
        self._signal: str | None = None
        self._leaked = False
        self._error: BaseException | None = None
        self._outcome: Outcome | None = None
        self._early: list[Callable[[Process], object]] = []
        self._held: list[Callable[[], object]] | None = None  # asked for while it is being handed over
        self._writing = RLock()
        self._waiting = 0  # how much input is on its way through the inbox
        self._direct = False  # whether input may pass it by
        self._over = False
        self._future: Future[Outcome] | None = None
        self._done = allocate_lock()
        self._done.acquire()

    def __repr__(self) -> str:
        return f"<Run {self.command.argv[0]!r} pid={self._pid} {self._phase}>"

    @property
    def phase(self) -> "Phase":
        """Where it stands now."""
        return self._phase

    @property
    def pid(self) -> int | None:
        """The pid of its main process; None before it is started."""
        return self._pid

    @property
    def identity(self) -> "Identity | None":
        """The identity of its main process; None before it is started, or once it is gone."""
        found = None if self._pid is None else identify(self._pid)
        return found if found is not None and found.start == self._start else None

    @property
    def done(self) -> bool:
        """True if it is over."""
        return self._over

    @property
    def stdout(self) -> bytes:
        """What is kept of its stdout so far."""
        return self._stdout.value()

    @property
    def stderr(self) -> bytes:
        """What is kept of its stderr so far."""
        return self._stderr.value()

    def write(self, data: bytes) -> None:
        """Feed its input; only for a run that is interactive or has a terminal."""
        if not (self.command.tty or self.command.interactive):
            raise InputClosed(
                "this command takes no input: start it with interactive=True or tty=True to write to it"
            )
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InvalidArgument(f"write takes bytes; encode the text first. Got {type(data).__name__}")
        if self.done:
            raise InputClosed("this command has ended and takes no more input")
        copy = bytes(data)
        with self._writing:
            process = self._process
            if self._direct and self._waiting == 0 and process is not None and process.takes_now:
                process.write(copy)  # at once, and without a detour through the driver's thread
                return
            self._waiting += 1
        self._post(lambda process: self._feed(process, copy))

    @property
    def is_feeding(self) -> bool:
        """True if something that was written is still on its way to the command's input."""
        return self._waiting > 0

    @property
    def unread(self) -> int:
        """How many bytes of its input wait for the command to read others."""
        process = self._process
        return 0 if process is None else process.unread

    def end_input(self) -> None:
        """Say that no more input comes; harmless when repeated or late."""
        with self._writing:
            self._waiting += 1
        self._post(lambda process: self._feed(process, None))

    def resize(self, rows: int, columns: int) -> None:
        """Give its terminal another size."""
        if not self.command.tty:
            raise InvalidState("this command has no terminal: start it with tty=True to resize it")
        size = Terminal(rows, columns)
        with self._writing:
            self._waiting += 1  # what is typed from now on is read with the new size
        self._post(lambda process: self._resize(process, size))

    def signal(self, name: str | int) -> None:
        """Send a signal, by name or number, to every process of its tree."""
        number = _number(name)
        self._post(lambda process: process.signal(number))

    def stop(self, signal: str | int | None = None) -> None:
        """Ask it to end, by a signal's name or number if not by the usual one, and return at once.

        The first call is polite and starts the grace period; a second, from
        anyone and for any cause, ends the patience. The first cause is kept.
        """
        number = None if signal is None else _number(signal)
        self._ask(lambda: self._stop("stopped", number))

    def expire(self, seconds: float | None) -> None:
        """Move its deadline: so many seconds from now, None is never; no effect once it is being ended."""
        self._ask(lambda: self._expire(seconds))

    def kill(self) -> None:
        """End it by force, and return at once."""
        self._ask(lambda: self._abort("stopped"))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is over, for at most so many seconds; say whether it is."""
        if self._over:
            return True
        if self._loop.inside:
            if timeout == 0:
                return False
            raise InvalidState("on_output must not wait for a run of its own engine; use another thread")
        if self._drive is not None:
            self._drive(self, timeout)
        elif self._done.acquire(timeout=-1 if timeout is None else min(max(0.0, timeout), TIMEOUT_MAX)):
            self._done.release()
        return self._over

    def outcome(self) -> "Outcome":
        """Wait until it is over and return its outcome; raise if it never ran."""
        self.wait()
        if self.guard is not None:
            self._outcome = self.guard.report(self._outcome)
        if self._error is not None:
            raise self._error
        assert self._outcome is not None
        return self._outcome

    @property
    def future(self) -> "Future[Outcome]":
        """A future of its outcome, without the `changes` that `outcome` has; cancelling it stops nothing."""
        if self._future is None:
            from concurrent.futures import Future

            future: Future[Outcome] = Future()
            future.set_running_or_notify_cancel()
            with _settling:
                if self._future is not None:
                    return self._future
                self._future = future
                over = self._over
            if over:
                self._settle(future)
        return self._future

    def gaze(self) -> "Gaze | None":
        """Return a watch on the foreground of its terminal, to be closed; only from inside `on_event`."""
        return None if self._process is None else self._process.gaze()

    # What follows is called by the loop's driver alone.

    def launch(self) -> None:
        """Leave the queue."""
        if self._phase == "queued":
            self._step("launch")

    def started(self, pid: int, start: int) -> None:
        """Keep the identity of its main process."""
        self._pid = pid
        self._start = start
        self._tell("spawned", pid)

    def output(self, stream: "Stream", chunk: bytes) -> None:
        """Keep what it printed, and pass it on."""
        keep = self._stdout if stream == "stdout" else self._stderr
        keep.feed(chunk)
        command = self.command
        if command.on_output is not None and self._error is None:
            try:
                command.on_output(stream, chunk)
            except BaseException as error:
                self._break(error)
        if (
            command.limits.overflow == "stop"
            and self._phase == "running"
            and self._exit_code is None
            and keep.overflowed
        ):
            self._stop("overflow")

    def exited(self, pid: int, exit_code: int, signal: str | None, *, alone: bool) -> None:
        """Note how its main process ended."""
        if self._pid is None:
            self._pid = pid
            self._tell("spawned", pid)
        self._exit_code = exit_code
        self._signal = signal
        if not alone:
            self._step("exited")

    def emptied(self, *, leaked: bool) -> None:
        """Nothing of it lives."""
        self._leaked |= leaked
        self._step("emptied")

    def failed(self, error: AgentExecError) -> None:
        """It could not be spawned, or was lost."""
        if not self._over:
            self._error = self._error or error
            self._step("failed")

    def ask_to_end(self) -> None:
        """Send the polite signal, whatever the phase."""
        self._terminate()

    def wreck(self, error: BaseException, grace: float) -> None:
        """End it and wait for that without the loop, which an exception has left in an unknown state."""
        try:
            if self._process is not None:
                self._process.abandon(grace)
        finally:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Be over, whatever the phase was."""
        if not self._over:
            self._error = self._error or error
            self._phase = "ended"
            self._finish()

    def _feed(self, process: "Process", data: bytes | None) -> None:
        """Write what had to wait, or end the input; in the order in which it was asked for."""
        try:
            if data is None:
                process.end_input()
            else:
                process.write(data)
        finally:
            with self._writing:
                self._waiting -= 1

    def _resize(self, process: "Process", size: Terminal) -> None:
        try:
            process.resize(size.rows, size.columns)
        finally:
            with self._writing:
                self._waiting -= 1

    def _tell(self, event: str, detail: int | str | None) -> None:
        """Call `on_event`; an exception there ends the run, as one of `on_output` does."""
        if self._on_event is not None and self._error is None:
            try:
                self._on_event(event, detail)
            except BaseException as error:
                self._break(error)

    def _stop(self, cause: "Cause", number: int | None = None) -> None:
        if self._cause is None and self._phase in ("queued", "running"):
            self._cause = cause
            self._polite = number
        self._step("stop")

    def _abort(self, cause: "Cause | None") -> None:
        if self._cause is None and self._phase in ("queued", "running"):
            self._cause = cause
        self._step("abort")

    def _expire(self, seconds: float | None) -> None:
        if self._phase == "running":
            self._timeout = None if seconds is None else monotonic() - self._spawned + seconds
            self._set_timer(seconds)

    def _expired(self) -> None:
        self._timer = None
        if self._phase == "running":
            self._cause = "timeout"
        leave = self._phase == "lingering" and self.command.leftovers == "leave"
        self._step("left" if leave else "expired")

    def _step(self, event: "Event") -> None:
        """Go to the next phase, and do what the table says."""
        self._phase, effects = step(self._phase, event)
        for effect in effects:
            _EFFECTS[effect](self)

    def _spawn(self) -> None:
        self._spawned = monotonic()  # and known before it exists, so that an exception at any moment finds it
        self._process = self._spawner.process(self._launch, self._loop, self)
        try:
            self._process.spawn()
        except Exception as error:
            self._process, self._error = None, error
            return
        if self.command.stdin is not None:
            self._process.write(self.command.stdin)
            if not self.command.interactive:
                self._process.end_input()
        for call in self._early:
            self._apply(call)
        self._early.clear()
        self._direct = True

    def _time_run(self) -> None:
        if self._process is None:
            self._step("failed")
            return
        if self.guard is not None:
            self.guard.watch(self._loop, lambda why: self._break(KeeperLost(why)))
        if self._timeout is not None:
            self._set_timer(self._timeout)

    def _time_drain(self) -> None:
        """Give what is left behind its time, but none beyond the run's own."""
        left = self.command.limits.drain
        if self._timeout is not None:
            left = min(left, max(0.0, self._spawned + self._timeout - monotonic()))
        self._set_timer(left)

    def _terminate(self) -> None:
        if self._process is None:
            return
        self._process.terminate(*(() if self._polite is None else (self._polite,)))
        self._tell("terminate", self._cause)

    def _kill(self) -> None:
        self._set_timer(_INSIST)
        if self._process is not None:
            self._process.kill()
            self._tell("kill", self._cause)

    def _release(self) -> None:
        if self._process is not None:
            self._process.leave()

    def _leak(self) -> None:
        self._leaked = True

    def _break(self, error: BaseException) -> None:
        """End it, and raise an error from `outcome`, once nothing of the run lives."""
        self._error = self._error or error
        self._loop.post(lambda: self._abort(None))  # this may be the middle of a step, or another thread

    def _finish(self) -> None:
        self._set_timer(None)
        if self.guard is not None:
            self.guard.end()
        if self._error is None:
            self._outcome = Outcome(
                exit_code=self._exit_code,
                signal=self._signal,
                cause=self._cause,
                duration=monotonic() - self._spawned if self._spawned else 0.0,
                leaked=self._leaked,
                stdout=self._stdout.value(),
                stdout_observed=self._stdout.observed,
                stderr=self._stderr.value(),
                stderr_observed=self._stderr.observed,
                pid=self._pid,
                network=() if self._process is None else tuple(self._process.network),
                tally=(0, 0) if self._process is None else self._process.tally,
            )
        with _settling:
            self._over = True
            future = self._future
        self._process = None  # it points back to us, and what it held would wait for the garbage collector
        self._done.release()
        self._ended(self)
        if future is not None:
            self._settle(future)

    def _settle(self, future: "Future[Outcome]") -> None:
        try:
            if self._error is not None:
                future.set_exception(self._error)
            elif self._outcome is not None:
                future.set_result(self._outcome)
        except BaseException:  # from a callback of the future's; no other run is to suffer for it
            sys.excepthook(*sys.exc_info())

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self._loop.after(seconds, self._expired)

    def _post(self, call: "Callable[[Process], object]") -> None:
        """Have something done to the process by the driver, in order; not once the run is over."""
        self._ask(lambda: self._early.append(call) if self._phase == "queued" else self._apply(call))

    def _ask(self, call: "Callable[[], object]") -> None:
        self._loop.post(lambda: call() if self._held is None else self._held.append(call))

    def _apply(self, call: "Callable[[Process], object]") -> None:
        if self._process is not None and self._phase != "ended":
            try:
                call(self._process)
            except InputClosed:
                return  # the command closed its input first, which is its right


def _number(name: str | int) -> int:
    number = signal_number(str(name))
    if number is None:
        raise InvalidArgument(f"no signal {name!r} on this system; use a name such as 'SIGINT'")
    return number


_INSIST = 1.0
"""Interval between repeated SIGKILLs: the tree may stop the keeper again after it was continued."""

_settling = RLock()

_EFFECTS: "dict[Effect, Callable[[Run], None]]" = {
    "spawn": Run._spawn,
    "terminate": Run._terminate,
    "kill": Run._kill,
    "leak": Run._leak,
    "release": Run._release,
    "time_run": Run._time_run,
    "time_grace": lambda run: run._set_timer(run.command.limits.grace),
    "time_drain": Run._time_drain,
    "finish": Run._finish,
}
