"""The program: holds the core, hands on what is typed, asks who may be asked, and leaves nothing behind."""

import asyncio
import os
import sys
from concurrent.futures import Future
from threading import Thread
from time import sleep
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from agent_exec.apps.shell.mainscreen import MainScreen
from agent_exec.apps.shell.ordered_keys import KeysInTurn
from agent_exec.apps.shell.panes.dialogs import Approval, Confirm
from agent_exec.apps.shell.panes.textscreen import SESSIONS, TextScreen, help_text
from agent_exec.apps.shell.settings import Settings, theme_named
from agent_exec.faces.jobs import open_jobs
from agent_exec.faces.slash.core import ShellExecution, SlashCore
from agent_exec.faces.slash.feedback import SlashFeedback, clipped
from agent_exec.faces.slash.history import History
from agent_exec.model.errors import AgentExecError
from agent_exec.requests.opening import open_gate
from agent_exec.settings import jobs_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.slash.core import SlashAnswer
    from agent_exec.requests.gate import Request

_PATIENCE = 1.0
_SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT")


class Typed(Message):
    """A line was typed, in this folder."""

    def __init__(self, line: str, folder: str) -> None:
        super().__init__()
        self.line = line
        self.folder = folder


class Changed(Message):
    """A command has begun or ended; `state` and `feedback` are what was true then."""

    def __init__(self, execution: ShellExecution) -> None:
        super().__init__()
        self.state = execution.state
        self.feedback = execution.feedback


class Asked(Message):
    """Somebody is to say whether a command may run."""

    def __init__(self, request: "Request", answer: "Future[str]") -> None:
        super().__init__()
        self.request = request
        self.answer = answer


