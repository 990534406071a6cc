"""The engine: many runs at once on one loop, and the one run inside one call."""

import atexit
import os
from _thread import RLock
from time import monotonic

from agent_exec.engine.loop import Loop
from agent_exec.engine.run import Run
from agent_exec.host import Spawner, prepare
from agent_exec.model.command import Command, Limits
from agent_exec.model.errors import Busy, InvalidArgument, InvalidState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Mapping, Sequence
    from threading import Event, Thread
    from types import TracebackType
    from typing import Self

    from agent_exec.engine.confinement import Confinement, Plan, Warmable, Watch
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.choices import Leftovers, OnOutput, Word
    from agent_exec.model.command import Launch, Outcome
    from agent_exec.model.output import Keep
else:
    from _collections import deque  # without the rest of its package


class Engine:
    """Runs commands, `slots` at once, the rest in the order in which they were started.

    Any thread may use the engine and its runs. By default one thread of the
    engine's drives them all. With `threaded=False` there is none, and one
    thread of the caller's drives them whenever it waits for one of them; an
    exception meanwhile, such as a KeyboardInterrupt, ends them all. Closing
    the engine ends every run and waits for that.
    """

    def __init__(self, slots: int = 64, *, threaded: bool = True) -> None:
        if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
            raise InvalidArgument(f"slots must be a whole number, 1 or more; got {slots!r}")
        self._slots = slots
        self._threaded = threaded
        self._owner = os.getpid()
        self._lock = RLock()
        self._loop = Loop(many=True, wakeable=True)
        self._spawner = Spawner()
        self._active: set[Run] = set()
        self._queue: deque[Run] = deque()
        self._thread: Thread | None = None
        self._served: Event | None = None
        self._closing = False
        self._filling = False

    def start(self, command: Command, *, sandbox: "Confinement | None" = None) -> Run:
        """Start a command, confined if there is a profile, or queue it when all slots are taken.

        What can be seen to be wrong with it is raised here, before anything
        is spawned; what only the system knows is raised by `Run.outcome`.
        """
        if not isinstance(command, Command):
            raise InvalidArgument(f"start takes a Command; got {type(command).__name__}")
        self._check()
        command, launch, guard = _confined(command, prepare(command), sandbox, self._spawner)
        drive = None if self._threaded else self._wait_for
        run = Run(command, launch, self._loop, self._spawner, self._ended, drive, guard)
        with self._lock:
            self._check()
            if self._threaded and self._thread is None:
                self._start_thread()
            self._loop.post(lambda: self._admit(run))
        return run

    async def arun(self, command: Command, *, sandbox: "Confinement | None" = None) -> "Outcome":
        """Run a command and await its outcome, under asyncio or trio.

        If the task is cancelled, the command is stopped with all its
        processes, as `Run.stop` does; a second cancellation kills them at
        once. The cancellation is raised again when none of them is left.
        """
        if not self._threaded:
            raise InvalidState("an Engine(threaded=False) cannot be awaited; make one with a thread")
        from agent_exec.engine.awaiting import outcome

        return await outcome(self.start(command, sandbox=sandbox))

    def warm(self, sandbox: "Warmable[Plan]", boxes: int = 1) -> "Plan":
        """Have so many boxes wait for commands, now and after each one; return the plan that they are for.

        A command of that plan starts in one of them at once. Waits until they
        are ready.
        """
        self._check()
        return _warm(sandbox, self._spawner, boxes)

    @property
    def spawner(self) -> Spawner:
        """The pool of helper processes that starts the commands, for callers that plan a sandbox."""
        self._check()
        return self._spawner

    def drive(self, until: "Callable[[], object]") -> None:
        """Drive the runs until something is true; only for an engine without a thread."""
        if self._threaded or self._loop.inside:
            raise InvalidState(
                "only the owner of an Engine(threaded=False) may drive it, outside of on_output"
            )
        while not until():
            self._turn()

    @property
    def running(self) -> int:
        """How many runs hold a slot now."""
        return len(self._active)

    def close(self) -> None:
        """End every run as `Run.stop` does, wait for all of them, and give everything back.

        Harmless when repeated. An exception while it waits, such as a
        KeyboardInterrupt, ends the patience: everything is killed, waited
        for, and then the exception goes on.
        """
        if self._owner != os.getpid():
            return
        if self._loop.inside:
            raise InvalidState("on_output must not close its own engine; use another thread")
        with self._lock:
            first = not self._closing
            self._closing = True
            if first:
                self._loop.post(self._stop_all)
        try:
            self._wait_for_all()
        except BaseException:
            self._loop.post(self._kill_all)
            self._wait_for_all()
            raise
        finally:
            self._spawner.close()
            self._loop.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self.close()

    def _check(self) -> None:
        if self._closing:
            raise InvalidState("this engine is closed; make a new one")
        if self._owner != os.getpid():
            raise InvalidState(f"this engine belongs to process {self._owner}; make a new one after a fork")

    def _start_thread(self) -> None:
        from threading import Event

        self._served = Event()
        # Only a thread that runs: nothing must wait for one that never began.
        self._thread = start_thread(self._serve, "agent-exec")

    def _serve(self) -> None:
        """Drive the loop until the engine is closed."""
        try:
            while not (self._closing and self._settled):
                self._turn()
        finally:
            if self._served is not None:
                self._served.set()

    def _turn(self) -> None:
        """Turn the loop once; what interrupts it ends every run, for nothing else could be trusted to."""
        try:
            self._loop.turn()
        except BaseException as error:
            self._wreck(error)
            if not self._threaded:
                raise

    def _wreck(self, error: BaseException) -> None:
        """End every run without the loop; all of them have the same grace, and a second exception ends it."""
        while self._queue:
            self._queue.popleft().wreck(error, 0)
        doomed = list(self._active)
        for run in doomed:
            run.ask_to_end()
        deadline = monotonic() + max((run.command.limits.grace for run in doomed), default=0)
        try:
            while doomed:
                doomed[-1].wreck(error, max(0.0, deadline - monotonic()))
                doomed.pop()
        finally:
            for run in doomed:
                run.wreck(error, 0)

    def _wait_for_all(self) -> None:
        if self._thread is not None and self._served is not None:
            self._served.wait()  # for `join`, once it was interrupted, takes the thread for ended
            self._thread.join()
        while not self._threaded and not self._settled:
            self._turn()

    def _wait_for(self, run: Run, timeout: float | None) -> None:
        """Drive the runs until one is over, for at most so many seconds."""
        expired: list[bool] = []
        timer = None if timeout is None else self._loop.after(timeout, lambda: expired.append(True))
        try:
            self.drive(lambda: run.done or expired)
        finally:
            if timer is not None:
                timer.cancel()

    @property
    def _settled(self) -> bool:
        return not (self._active or self._queue) and self._loop.idle

    def _admit(self, run: Run) -> None:
        self._queue.append(run)
        self._fill()

    def _fill(self) -> None:
        """Launch from the queue while there are slots; drop what was stopped while it waited."""
        if self._filling:
            return  # a launch that fails at once frees its slot for the call that is filling already
        self._filling = True
        try:
            while self._queue and len(self._active) < self._slots:
                run = self._queue.popleft()
                if run.phase == "queued":
                    self._active.add(run)
                    run.launch()
        finally:
            self._filling = False

    def _ended(self, run: Run) -> None:
        """Give the slot to the next at once, while the keeper is still warm."""
        self._active.discard(run)
        self._fill()

    def _stop_all(self) -> None:
        for run in (*self._queue, *self._active):
            run.stop()
        self._queue.clear()

    def _kill_all(self) -> None:
        for run in tuple(self._active):
            run.kill()


