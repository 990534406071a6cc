"""The executor: allowed commands, a few at once, for callers that wait or await."""

import os
from time import monotonic

from agent_exec.faces.executor.config import ON_LIMIT, TIMEOUT_MS, CommandExecutorConfig, milliseconds
from agent_exec.faces.executor.errors import EXECUTION_FAILED, CommandValidationError
from agent_exec.faces.executor.execution import Execution, Journal, Slots
from agent_exec.faces.executor.lists import checked, validate
from agent_exec.model.cancel import Cancel, check_cancel
from agent_exec.model.errors import ApprovalRequired, CommandDenied, InvalidArgument, InvalidState
from agent_exec.requests.dispatch import Dispatcher
from agent_exec.requests.folders import Workspace
from agent_exec.requests.opening import IN_FORCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future
    from types import TracebackType
    from typing import Self

    from agent_exec.faces.executor.result import CommandExecutionResult, CommandValidationResult
    from agent_exec.model.choices import ApprovalPolicy, Logger, OnLimit, OnOutput
    from agent_exec.requests.arguments import Approver, Rules
    from agent_exec.requests.gate import Gate

_FOREVER = 1e8


class CommandExecutor:
    """Runs allowed commands, at most `config.max_concurrent` at once; any thread may use it.

    What is refused is raised; how a command ended, or that it could not be
    started, is a result. Whatever is raised, nothing of the command is left
    by then, and its slot is free. `logger` is anything with info, debug and
    error, or None.

    `execute_command` runs in the calling thread, `execute_command_async` in
    one that serves all that is awaited and ends with `close`; there `on_output`
    and the logger are called.

    The lists are a guard rail and no sandbox: see CommandLists. What they
    allow, `rules` judge too, a file of them or a Policy; by default the user's
    own do, those in force for `agent-exec run`, and with None no rules do.
    `approver` is asked where they say so, as `approval_policy` allows. A `gate`
    that is open already takes the place of the three.
    """

    __slots__ = ("_dispatcher", "_journal", "_slots", "_workspace", "config")

    def __init__(
        self,
        logger: "Logger | None" = None,
        config: CommandExecutorConfig | None = None,
        *,
        rules: "Rules" = IN_FORCE,
        approver: "Approver | None" = None,
        approval_policy: "ApprovalPolicy | None" = None,
        gate: "Gate | None" = None,
    ) -> None:
        self.config = CommandExecutorConfig() if config is None else config
        if not isinstance(self.config, CommandExecutorConfig):
            raise InvalidArgument(f"config must be a CommandExecutorConfig; got {config!r}")
        self._dispatcher = Dispatcher(
            rules,
            approver,
            approval_policy,
            gate=gate,
            sandbox=self.config.sandbox,
            own=self.config.own,
            hidden=self.config.hidden,
            slots=self.config.max_concurrent,
        )
        root = self.config.workspace_root
        self._journal = Journal(logger)
        self._workspace = None if root is None else Workspace(root)
        self._slots = Slots(self.config.max_concurrent)

    @property
    def concurrent_count(self) -> int:
        """The number of commands that run now."""
        return self._slots.taken

    def validate_command(
        self, command: str, args: "Sequence[str] | None" = None
    ) -> "CommandValidationResult":
        """Return whether the lists allow a command; the rules judge it when it is to run.

        A command with blanks is split into words as a shell would do it, and
        `args` follow them. The words that are judged are those that run.
        """
        name, given = checked(command, args)
        self._journal.write("validating", name)
        return validate(name, given, self.config, self._seen_from(None))[0]

    def execute_command(
        self,
        command: str,
        args: "Sequence[str] | None" = None,
        timeout: float | None = None,
        cwd: "str | os.PathLike[str] | None" = None,
        *,
        on_output: "OnOutput | None" = None,
        on_limit: "OnLimit | None" = None,
        cancelled: "Cancel | None" = None,
        within: float | None = None,
    ) -> "CommandExecutionResult":
        """Run a command and wait for its end; `timeout` in milliseconds, 0 or None for the default.

        `on_output(stream, chunk)` gets the output as it comes. Once
        `cancelled` is set, the command is ended, and this returns; so it does
        `within` so many seconds of being admitted, the wait for a slot included. An executor
        that was called with `cancelled` must be closed.
        """
        check_cancel(cancelled)
        if within is not None:
            cancelled = cancelled or Cancel()
        execution = self._admit(command, args, timeout, cwd, on_output, on_limit)
        deadline = monotonic() + (_FOREVER if within is None else within)
        with execution:
            if (turn := execution.queue(on_limit)) is not None:
                _wait(turn, cancelled, deadline)
            self._dispatcher.check_open()
            execution.end(*self._dispatcher.run(execution.begin(), cancelled, deadline - monotonic()))
        return execution.result

    async def execute_command_async(
        self,
        command: str,
        args: "Sequence[str] | None" = None,
        timeout: float | None = None,
        cwd: "str | os.PathLike[str] | None" = None,
        *,
        on_output: "OnOutput | None" = None,
        on_limit: "OnLimit | None" = None,
    ) -> "CommandExecutionResult":
        """Run a command as `execute_command` does, and await its end.

        Cancelling ends the command's whole tree: politely, then by force, and
        at once if cancelled again; only then is it cancelled.
        """
        from agent_exec.engine.awaiting import finished

        execution = self._admit(command, args, timeout, cwd, on_output, on_limit)
        with execution:
            if (turn := execution.queue(on_limit)) is not None:
                await finished(turn)
            engine, guard = self._dispatcher.engine, self._dispatcher.guard()
            execution.end(await engine.arun(execution.begin(), sandbox=guard), guard)
        return execution.result

    def close(self) -> None:
        """End what is awaited, wait for that, and take nothing more; harmless when repeated."""
        self._dispatcher.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self.close()

    def _admit(
        self,
        command: str,
        args: "Sequence[str] | None",
        timeout: float | None,
        cwd: "str | os.PathLike[str] | None",
        on_output: "OnOutput | None",
        on_limit: "OnLimit | None",
    ) -> Execution:
        """Check the request, and raise what is wrong with it."""
        self._dispatcher.check_open()
        if on_limit not in (None, *ON_LIMIT):
            raise InvalidArgument(f"on_limit must be one of {', '.join(ON_LIMIT)}; got {on_limit!r}")
        name, given = checked(command, args)
        folder = _path(cwd)
        clock = milliseconds("timeout", timeout) or self.config.timeout or TIMEOUT_MS
        if on_output is not None and not callable(on_output):
            raise InvalidArgument(f"on_output must be callable; got {on_output!r}")
        self._journal.write("validating", name)
        found, words = validate(name, given, self.config, self._seen_from(folder))
        if not found.valid:
            self._journal.write("refused", name)
            details = {"command": name, "args": list(given), "error": found.error, "reason": found.reason}
            raise CommandValidationError("Command not allowed", found.code, details)
        where = self._folder(name, folder)
        try:
            self._dispatcher.gate.admit(words, self._seen_from(where))
        except (ApprovalRequired, CommandDenied):
            self._journal.write("refused", name)
            raise
        return Execution(
            name, given, words, where, clock / 1000, on_output, self.config, self._slots, self._journal
        )

    def _seen_from(self, folder: str | None) -> str | None:
        """Return the folder that relative paths start from; None if it is unknown."""
        try:
            path = os.path.join(self._workspace.root if self._workspace else os.getcwd(), folder or "")
        except FileNotFoundError:  # our own was removed
            path = folder or ""
        return path if os.path.isabs(path) else None

    def _folder(self, command: str, cwd: str | None) -> str | None:
        """Return the folder to run in; raise if it lies outside of the workspace."""
        workspace = self._workspace
        if workspace is None:
            return cwd
        real = workspace.real(cwd or ".")
        if workspace.holds(real):
            return real
        self._journal.write("refused", command)
        raise CommandValidationError(
            f"Working directory outside the workspace: {cwd!r} leads out of {workspace.root!r}",
            EXECUTION_FAILED,
            {"command": command, "cwd": cwd, "workspace_root": workspace.root},
        )


def _wait(turn: "Future[None]", cancelled: "Cancel | None", deadline: float) -> None:
    """Wait for a slot; raise InvalidState if `cancelled` is set, or the time is over, before there is one."""
    if cancelled is None:
        turn.result()
        return
    from threading import Event

    woken = Event()
    turn.add_done_callback(lambda _: woken.set())
    with cancelled.calling(woken.set):
        woken.wait(deadline - monotonic())
    if not turn.done():
        raise InvalidState("this call was cancelled before its turn; nothing was run")


def _path(cwd: "str | os.PathLike[str] | None") -> str | None:
    """Return a working directory as text; None for the default one."""
    path = None if cwd is None else os.fspath(cwd)
    if path is not None and (not isinstance(path, str) or "\0" in path):
        raise InvalidArgument(f"cwd must be the path of a folder; got {path!r}")
    return path or None