class ShellApp(KeysInTurn):
    """The terminal interface; whoever makes one closes its core."""

    TITLE = "agent-exec"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "cancel", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False, priority=True),
        Binding("f2", "turn_theme", show=False),
    ]

    def __init__(self, settings: Settings) -> None:
        colour = "NO_COLOR" not in os.environ
        super().__init__(ansi_color=None if colour else True)
        self.theme = theme_named(settings.theme, os.environ.get("COLORFGBG", ""), colour=colour)
        self.settings = settings
        self.core = SlashCore(
            settings.permission,
            gate=open_gate(settings.rules, approver=self.approve),
            sandbox=settings.profile,
            own=settings.own,
            hidden=[jobs_root(settings.root)],
            history=History(settings.history),
            timeout=settings.timeout,
            on_change=lambda execution: self.post_message(Changed(execution)),
        )
        self.main = MainScreen(self.core, settings.folder)
        self._typed: asyncio.Queue[Typed] = asyncio.Queue()
        self._asked: set[Future[str]] = set()
        self._leaving = False

    def get_default_screen(self) -> MainScreen:
        """Return the screen that everything begins with."""
        return self.main

    def on_mount(self) -> None:
        """Begin to take what is typed, and tell what is wrong from the start."""
        self.run_worker(self._submit_all(), group="submit")
        if not self.is_headless:
            self._listen()
        problem = self.core.permission.problem or self.core.history.problem
        if problem:
            self.tell(SlashFeedback(clipped(problem, 400), "Warn"))
        elif not self.core.permission.allowed:
            self.tell(SlashFeedback(f"shell commands are off: {self.core.permission.reason}", "Warn"))

    def on_unmount(self) -> None:
        """Have nobody wait for an answer any more."""
        self._leaving = True
        for answer in list(self._asked):
            _answer(answer, "no")

    def tell(self, feedback: SlashFeedback) -> None:
        """Show this on the Bottom Bar."""
        self.main.bar.tell(feedback)

    # What is typed.

    def on_typed(self, event: Typed) -> None:
        """Have it done after what was typed before."""
        self._typed.put_nowait(event)

    async def _submit_all(self) -> None:
        """Hand one line after the other to the core, in another thread: somebody may be asked."""
        while True:
            typed = await self._typed.get()
            try:
                answer = await asyncio.to_thread(self.core.submit, typed.line, typed.folder)
            except AgentExecError as error:
                self.tell(SlashFeedback(clipped(error.message, 400), "Error"))
            except Exception as error:
                self.tell(SlashFeedback(f"shell: {clipped(repr(error), 400)}", "Error"))
            else:
                self._answered(answer)

    def _answered(self, answer: "SlashAnswer") -> None:
        execution = answer.execution
        # Of one that has begun or ended meanwhile, that was told already.
        if answer.feedback is not None and (execution is None or execution.state == "queued"):
            self.tell(answer.feedback)
        if answer.submitted is None or answer.submitted.name == "shell":
            return
        doing = {
            "jobs": self.action_jobs,
            "sessions": self.action_sessions,
            "help": self.action_help,
            "quit": self.action_leave,
        }
        doing[answer.submitted.name]()

    def on_changed(self, event: Changed) -> None:
        """Tell what became of a command, and show its output."""
        self.tell(event.feedback)
        if event.state == "running":
            self.main.show_beside()
        elif event.state == "ended":
            self.main.files.reload()

    def approve(self, request: "Request") -> str:
        """Ask whoever sits here; called in the thread that submits, which waits."""
        answer: Future[str] = Future()
        self._asked.add(answer)
        if self._leaving or not self.post_message(Asked(request, answer)):
            _answer(answer, "no")
        try:
            return answer.result()
        finally:
            self._asked.discard(answer)

    def on_asked(self, event: Asked) -> None:
        """Ask in a dialog."""
        self.push_screen(Approval(event.request), lambda said: _answer(event.answer, said or "no"))

    # What keys do everywhere.

    def action_cancel(self) -> None:
        """End what runs; leave the command line if nothing does."""
        if self.core.cancel():
            self.tell(SlashFeedback("shell: cancelling; Ctrl+C again ends it by force", "Warn"))
        elif self.main.line.display:
            self.main.on_command_line_left()
        else:
            self.tell(SlashFeedback("nothing runs; Ctrl+Q leaves", "Info"))

    def action_leave(self) -> None:
        """Leave; ask first if something would be ended by that."""
        running, waiting = self.core.running, len(self.core.waiting)
        asking = isinstance(self.screen, Confirm) and self.screen.id == "leave"
        if self._leaving or asking or (running is None and not waiting):
            self.leave()
            return
        lines = [] if running is None else [f"$ {clipped(running.request.line, 400)}"]
        if waiting:
            lines.append(f"{waiting} more wait for their turn")
        lines += ["", "End it and leave? Ctrl+Q again does so too."]
        dialog = Confirm("a command runs", lines)
        dialog.id = "leave"
        self.push_screen(dialog, lambda said: self.leave() if said == "yes" else None)

    def leave(self, status: int = 0) -> None:
        """End what runs, and then the program; by force if it is asked for twice."""
        if self._leaving:
            self.core.cancel()
            return
        self._leaving = True
        self.tell(SlashFeedback("ending what runs …", "Info"))
        for answer in list(self._asked):
            _answer(answer, "no")
        self.run_worker(self._end(status), group="end", exit_on_error=False)

    async def _end(self, status: int) -> None:
        await asyncio.to_thread(self.core.close)
        self.exit(return_code=status)

    def action_jobs(self) -> None:
        """Show the durable jobs."""
        from agent_exec.apps.shell.jobs.jobsscreen import JobsScreen

        try:
            jobs = open_jobs(self.settings.root, rules=self.settings.rules)
        except AgentExecError as error:
            self.tell(SlashFeedback(clipped(error.message, 400), "Error"))
            return
        self.push_screen(JobsScreen(jobs))

    def action_sessions(self) -> None:
        """Say what is to be said about sessions."""
        self.push_screen(TextScreen("sessions", SESSIONS))

    def action_help(self) -> None:
        """Show commands and keys."""
        self.push_screen(TextScreen("help", help_text(self.core.permission)))

    def action_turn_theme(self) -> None:
        """Change from dark to light, or back."""
        if not self.no_color:
            self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    # Signals.

    def _listen(self) -> None:
        """Leave in good order when the system says so, or when the terminal is gone."""
        import signal

        if sys.platform == "win32":
            return  # there, whoever ends us ends what we own with us
        for name in _SIGNALS:
            number = getattr(signal, name)
            asyncio.get_running_loop().add_signal_handler(number, self._signalled, int(number))

    def _signalled(self, number: int) -> None:
        """Leave; and do not wait for a terminal that may be gone."""
        self.leave(128 + number)
        Thread(target=self._vanish, args=(128 + number,), daemon=True).start()

    def _vanish(self, status: int) -> None:
        self.core.close()
        sleep(_PATIENCE)
        os._exit(status)


def _answer(answer: "Future[str]", said: str) -> None:
    if not answer.done():
        answer.set_result(said)