def run(
    argv: "Sequence[Word]",
    *,
    cwd: "Word | None" = None,
    env: "Mapping[str, str] | Mapping[bytes, bytes] | None" = None,
    stdin: bytes | None = None,
    timeout: float | None = None,
    grace: float = 0.5,
    tty: bool = False,
    on_output: "OnOutput | None" = None,
    keep: "Keep | None" = None,
    leftovers: "Leftovers" = "kill",
    sandbox: "Confinement | None" = None,
) -> "Outcome":
    """Run a command to its end, confined if there is a profile, and return its outcome.

    `timeout` and `grace` are seconds; the other arguments are those of
    Command. Nothing of the command is left when this returns or raises,
    whatever is raised. Any number of threads may call this at once.
    """
    command = one_shot(argv, cwd, env, stdin, timeout, grace, tty, on_output, keep, leftovers)
    return run_command(command, sandbox=sandbox)


def one_shot(
    argv: "Sequence[Word]",
    cwd: "Word | None",
    env: "Mapping[str, str] | Mapping[bytes, bytes] | None",
    stdin: bytes | None,
    timeout: float | None,
    grace: float,
    tty: bool,
    on_output: "OnOutput | None",
    keep: "Keep | None",
    leftovers: "Leftovers",
) -> Command:
    """Return the command of a call of `run` or `arun`."""
    return Command(
        argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        tty=tty,
        limits=Limits(timeout=timeout, grace=grace),
        keep=keep,
        leftovers=leftovers,
        on_output=on_output,
    )


