"""Hands a run over to another process: it is let go of, and then belongs to that one, or is taken back."""

from _thread import allocate_lock
from time import monotonic, sleep

from agent_exec.model.errors import Busy, InvalidState, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.engine.run import Run
    from agent_exec.host.ports import Handed

_MOMENT = 0.002
_LOOK = 0.1
_WHY_NOT = {
    "queued": "this command has not begun yet: it waits for others to end",
    "stopping": "this command is being ended",
    "killing": "this command is being ended",
    "lingering": "this command has ended already",
    "ended": "this command has ended already",
}


class HandOver:
    """A run that its engine has let go of: it is neither read nor written, and what is asked of it waits.

    `handed` is the host's, for the other process; `left` is what is left of
    its timeout. Its maker calls `finish` or `take_back`, once; any
    thread may, but not the engine's.
    """

    __slots__ = ("_run", "handed", "left")

    def __init__(self, run: "Run") -> None:
        if run._drive is not None or run._loop.inside:
            raise Unsupported("only another thread than the engine's own can hand a run over")
        self._run = run
        found: list[Handed] = []

        def let_go() -> None:
            self._let_go(found)

        while True:
            # In two steps: when the second comes, what was written before the first has been dealt with.
            self._inside(self._hold)
            try:
                self._inside(let_go)
            except BaseException:
                self._inside(lambda: self._undo(found))
                raise
            if found:
                break
            self._inside(self._go_on)
            sleep(_MOMENT)  # it is being started
        self.handed = found[0]
        timeout = run.command.limits.timeout
        self.left = None if timeout is None else max(_MOMENT, run._spawned + timeout - monotonic())

    def finish(self, error: Exception) -> None:
        """Let it go: another process has it. A caller that waits for its outcome gets the error."""
        self._inside(lambda: self._finish(error))

    def take_back(self) -> None:
        """Go on as if nothing had happened; then comes what was asked for meanwhile."""
        self._inside(self._take_back)

    # What follows is called by the loop's driver.

    def _hold(self) -> None:
        run = self._run
        if run._held is not None:
            raise Busy("this command is being handed over already")
        if run._phase != "running" or run._error is not None:
            raise InvalidState(_WHY_NOT.get(run._phase, "this command is being ended"))
        run._held = []
        with run._writing:
            run._direct = False

    def _let_go(self, found: "list[Handed]") -> None:
        run = self._run
        if run._phase != "running" or run._process is None:
            raise InvalidState(_WHY_NOT.get(run._phase, "this command is being ended"))
        handed = run._process.release()
        if handed is not None:
            run._set_timer(None)
            found.append(handed)

    def _undo(self, found: "list[Handed]") -> None:
        """Go on, whether it was let go of or not when an exception came."""
        if found:
            self.handed = found[0]
            self._take_back()
        else:
            self._go_on()

    def _take_back(self) -> None:
        run = self._run
        if run._over:  # an exception has ended all that its engine had
            self.handed.give_up()
        else:
            self.handed.take_back()
            timeout = run.command.limits.timeout
            if timeout is not None and run._phase == "running":
                run._set_timer(max(0.0, run._spawned + timeout - monotonic()))
        self._go_on()

    def _finish(self, error: Exception) -> None:
        run = self._run
        self.handed.give_up()
        run._held = None  # what was asked for meanwhile came too late
        if run._phase == "running":
            run._error = error
            run._step("handed")
        else:
            run._fail(error)  # the callback for its output had failed

    def _go_on(self) -> None:
        run = self._run
        held, run._held = run._held, None
        with run._writing:
            run._direct = True
        for call in held or ():
            call()

    def _inside(self, call: "Callable[[], object]") -> None:
        """Have something done by the driver, and wait for it; raise what it raises."""
        done = allocate_lock()
        done.acquire()
        errors: list[BaseException] = []

        def act() -> None:
            try:
                call()
            except BaseException as error:
                errors.append(error)
            done.release()

        self._run._loop.post(act)
        while not done.acquire(timeout=_LOOK):
            if self._run.done and self._run._held is None:
                raise InvalidState(_WHY_NOT["ended"])  # and no thread drives the loop any more
        if errors:
            raise errors[0]
