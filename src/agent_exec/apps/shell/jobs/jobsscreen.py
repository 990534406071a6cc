"""The screen of durable jobs: what runs, what ended, and what they printed."""

import asyncio
import time
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from agent_exec.apps.shell.jobs.joblist import JobList, JobRow
from agent_exec.apps.shell.jobs.joblog import JobLog
from agent_exec.apps.shell.panes.dialogs import Confirm
from agent_exec.apps.shell.panes.listpane import ListPane
from agent_exec.apps.shell.panes.outputlines import OutputLines
from agent_exec.apps.shell.panes.outputpane import OutputPane
from agent_exec.apps.shell.panes.rows import shortened
from agent_exec.faces.slash.feedback import cells
from agent_exec.model.errors import AgentExecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.style import Style

    from agent_exec.faces.jobs import Jobs

EVERY = 1.0
"""How many seconds pass before the jobs are read again."""

_LOG_EVERY = 0.2
_STATE = 14
_STYLES = {"running": "busy", "created": "busy", "exited": "good", "killed": "bad", "failed": "bad"}


class JobsPane(ListPane):
    """The jobs, the newest first."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.rows: list[JobRow] = []
        self.problem = "reading …"
        self.border_title = Text("jobs")

    @property
    def count(self) -> int:
        """How many jobs there are."""
        return len(self.rows)

    @property
    def job(self) -> JobRow | None:
        """The job under the cursor."""
        return self.rows[self.cursor] if self.rows else None

    def nothing(self) -> str:
        """Return why there are none."""
        return self.problem or "no jobs yet: `agent-exec run --no-wait -- COMMAND` starts one"

    def show(self, rows: list[JobRow]) -> None:
        """Show these, and stay on the job under the cursor."""
        job = self.job
        ids = [one.id for one in rows]
        place = ids.index(job.id) if job is not None and job.id in ids else self.cursor
        if self.top == 0 and self.cursor == 0:
            place = 0  # who looks at the newest sees those that come
        self.rows = rows
        self.problem = ""
        live = sum(one.live for one in rows)
        self.border_subtitle = Text(f"{live} running of {len(rows)}")
        self.go(place)

    def pieces(self, number: int, base: "Style") -> "list[tuple[str, Style]]":
        """Return state, age, command and last line of a job."""
        job = self.rows[number]
        good = job.state != "exited" or job.told == "exit=0"
        state = self.style_named(_STYLES.get(job.state, "quiet") if good else "bad")
        room = max(10, self.size.width - _STATE - 9)
        command = shortened(job.command, room if not job.last else max(10, room // 2))
        last = shortened(job.last, room - cells(command) - 3)
        return [
            (f" {shortened(job.told, _STATE - 1):<{_STATE}}", state),
            (f"{job.age(time.time()):>4}  ", base),
            (command, base),
            (f"   {last}" if last else "", self.style_named("quiet")),
        ]


class JobsScreen(Screen[None]):
    """The jobs of a store, read again every second."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", show=False),
        Binding("k", "kill", show=False),
        Binding("w", "log", show=False),
        Binding("r,f5", "read", show=False),
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

    def compose(self) -> ComposeResult:
        """Return what it is made of."""
        yield JobsPane()
        yield Static(Text("Enter log  w follow  k kill  r read again  Esc back"))
        yield Static("", id="told")

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
        """Read the jobs again, unless nobody looks."""
        if self.is_current:
            self._due.set()

    def action_back(self) -> None:
        """Leave the jobs."""
        self.dismiss()

    def action_log(self) -> None:
        """Show the log of the job under the cursor, and follow it."""
        job = self.query_one(JobsPane).job
        if job is not None:
            self.app.push_screen(LogScreen(self._jobs, job.id))

    def action_kill(self) -> None:
        """Ask whether the job under the cursor is to be ended."""
        job = self.query_one(JobsPane).job
        if job is None or not job.live:
            self._tell("only a job that runs can be killed" if job is not None else "there is no job")
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
            told = await asyncio.to_thread(self._jobs.kill, job_id)
            self._tell(f"{job_id}: {told['state']}")
        except AgentExecError as error:
            self._tell(error.message)
        except OSError as error:
            self._tell(f"{job_id}: {error.strerror}")
        self._due.set()

    async def _read_on(self) -> None:
        pane = self.query_one(JobsPane)
        while True:
            self._due.clear()
            try:
                height = max(1, pane.size.height)
                pane.show(await asyncio.to_thread(self._list.read, pane.top, height))
            except AgentExecError as error:
                self._fail(error.message)
            except OSError as error:
                self._fail(f"the store cannot be read: {error.strerror}")
            await self._due.wait()

    def _fail(self, why: str) -> None:
        pane = self.query_one(JobsPane)
        pane.show([])
        pane.problem = why

    def _tell(self, text: str) -> None:
        self.query_one("#told", Static).update(Text(text))


class LogScreen(Screen[None]):
    """The output of one job, followed while it runs."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "back", show=False)]
    DEFAULT_CSS = """
    LogScreen {
        & > OutputPane { height: 1fr; }
        & > Static { dock: bottom; height: 1; padding: 0 1; color: $foreground 70%; }
    }
    """

    def __init__(self, jobs: "Jobs", job_id: str) -> None:
        super().__init__()
        self._id = job_id
        self.log_of = JobLog(jobs, job_id)

    def compose(self) -> ComposeResult:
        """Return what it is made of."""
        yield OutputPane(self.log_of.view, title=f"job {self._id}")
        yield Static(Text("↑↓ PgUp PgDn ←→  / search  n N next  F follow  Esc back"), id="hint")

    def on_mount(self) -> None:
        """Begin to read."""
        self.query_one(OutputLines).focus()
        self.run_worker(self._read_on(), group="log")

    def action_back(self) -> None:
        """Leave the log."""
        self.dismiss()

    def on_output_pane_closed(self) -> None:
        """Leave the log."""
        self.dismiss()

    def on_output_lines_looked(self, event: OutputLines.Looked) -> None:
        """Say what came of a search."""
        if event.told:
            self.query_one("#hint", Static).update(Text(event.told))

    async def _read_on(self) -> None:
        log = self.log_of
        while not log.ended:
            try:
                more = await asyncio.to_thread(log.read)
            except AgentExecError as error:
                log.fail(error.message)
                return
            except OSError as error:
                log.fail(f"the log cannot be read: {error.strerror}")
                return
            if not more:
                await asyncio.sleep(_LOG_EVERY)
