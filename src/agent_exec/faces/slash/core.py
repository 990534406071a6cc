"""The core: takes what is typed, has it judged and run, and tells what becomes of it."""

import os

from agent_exec.faces.slash.commands import SlashCommandSubmitted, parse_slash
from agent_exec.faces.slash.display import clipped
from agent_exec.faces.slash.feedback import DISABLED, SlashFeedback, SlashRefused
from agent_exec.faces.slash.guard import GRACE, TIMEOUT, ShellExecutionGuard
from agent_exec.faces.slash.history import History
from agent_exec.faces.slash.parser import ShellCommandParser, is_japanese
from agent_exec.faces.slash.turns import Turns
from agent_exec.faces.slash.view import ShellOutputView
from agent_exec.model.errors import AgentExecError, ApprovalRequired
from agent_exec.model.value import Value
from agent_exec.requests.opening import open_gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from agent_exec.faces.slash.execution import ShellExecution
    from agent_exec.faces.slash.guard import AllowedShell
    from agent_exec.faces.slash.permission import ShellPermission
    from agent_exec.faces.slash.turns import OnChange
    from agent_exec.requests.gate import Gate
    from agent_exec.sandbox.profile import Profile

_TOLD = 400


class SlashAnswer(Value):
    """What becomes of a typed line.

    `submitted` is the command it was taken for, None if for none; all but
    `/shell` are for the interface to do. `feedback` is for the Bottom Bar,
    None if there is nothing to tell. `execution` is the command that was
    accepted, None if none was.
    """

    submitted: SlashCommandSubmitted | None
    feedback: SlashFeedback | None = None
    execution: "ShellExecution | None" = None


class SlashCore:
    """Takes typed lines from any thread; runs accepted commands in their order, one at a time.

    `gate` judges each command when it is typed, by default by the rules in
    force; its approver is called in the thread that submits, which waits
    for the answer. `sandbox` confines every command, to the folder it runs in
    if the profile has no roots; `own` are files that none may change then,
    `hidden` folders that none may see. `on_change(execution)` is called after each
    one has begun, ended, or been dropped, from a thread of the core's, and
    must return soon. `view` holds the output of the latest, `history` what was
    typed. Closing ends all that runs or waits, and waits for that.
    """

    __slots__ = (
        "_parser",
        "_turns",
        "gate",
        "guard",
        "history",
        "permission",
        "view",
    )

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
        on_change: "OnChange | None" = None,
        own: "Sequence[str]" = (),
        hidden: "Sequence[str]" = (),
    ) -> None:
        self.permission = permission
        self.gate = open_gate() if gate is None else gate
        self.history = History() if history is None else history
        self.view = ShellOutputView(permission.max_bytes, permission.max_lines)
        self.guard = ShellExecutionGuard(
            permission.env,
            shell=shell,
            timeout=timeout,
            grace=grace,
        )
        self._parser = ShellCommandParser(japanese=is_japanese(os.environ) if japanese is None else japanese)
        self._turns = Turns(self.guard, self.view, sandbox, on_change, own, hidden)

    @property
    def running(self) -> "ShellExecution | None":
        """The command that runs now."""
        return self._turns.running

    @property
    def waiting(self) -> "tuple[ShellExecution, ...]":
        """The commands that wait for their turn."""
        return self._turns.waiting

    def submit(self, line: str, working_dir: str) -> SlashAnswer:
        """Take a typed line; `working_dir` is the folder of the current tab.

        Returns as soon as it is known what becomes of it: at once, unless
        somebody is asked.
        """
        try:
            submitted = parse_slash(line)
        except SlashRefused as refused:
            if line.lstrip(" \t").startswith("/"):
                self.history.add(line.strip(" \t"))
            return SlashAnswer(None, refused.feedback)
        self.history.add(line.strip(" \t"))
        if submitted.name != "shell":
            return SlashAnswer(submitted)
        try:
            execution = self._accept(submitted.args, working_dir)
        except SlashRefused as refused:
            return SlashAnswer(submitted, refused.feedback)
        return SlashAnswer(submitted, execution.feedback, execution)

    def cancel(self) -> bool:
        """Cancel what runs now; say whether anything does. Repeated, it ends it by force."""
        execution = self._turns.running
        if execution is None:
            return False
        execution.cancel()
        return True

    def close(self) -> None:
        """End what runs, drop what waits, and wait until nothing of it is left; harmless when repeated."""
        self._turns.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self.close()

    def _accept(self, args: str, working_dir: str) -> "ShellExecution":
        """Have a command wait for its turn; raise SlashRefused if it may not run."""
        if not self.permission.allowed:
            raise SlashRefused(DISABLED, "Warn")
        request = self._parser.parse(args, os.path.realpath(working_dir))
        self.guard.check(request)
        self._judge(request.words, request.working_dir)
        return self._turns.add(request)

    def _judge(self, words: "tuple[str, ...]", working_dir: str) -> None:
        """Have the policy judge a command, which may ask somebody."""
        try:
            self.gate.admit(words, working_dir)
        except ApprovalRequired as error:
            raise SlashRefused(f"shell: {clipped(error.message, _TOLD)}", "Warn") from None
        except AgentExecError as error:
            raise SlashRefused(f"shell: {clipped(error.message, _TOLD)}") from None
