"""The program: holds the core, hands on what is typed, asks for approvals, and leaves nothing behind."""

import asyncio
import os
import sys
from concurrent.futures import Future
from threading import Thread
from time import sleep
from typing import ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType

from agent_exec.apps.shell.mainscreen import MainScreen
from agent_exec.apps.shell.panes.commandline import CommandLine
from agent_exec.apps.shell.panes.dialogs import SESSIONS, Approval, Confirm, TextScreen, help_text
from agent_exec.apps.shell.questions import Questions
from agent_exec.apps.shell.settings import Settings, theme_named
from agent_exec.faces.jobs import open_jobs
from agent_exec.faces.slash.core import SlashCore
from agent_exec.faces.slash.feedback import SlashFeedback, clipped
from agent_exec.faces.slash.history import History
from agent_exec.model.errors import AgentExecError
from agent_exec.places import jobs_root
from agent_exec.requests.opening import open_gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.slash.core import SlashAnswer, State
    from agent_exec.requests.gate import Request

_KEY_PATIENCE = 0.25
_PATIENCE = 1.0
_MESSAGE = 400
_SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT")


class ShellApp(App[None]):
    """The terminal interface; its caller closes its core."""

    TITLE = "agent-exec"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    .pane {
        border: round $foreground 30%;
        border-title-color: $foreground;
        border-subtitle-color: $foreground 70%;
        &:focus-within { border: round $primary; }
        &:ansi { border: round ansi_default; }
        &:ansi:focus-within { border: heavy ansi_default; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "cancel", priority=True),
        Binding("ctrl+q", "leave", priority=True),
        ("f2", "turn_theme"),
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
            on_change=lambda one: self.call_later(self._changed, one.state, one.feedback),
        )
        self.main = MainScreen(self.core, settings.folder)
        self.keys: asyncio.Queue[events.Event] = asyncio.Queue()
        """The keys that have not had their effect yet."""
        self._typed: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._asked: set[Future[str]] = set()
        self._leaving = False
        self._questions = Questions(self)

    def get_default_screen(self) -> MainScreen:
        """Return the first screen."""
        return self.main

    def on_mount(self) -> None:
        """Begin to take what is typed, and tell what is wrong from the start."""
        self.run_worker(self._take_keys(), group="keys")
        self.run_worker(self._submit_all(), group="submit")
        self._questions.start()
        if not self.is_headless:
            self._listen()
        permission = self.core.permission
        problem = permission.problem or self.core.history.problem
        if problem:
            self.main.tell(clipped(problem, _MESSAGE), "Warn")
        elif not permission.allowed:
            self.main.tell(f"shell commands are off: {permission.reason}", "Warn")

    def on_unmount(self) -> None:
        """Refuse what is still asked for; questions of other programs go on to wait."""
        self._leaving = True
        self._refuse()
        self._questions.stop()

    # What is typed.

    async def on_event(self, event: events.Event) -> None:
        """Queue a key or a paste."""
        if isinstance(event, (events.Key, events.Paste)) and not event.is_forwarded:
            self.keys.put_nowait(event)
        else:
            await super().on_event(event)

    async def _take_keys(self) -> None:
        """Handle one key after the other: those typed into what a key opens do not overtake it.

        A key passes the queue of the focused widget and of each one above it
        before its binding is looked up; what the binding sends passes them too.
        """
        while True:
            event = await self.keys.get()
            target = self.focused or self.screen
            await super().on_event(event)
            for _ in range(2):
                try:
                    async with asyncio.timeout(_KEY_PATIENCE):
                        for node in target.ancestors_with_self:
                            passed = asyncio.Event()
                            if node.call_later(passed.set):
                                await passed.wait()
                except TimeoutError:
                    pass  # a widget was removed meanwhile
                target = self.focused or self.screen
            self.keys.task_done()

    def on_command_line_ended(self, event: CommandLine.Ended) -> None:
        """Submit what was typed after what was typed before."""
        if event.line:
            self._typed.put_nowait((event.line, self.main.files.path))

    async def _submit_all(self) -> None:
        """Submit one line after the other, in another thread: an approval may be asked for."""
        while True:
            line, folder = await self._typed.get()
            try:
                answer = await asyncio.to_thread(self.core.submit, line, folder)
            except AgentExecError as error:
                self.main.tell(clipped(error.message, _MESSAGE), "Error")
            except Exception as error:
                self.main.tell(f"shell: {clipped(repr(error), _MESSAGE)}", "Error")
            else:
                self._answered(answer)

    def _answered(self, answer: "SlashAnswer") -> None:
        execution = answer.execution
        # A command that has begun or ended meanwhile has sent that already.
        if answer.feedback is not None and (execution is None or execution.state == "queued"):
            self.main.bar.tell(answer.feedback)
        if answer.submitted is not None and answer.submitted.name != "shell":
            act = {
                "jobs": self.action_jobs,
                "sessions": self.action_sessions,
                "help": self.action_help,
                "quit": self.action_leave,
            }
            act[answer.submitted.name]()

    def _changed(self, state: "State", feedback: SlashFeedback) -> None:
        """Show what became of a command, and its output."""
        self.main.bar.tell(feedback)
        if state == "running":
            self.main.show_beside()
        elif state == "ended":
            self.main.files.action_reload()

    # Approvals.

    def approve(self, request: "Request") -> str:
        """Ask the user; called in the thread that submits, which waits."""
        answer: Future[str] = Future()
        self._asked.add(answer)
        if self._leaving or not self.call_later(self._ask, request, answer):
            self._refuse()
        try:
            return answer.result()
        finally:
            self._asked.discard(answer)

    def _ask(self, request: "Request", answer: "Future[str]") -> None:
        """Ask in a dialog."""

        def answered(name: str | None) -> None:
            if not answer.done():
                answer.set_result(name or "no")

        self.push_screen(Approval(request), answered)

    def _refuse(self) -> None:
        """Answer no to all that is asked for."""
        for answer in list(self._asked):
            if not answer.done():
                answer.set_result("no")

    # What keys do everywhere.

    def action_cancel(self) -> None:
        """End what runs; leave the command line if nothing does."""
        if self.core.cancel():
            self.main.tell("shell: cancelling; Ctrl+C again ends it by force", "Warn")
        elif self.main.line.display:
            self.main.on_command_line_ended()
        else:
            self.main.tell("nothing runs; Ctrl+Q leaves")

    def action_leave(self) -> None:
        """Leave; ask first if that would end a command."""
        running, waiting = self.core.running, len(self.core.waiting)
        asking = isinstance(self.screen, Confirm) and self.screen.id == "leave"
        if self._leaving or asking or (running is None and not waiting):
            self.leave()
            return
        lines = [] if running is None else [f"$ {clipped(running.request.line, _MESSAGE)}"]
        if waiting:
            lines.append(f"{waiting} more wait for their turn")
        dialog = Confirm("a command runs", [*lines, "", "End it and leave? Ctrl+Q again does so too."])
        dialog.id = "leave"
        self.push_screen(dialog, lambda answer: self.leave() if answer == "yes" else None)

    def leave(self, status: int = 0) -> None:
        """End what runs, and then the program; a second call ends it by force."""
        if self._leaving:
            self.core.cancel()
            return
        self._leaving = True
        self.main.tell("ending what runs …")
        self._refuse()
        self.run_worker(self._end(status), group="end", exit_on_error=False)

    async def _end(self, status: int) -> None:
        await asyncio.to_thread(self.core.close)
        self.exit(return_code=status)

    def action_jobs(self) -> None:
        """Show the durable jobs."""
        from agent_exec.apps.shell.jobs.jobsscreen import JobsScreen

        try:
            self.push_screen(JobsScreen(open_jobs(self.settings.root, rules=self.settings.rules)))
        except AgentExecError as error:
            self.main.tell(clipped(error.message, _MESSAGE), "Error")

    def action_sessions(self) -> None:
        """Show why sessions cannot be seen from here."""
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
        """Leave in good order after a signal, or when the terminal is gone."""
        import signal

        if sys.platform == "win32":
            return  # there, the commands end with this process
        for name in _SIGNALS:
            number = getattr(signal, name)
            asyncio.get_running_loop().add_signal_handler(number, self._signalled, int(number))

    def _signalled(self, number: int) -> None:
        """Leave, without waiting for a terminal that may be gone."""

        def vanish() -> None:
            self.core.close()
            sleep(_PATIENCE)
            os._exit(128 + number)

        self.leave(128 + number)
        Thread(target=vanish, daemon=True).start()