def warm(sandbox: "Warmable[Plan]", boxes: int = 1) -> "Plan":
    """Have so many boxes wait for the commands of `run`; see Engine.warm."""
    return _warm(sandbox, shared_spawner(), boxes)


def run_command(command: Command, *, sandbox: "Confinement | None" = None) -> "Outcome":
    """Run a command to its end inside this call, without a thread."""
    spawner = shared_spawner()
    command, launch, guard = _confined(command, prepare(command), sandbox, spawner)
    loop = Loop(many=False, wakeable=False)
    run = Run(command, launch, loop, spawner, _nothing, guard=guard)
    try:
        run.launch()
        while not run.done:
            loop.turn()
    except BaseException as error:
        run.wreck(error, command.limits.grace)
        raise
    finally:
        loop.close()
    return run.outcome()


def run_on(
    engine: Engine,
    command: Command,
    cancel: "Cancel",
    *,
    sandbox: "Confinement | None" = None,
    within: float | None = None,
) -> "Outcome":
    """Run a command on an engine and return its outcome; nothing of it is left when this returns or raises.

    It is stopped when `cancel` is set, and when it has not ended within so many seconds.
    """
    run = engine.start(command, sandbox=sandbox)
    try:
        with cancel.calling(run.stop):
            if not run.wait(within):
                run.stop()
            return run.outcome()
    finally:
        if not run.done:  # this thread was interrupted
            run.kill()
            run.wait()


def _confined(
    command: Command, launch: "Launch", sandbox: "Confinement | None", spawner: Spawner
) -> "tuple[Command, Launch, Watch | None]":
    """Have a launch confined and watched over, if there is a sandbox."""
    if sandbox is None:
        return command, launch, None
    _check_profile(sandbox, "guarded")
    watch = sandbox.guarded(spawner)
    return *watch.confine(command, launch), watch


def _warm(sandbox: "Warmable[Plan]", spawner: Spawner, boxes: int) -> "Plan":
    if isinstance(boxes, bool) or not isinstance(boxes, int) or boxes < 0:
        raise InvalidArgument(f"boxes must be a whole number, 0 or more; got {boxes!r}")
    _check_profile(sandbox, "warmed")
    return sandbox.warmed(spawner, boxes)


def _check_profile(sandbox: object, method: str) -> None:
    if not hasattr(sandbox, method):
        raise InvalidArgument(f"sandbox must be a Profile; got {sandbox!r}")


def start_thread(target: "Callable[[], object]", name: str) -> "Thread":
    """Return a new thread that runs; raise Busy if the machine has none left."""
    from threading import Thread

    thread = Thread(target=target, name=name, daemon=True)
    try:
        thread.start()
    except (RuntimeError, MemoryError) as error:
        raise Busy("this machine has no room for another thread; try again when less runs") from error
    return thread


def _nothing(_run: Run) -> None:
    pass


def close_shared(*, wait: bool = True) -> None:
    """Close what one-shot calls share; the next call makes it again."""
    global _shared, _shared_engine
    spawner, _shared, engine, _shared_engine = _shared, None, _shared_engine, None
    if engine is not None:
        engine.close()
    if spawner is not None:
        spawner.close(wait=wait)


def shared_spawner() -> Spawner:
    """Return the spawner of all one-shot calls of this process, made when first needed."""
    global _shared  # noqa: PLW0603 - one for each process
    with _sharing:
        if _shared is None:
            _shared = Spawner()
            atexit.register(close_shared, wait=False)
        return _shared


def shared_engine() -> Engine:
    """Return the engine of all `arun` calls of this process, made when first needed."""
    global _shared_engine  # noqa: PLW0603 - one for each process
    with _sharing:
        if _shared_engine is None:
            _shared_engine = Engine()
            atexit.register(close_shared, wait=False)
        return _shared_engine


def _forget_shared() -> None:
    """Drop, in a forked child, what belongs to the parent; the lock may be held there."""
    global _shared, _shared_engine, _sharing
    shared, _shared, _shared_engine, _sharing = _shared, None, None, RLock()
    if shared is not None:
        shared.close(wait=False)


_sharing = RLock()
_shared: Spawner | None = None
_shared_engine: Engine | None = None
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_shared)
