"""Whose turn it is: accepted commands, run one after the other by one thread, until it is told to end."""

import sys
from threading import Condition, Event, Thread, current_thread
from time import time_ns

from agent_exec.engine.engine import Engine
from agent_exec.faces.slash.display import clipped
from agent_exec.faces.slash.execution import CANCELLED, ShellExecution
from agent_exec.faces.slash.feedback import SlashFeedback, SlashRefused
from agent_exec.faces.slash.result import ShellExecutionResult
from agent_exec.model.errors import AgentExecError, InvalidState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.faces.slash.guard import ShellExecutionGuard
    from agent_exec.faces.slash.parser import ShellCommandRequest
    from agent_exec.faces.slash.view import ShellOutputView
    from agent_exec.sandbox.profile import Profile
    from agent_exec.sandbox.report.guard import Guard

    OnChange = Callable[[ShellExecution], object]

MOST_WAITING = 1000
_TOLD = 400


class Turns:
    """Runs commands in the order in which they came, one at a time; any thread may use it.

    Each is checked by the guard when its turn comes, and its output goes to
    the view. The thread is started with the first one.
    """

    __slots__ = (
        "_changed",
        "_closing",
        "_guard",
        "_hidden",
        "_on_change",
        "_own",
        "_sandbox",
        "_served",
        "_thread",
        "_view",
        "_waiting",
        "running",
    )

    def __init__(
        self,
        guard: "ShellExecutionGuard",
        view: "ShellOutputView",
        sandbox: "Profile | None",
        on_change: "OnChange | None",
        own: "Sequence[str]" = (),
        hidden: "Sequence[str]" = (),
    ) -> None:
        self._guard = guard
        self._view = view
        self._sandbox = sandbox
        self._own = tuple(own)
        self._hidden = tuple(hidden)
        self._on_change = on_change
        self._changed = Condition()
        self._waiting: list[ShellExecution] = []
        self._thread: Thread | None = None
        self._served = Event()
        self._closing = False
        self.running: ShellExecution | None = None

    @property
    def waiting(self) -> "tuple[ShellExecution, ...]":
        """The commands that wait for their turn."""
        with self._changed:
            return tuple(one for one in self._waiting if not one.cancelled)

    def add(self, request: "ShellCommandRequest") -> ShellExecution:
        """Have a command wait for its turn; raise SlashRefused if it cannot."""
        with self._changed:
            if self._closing:
                raise SlashRefused("shell: this program is ending; nothing more is run")
            before = len(self.waiting) + (self.running is not None)
            if before >= MOST_WAITING:
                raise SlashRefused(f"shell: {before} commands wait already; wait for them, or cancel some")
            told = f"queued, {before} before it" if before else f"running: {clipped(request.line, 40)}"
            execution = ShellExecution(request, SlashFeedback(f"shell: {told}", "Info"))
            if self._thread is None:
                self._thread = self._started()
            self._waiting.append(execution)
            self._changed.notify_all()
        return execution

    def close(self) -> None:
        """End what runs, drop what waits, and wait until nothing of it is left; harmless when repeated."""
        if current_thread() is self._thread:
            raise InvalidState("on_change must not close its own core; use another thread")
        with self._changed:
            first = not self._closing
            self._closing = True
            self._changed.notify_all()
            execution, thread = self.running, self._thread
        if first and execution is not None:
            execution.cancel()
        if thread is None:
            return
        try:
            self._served.wait()  # not `join`, which takes a thread for ended once it was interrupted
        except BaseException:
            if execution is not None:
                execution.cancel()  # by force now
            self._served.wait()
            raise
        finally:
            thread.join()

    def _started(self) -> Thread:
        thread = Thread(target=self._serve, name="agent-exec-slash", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system has no more of them
            raise SlashRefused(f"shell: {error}; try it again") from None
        return thread

    def _serve(self) -> None:
        """Run what waits, one after the other, until the core is closed."""
        engine: Engine | None = None
        try:
            while (execution := self._next()) is not None:
                try:
                    if engine is None:
                        engine = Engine(1, threaded=False)  # driven by this thread, whenever it waits
                    self._perform(execution, engine)
                except OSError as error:  # too many files are open
                    self._end(execution, SlashFeedback(f"shell: {error.strerror}; try it again", "Error"))
                except BaseException as error:
                    self._end(execution, SlashFeedback(f"shell: {clipped(repr(error), _TOLD)}", "Error"))
                    sys.excepthook(*sys.exc_info())
        finally:
            if engine is not None:
                engine.close()
            self._served.set()

    def _next(self) -> ShellExecution | None:
        """Wait for the next command; None once the core is closed."""
        while True:
            with self._changed:
                while not (self._waiting or self._closing):
                    self._changed.wait()
                if not self._waiting:
                    return None
                execution = self._waiting.pop(0)
                if self._closing:
                    execution.cancel()
                if execution.take():
                    self.running = execution
                    return execution
            self._tell(execution)

    def _perform(self, execution: ShellExecution, engine: Engine) -> None:
        """Check a command once more, for others ran meanwhile; then run it to its end."""
        view = self._view
        try:
            command = self._guard.command(execution.request, view.feed)
            confined = self._confined(engine, execution.request.working_dir)
            run = engine.start(command, sandbox=confined)  # runs as soon as it is waited for
        except SlashRefused as refused:
            self._end(execution, refused.feedback)
            return
        except AgentExecError as error:
            self._end(execution, SlashFeedback(f"shell: {clipped(error.message, _TOLD)}", "Error"))
            return
        timestamp = time_ns() // 1_000_000
        view.start(execution.request)
        execution.began(run)
        self._tell(execution)
        try:
            outcome = run.outcome()
        except AgentExecError as error:
            feedback = SlashFeedback(f"shell: {clipped(error.message, _TOLD)}", "Error")
            view.finish(None, feedback.text)
            self._end(execution, feedback)
            return
        except BaseException as error:
            view.finish(None, f"shell: {clipped(repr(error), _TOLD)}")
            raise
        if outcome.exit_code is None:  # it was cancelled before it was spawned
            view.finish(None, CANCELLED.text)
            self._end(execution, CANCELLED)
            return
        result = ShellExecutionResult.of(outcome, view, timestamp)
        if outcome.changes:
            from agent_exec.sandbox.report.report import said

            view.feed("stderr", f"{said(outcome.changes)}\n".encode())
        view.finish(result)
        self._end(execution, result.feedback, result)

    def _confined(self, engine: Engine, working_dir: str) -> "Guard | None":
        """Return what confines a command; without roots of its own, its root is where the command runs."""
        profile = self._sandbox
        if profile is None:
            return None
        from agent_exec.sandbox.plan.ours import ours
        from agent_exec.sandbox.sandbox import shared_sandbox

        profile = profile if profile.roots else profile.replace(roots=(working_dir,))
        return shared_sandbox().guard(profile, engine.spawner, ours(self._own, self._hidden))

    def _end(
        self, execution: ShellExecution, feedback: SlashFeedback, result: ShellExecutionResult | None = None
    ) -> None:
        self.running = None  # whoever is told sees that nothing runs
        execution.ended(feedback, result)
        self._tell(execution)

    def _tell(self, execution: ShellExecution) -> None:
        if self._on_change is not None:
            try:
                self._on_change(execution)
            except Exception:
                sys.excepthook(
                    *sys.exc_info()
                )  # a mistake of the interface's; no command is to suffer for it
