"""The core: takes what is typed, has it judged, runs it, and reports what becomes of it."""

import os
import sys
from threading import Condition, Event, RLock, Thread, current_thread
from time import monotonic, time_ns

from agent_exec.engine.engine import Engine
from agent_exec.faces.slash.feedback import SlashFeedback, SlashRefused, clipped
from agent_exec.faces.slash.guard import GRACE, TIMEOUT, ShellExecutionGuard
from agent_exec.faces.slash.history import History
from agent_exec.faces.slash.line import ShellCommandParser, SlashCommandSubmitted, is_japanese, parse_slash
from agent_exec.faces.slash.view import ShellExecutionResult, ShellOutputView
from agent_exec.model.errors import AgentExecError, ApprovalRequired, InvalidState
from agent_exec.model.value import Value
from agent_exec.requests.dispatch import Dispatcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Literal, Self

    from agent_exec.engine.run import Run
    from agent_exec.faces.slash.guard import AllowedShell
    from agent_exec.faces.slash.line import ShellCommandRequest
    from agent_exec.faces.slash.permission import ShellPermission
    from agent_exec.requests.gate import Gate
    from agent_exec.sandbox.profile import Profile

    State = Literal["queued", "running", "ended"]

MOST_WAITING = 1000
DISABLED = "Shell commands disabled"
CANCELLED = SlashFeedback("shell: cancelled before it was started", "Warn")
_MESSAGE = 400


