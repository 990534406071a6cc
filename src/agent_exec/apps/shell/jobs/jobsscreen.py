"""The screen of durable jobs: what runs, what ended, and what they printed."""

import asyncio
import time
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import Static

from agent_exec.apps.shell.jobs.joblist import JobList, JobLog, JobRow
from agent_exec.apps.shell.panes.dialogs import Confirm
from agent_exec.apps.shell.panes.outputpane import OutputPane
from agent_exec.apps.shell.panes.pane import ListPane, Told, shortened
from agent_exec.faces.slash.feedback import cells
from agent_exec.model.errors import AgentExecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.style import Style

    from agent_exec.faces.verbs import Jobs

EVERY = 1.0
"""How many seconds pass before the jobs are read again."""

_LOG_EVERY = 0.2
_STATE = 14
_STYLES = {"running": "busy", "created": "busy", "exited": "good", "killed": "bad", "failed": "bad"}


class JobsPane(ListPane[JobRow]):
    """The jobs, the newest first."""

    EMPTY = "no jobs yet: `agent-exec run --no-wait -- COMMAND` starts one"

    def __init__(self) -> None:
        super().__init__()
        self.problem = "reading …"
        self.border_title = Text("jobs")

    def show(self, rows: list[JobRow], problem: str = "") -> None:
        """Show these, and stay on the job under the cursor."""
        job, ids = self.entry, [one.id for one in rows]
        place = ids.index(job.id) if job is not None and job.id in ids else self.cursor
        if self.top == 0 and self.cursor == 0:
            place = 0  # a cursor on the newest stays there when others come
        self.entries, self.problem = rows, problem
        self.border_subtitle = Text(f"{sum(one.live for one in rows)} running of {len(rows)}")
        self.go(place)

    def pieces(self, job: JobRow, base: "Style") -> "list[tuple[str, Style]]":
        """Return state, age, command and last line of a job."""
        good = job.state != "exited" or job.told == "exit=0"
        state = self.style(_STYLES.get(job.state, "quiet") if good else "bad")
        room = max(10, self.size.width - _STATE - 9)
        command = shortened(job.command, room if not job.last else max(10, room // 2))
        last = shortened(job.last, room - cells(command) - 3)
        return [
            (f" {shortened(job.told, _STATE - 1):<{_STATE}}", state),
            (f"{job.age(time.time()):>4}  ", base),
            (command, base),
            (f"   {last}" if last else "", self.style("quiet")),
        ]


class JobsScreen(Screen[None]):
    """The jobs of a store, read again every second."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "dismiss"),
        ("k", "kill"),
        ("w", "log"),
        ("r,f5", "read"),
    ]
    DEFAULT_CSS = """
    JobsScreen {
        & > JobsPane { height: 1fr; }
        & > Static { dock: bottom; height: 1; padding: 0 1; color: $foreground 70%; }
        & > #told { dock: bottom; margin: 0 0 1 0; height: 1; color: $text-warning; }
    }
    """

    def __init__(self, jobs: "Jobs") -> None:
        super().__init__()
        self._jobs = jobs
        self._list = JobList(jobs)
        self._due = asyncio.Event()
        self._pane = JobsPane()
        self._told = Static("", id="told")

    def compose(self) -> ComposeResult:
        """Return its parts."""
        yield self._pane
        yield Static(Text("Enter log  w follow  k kill  r read again  Esc back"))
        yield self._told

    def on_mount(self) -> None:
        """Begin to read."""
        self.run_worker(self._read_on(), group="jobs")
        self.set_interval(EVERY, self.action_read)

    def on_screen_resume(self) -> None:
        """Read at once what came meanwhile."""
        self.action_read()

    def on_list_pane_chosen(self) -> None:
        """Show the log of a job."""
        self.action_log()

    def action_read(self) -> None:
        """Read the jobs again, if they can be seen."""
        if self.is_current:
            self._due.set()

    def action_log(self) -> None:
        """Show the log of the job under the cursor, and follow it."""
        job = self._pane.entry
        if job is not None:
            self.app.push_screen(LogScreen(self._jobs, job.id))

    def action_kill(self) -> None:
        """Ask whether to kill the job under the cursor."""
        job = self._pane.entry
        if job is None or not job.live:
            self._tell("there is no job" if job is None else "only a job that runs can be killed")
            return
        job_id = job.id

        def answered(answer: str | None) -> None:
            if answer == "yes":
                self.run_worker(self._kill(job_id), group="kill")

        lines = [f"$ {job.command}", f"in {job.cwd}", "", "It ends with all its processes."]
        self.app.push_screen(Confirm("kill this job?", lines), answered)

    async def _kill(self, job_id: str) -> None:
        self._tell(f"killing {job_id} …")
        try:
            self._tell(f"{job_id}: {(await asyncio.to_thread(self._jobs.kill, job_id))['state']}")
        except (AgentExecError, OSError) as error:
            self._tell(_reason(error, job_id))
        self._due.set()

    async def _read_on(self) -> None:
        pane = self._pane
        while True:
            self._due.clear()
            try:
                pane.show(await asyncio.to_thread(self._list.read, pane.top, max(1, pane.size.height)))
            except (AgentExecError, OSError) as error:
                pane.show([], _reason(error, "the store cannot be read"))
            await self._due.wait()

    def _tell(self, text: str) -> None:
        self._told.update(Text(text))


class LogScreen(Screen[None]):
    """The output of one job, followed while it runs."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss")]
    DEFAULT_CSS = """
    LogScreen {
        & > OutputPane { height: 1fr; }
        & > Static { dock: bottom; height: 1; padding: 0 1; color: $foreground 70%; }
    }
    """

    def __init__(self, jobs: "Jobs", job_id: str) -> None:
        super().__init__()
        self.log_of = JobLog(jobs, job_id)
        self._pane = OutputPane(self.log_of.view, f"job {job_id}")
        self._hint = Static(Text("↑↓ PgUp PgDn ←→  / search  n N next  F follow  Esc back"))

    def compose(self) -> ComposeResult:
        """Return its parts."""
        yield self._pane
        yield self._hint

    def on_mount(self) -> None:
        """Begin to read."""
        self._pane.lines.focus()
        self.run_worker(self._read_on(), group="log")

    def on_told(self, event: Told) -> None:
        """Say how a search ended."""
        self._hint.update(Text(event.text))

    async def _read_on(self) -> None:
        log = self.log_of
        while not log.ended:
            try:
                if not await asyncio.to_thread(log.read):
                    await asyncio.sleep(_LOG_EVERY)
            except (AgentExecError, OSError) as error:
                log.fail(_reason(error, "the log cannot be read"))


def _reason(error: AgentExecError | OSError, what: str) -> str:
    return error.message if isinstance(error, AgentExecError) else f"{what}: {error.strerror}"