class ShellExecution:
    """An accepted command; any thread may look at it, wait for it and cancel it.

    `feedback` is the latest about it, and `result` how it ended: None until
    then, and for a command that never ran. `cancelled` is true if it was asked
    to end; it may have ended well all the same.
    """

    def __init__(self, request: "ShellCommandRequest", feedback: SlashFeedback) -> None:
        self.request = request
        self.feedback = feedback
        self.result: ShellExecutionResult | None = None
        self.state: State = "queued"
        self.cancelled = False
        self._begun = 0.0
        self._ended = 0.0
        self._run: Run | None = None
        self._taken = False
        self._lock = RLock()
        self._over = Event()

    def __repr__(self) -> str:
        return f"<ShellExecution {self.request.line!r} {self.state}>"

    @property
    def done(self) -> bool:
        """True if it has ended."""
        return self._over.is_set()

    @property
    def elapsed(self) -> float:
        """For how many seconds it has run."""
        return (self._ended or monotonic()) - self._begun if self._begun else 0.0

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, for at most so many seconds; return whether it has."""
        return self._over.wait(timeout)

    def cancel(self) -> None:
        """End it with all it started, and return at once.

        The first call is polite and gives it its grace, the second ends it by
        force. A command that waits is never started.
        """
        with self._lock:
            self.cancelled = True
            if self._run is not None:
                self._run.stop()
            elif not self._taken:
                self.ended(CANCELLED)

    # What follows is called by the core alone.

    def take(self) -> bool:
        """True unless it was cancelled; from now on, it has its turn."""
        with self._lock:
            self._taken = not self.cancelled
            return self._taken

    def began(self, run: "Run") -> None:
        """Note that the engine has it; stop it if it was cancelled meanwhile."""
        with self._lock:
            self._run = run
            self._begun = monotonic()
            self.feedback = _running(self.request)
            self.state = "running"
            if self.cancelled:
                run.stop()

    def ended(self, feedback: SlashFeedback, result: ShellExecutionResult | None = None) -> None:
        """Note how it ended; waiting threads go on last."""
        with self._lock:
            self._ended = monotonic()
            self._run = None
            self.result = result
            self.feedback = feedback
            self.state = "ended"
        self._over.set()


class SlashAnswer(Value):
    """What becomes of a typed line.

    `submitted` is the command that was parsed, None if it was refused; all but
    `/shell` are for the interface to do. `feedback` is for the Bottom Bar, if
    there is any. `execution` is the accepted command, None if none was.
    """

    submitted: SlashCommandSubmitted | None
    feedback: SlashFeedback | None = None
    execution: ShellExecution | None = None


class SlashCore:
    """Takes typed lines from any thread; runs accepted commands in their order, one at a time.

    `gate` judges each command when it is typed, by default by the rules in
    force; its approver is called in the submitting thread, which waits for the
    answer. `sandbox` confines every command, to the folder it runs in if the
    profile has no roots; `own` are files that it then may not change, `hidden`
    folders that it may not see. `on_change(execution)` is called after each
    command has begun, ended, or been dropped, from a thread of the core's, and
    must return soon. `view` holds the output of the latest, `history` what was
    typed. Closing ends all that runs or waits, and waits for that.
    """

    def __init__(
        self,
        permission: "ShellPermission",
        *,
        gate: "Gate | None" = None,
        sandbox: "Profile | None" = None,
        history: History | None = None,
        shell: "AllowedShell | None" = None,
        timeout: float | None = TIMEOUT,
        grace: float = GRACE,
        japanese: bool | None = None,
        on_change: "Callable[[ShellExecution], object] | None" = None,
        own: "Sequence[str]" = (),
        hidden: "Sequence[str]" = (),
    ) -> None:
        self.permission = permission
        self._dispatcher = Dispatcher(gate=gate, sandbox=sandbox, own=own, hidden=hidden)
        self.gate = self._dispatcher.gate
        self.history = History() if history is None else history
        self.view = ShellOutputView(permission.max_bytes, permission.max_lines)
        self.guard = ShellExecutionGuard(permission.env, shell=shell, timeout=timeout, grace=grace)
        self.running: ShellExecution | None = None
        """The command that runs now."""
        self._parser = ShellCommandParser(is_japanese(os.environ) if japanese is None else japanese)
        self._on_change = on_change
        self._changed = Condition()
        self._waiting: list[ShellExecution] = []
        self._thread: Thread | None = None
        self._served = Event()
        self._closing = False

    @property
    def waiting(self) -> tuple[ShellExecution, ...]:
        """The commands that wait for their turn."""
        with self._changed:
            return tuple(one for one in self._waiting if not one.cancelled)

    def submit(self, line: str, working_dir: str) -> SlashAnswer:
        """Take a typed line; `working_dir` is the folder of the current tab.

        Return as soon as its fate is known: at once, unless the approver is
        asked.
        """
        typed = line.strip(" \t")
        if typed.startswith("/"):
            self.history.add(typed)
        submitted = None
        try:
            submitted = parse_slash(line)
            if submitted.name != "shell":
                return SlashAnswer(submitted)
            execution = self._accept(submitted.args, working_dir)
        except SlashRefused as refused:
            return SlashAnswer(submitted, refused.feedback)
        return SlashAnswer(submitted, execution.feedback, execution)

    def cancel(self) -> bool:
        """Cancel what runs now; return whether anything does. A second call ends it by force."""
        execution = self.running
        if execution is not None:
            execution.cancel()
        return execution is not None

    def close(self) -> None:
        """End what runs, drop what waits, and wait until nothing of it is left; idempotent."""
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

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self.close()

    def _accept(self, args: str, working_dir: str) -> ShellExecution:
        """Put a command into the queue; raise SlashRefused if it may not run."""
        if not self.permission.allowed:
            raise SlashRefused(DISABLED, "Warn")
        request = self._parser.parse(args, os.path.realpath(working_dir))
        self.guard.check(request)
        try:
            self.gate.admit(request.words, request.working_dir)
        except AgentExecError as error:
            status: Literal["Warn", "Error"] = "Warn" if isinstance(error, ApprovalRequired) else "Error"
            raise SlashRefused(f"shell: {clipped(error.message, _MESSAGE)}", status) from None
        with self._changed:
            if self._closing:
                raise SlashRefused("shell: this program is ending; nothing more is run")
            before = len(self.waiting) + (self.running is not None)
            if before >= MOST_WAITING:
                raise SlashRefused(f"shell: {before} commands wait already; wait for them, or cancel some")
            queued = SlashFeedback(f"shell: queued, {before} before it", "Info")
            execution = ShellExecution(request, queued if before else _running(request))
            if self._thread is None:
                thread = Thread(target=self._serve, name="agent-exec-slash", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # the system has no more threads
                    raise SlashRefused(f"shell: {error}; try it again") from None
                self._thread = thread
            self._waiting.append(execution)
            self._changed.notify_all()
        return execution

    def _serve(self) -> None:
        """Run what waits, one command after the other, until the core is closed."""
        engine: Engine | None = None
        try:
            while (execution := self._next()) is not None:
                result = None
                try:
                    engine = engine or Engine(1, threaded=False)  # driven by this thread while it waits
                    result = self._perform(execution, engine)
                    feedback = CANCELLED if result is None else result.feedback
                except SlashRefused as refused:
                    feedback = refused.feedback
                except AgentExecError as error:
                    feedback = SlashFeedback(f"shell: {clipped(error.message, _MESSAGE)}", "Error")
                except OSError as error:  # too many files are open
                    feedback = SlashFeedback(f"shell: {error.strerror}; try it again", "Error")
                except BaseException as error:
                    feedback = SlashFeedback(f"shell: {clipped(repr(error), _MESSAGE)}", "Error")
                    sys.excepthook(*sys.exc_info())
                if execution.state == "running":
                    self.view.finish(result, feedback.text if result is None else "")
                self.running = None  # before anyone hears of the end
                execution.ended(feedback, result)
                self._report(execution)
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
            self._report(execution)

    def _perform(self, execution: ShellExecution, engine: Engine) -> ShellExecutionResult | None:
        """Check a command again, as others ran meanwhile, and run it to its end; None if it never started."""
        request, view = execution.request, self.view
        command = self.guard.command(request, view.feed)
        guard = self._dispatcher.guard(engine.spawner, request.working_dir)
        run = engine.start(command, sandbox=guard)
        timestamp = time_ns() // 1_000_000
        view.start(request)
        execution.began(run)
        self._report(execution)
        outcome = run.outcome()  # it runs while it is waited for
        if outcome.exit_code is None:  # it was cancelled before it was spawned
            return None
        result = ShellExecutionResult.of(outcome, view, timestamp)
        if outcome.changes:
            from agent_exec.sandbox.report.report import said

            view.feed("stderr", f"{said(outcome.changes)}\n".encode())
        return result

    def _report(self, execution: ShellExecution) -> None:
        if self._on_change is not None:
            try:
                self._on_change(execution)
            except Exception:  # a mistake of the interface's, which harms no command
                sys.excepthook(*sys.exc_info())


def _running(request: "ShellCommandRequest") -> SlashFeedback:
    return SlashFeedback(f"shell: running: {clipped(request.line, 40)}", "Info")
