"""The durable jobs: seen live, looked into, killed."""

import shutil
from pathlib import Path

import pytest
from textual.widgets import Static

from agent_exec.apps.shell.app import ShellApp
from agent_exec.apps.shell.jobs.joblist import JobList, JobRow
from agent_exec.apps.shell.jobs.jobsscreen import JobsPane, LogScreen
from agent_exec.faces.jobs import open_jobs
from apps.shell.driving import Person, use
from cli import Cli


@pytest.fixture
def store(cli: Cli) -> Cli:
    """The program with the store that the app looks into."""
    return cli


def pane(person: Person) -> JobsPane:
    return person.app.screen.query_one(JobsPane)


def told(person: Person) -> str:
    return str(person.app.screen.query_one("#told", Static).content)


def test_no_jobs_yet(app: ShellApp, store: Cli) -> None:
    async def story(person: Person) -> None:
        await person.command("/jobs")
        await person.until(lambda: "no jobs yet" in person.screen)
        await person.press("k", "w", "enter", "down")
        assert "there is no job" in person.screen
        await person.press("escape")
        assert person.app.screen is person.main

    use(app, story)


def test_jobs_are_seen_live(app: ShellApp, store: Cli) -> None:
    store("run", "--", "sh", "-c", "echo done; exit 3")
    running = store.start("sh", "-c", "echo begun; sleep 60")

    async def story(person: Person) -> None:
        await person.command("/jobs")
        await person.until(lambda: "begun" in person.screen and "exit=3" in person.screen)
        assert "running" in person.screen
        assert "1 running of 2" in person.screen
        assert pane(person).entries[0].id == running
        store("kill", running)
        await person.until(lambda: "0 running of 2" in person.screen)
        assert "killed TERM" in person.screen
        store("run", "--", "echo", "a newcomer")
        await person.until(lambda: "a newcomer" in person.screen)
        await person.press("r", "q")
        assert person.app.screen is person.main

    use(app, story)


def test_enter_shows_the_log_and_follows_it(app: ShellApp, store: Cli, tmp_path: Path) -> None:
    line = f"echo out; echo err >&2; while ! test -e {tmp_path}/go; do sleep 0.02; done; echo last; exit 4"
    store.start("sh", "-c", line)

    async def story(person: Person) -> None:
        await person.command("/jobs")
        await person.until(lambda: pane(person).count == 1)
        await person.press("enter")
        screen = person.app.screen
        assert isinstance(screen, LogScreen)
        await person.until(lambda: "status: running" in person.screen and "err" in person.screen)
        (tmp_path / "go").touch()
        await person.until(lambda: "exit: 4" in person.screen)
        assert [one.text for one in screen.log_of.view.snapshot().lines] == ["out", "err", "last"]
        await person.press("/")
        await person.type("last")
        await person.press("enter", "n", "N")
        await person.press("escape")
        await person.until(lambda: person.app.screen is not screen)
        await person.press("w")
        assert isinstance(person.app.screen, LogScreen)
        await person.press("q", "escape")
        await person.until(lambda: person.app.screen is person.main)

    use(app, story)


def test_k_kills_after_asking(app: ShellApp, store: Cli) -> None:
    job = store.start("sleep", "60")

    async def story(person: Person) -> None:
        await person.command("/jobs")
        await person.until(lambda: pane(person).count == 1)
        await person.press("k")
        assert "kill this job?" in person.screen
        await person.press("n")
        assert store("status", job)["state"] == "running"
        await person.press("k", "y")
        await person.until(lambda: "killed TERM" in person.screen)
        assert told(person) == f"{job}: killed"
        await person.press("k")
        await person.until(lambda: "only a job that runs" in told(person))

    use(app, story)


def test_a_job_that_is_taken_away_while_it_is_looked_at(app: ShellApp, store: Cli) -> None:
    job = store("run", "--", "echo", "hello")["job_id"]

    async def story(person: Person) -> None:
        await person.command("/jobs")
        await person.until(lambda: pane(person).count == 1)
        shutil.rmtree(store.folder(job))
        await person.press("enter")
        await person.until(lambda: "no job" in person.screen.lower())
        await person.press("escape")
        await person.until(lambda: "no jobs yet" in person.screen)

    use(app, story)


def test_a_job_that_never_ran_says_why(app: ShellApp, store: Cli) -> None:
    store("run", "--", "no-such-program-at-all")

    async def story(person: Person) -> None:
        await person.command("/jobs")
        await person.until(lambda: pane(person).count == 1)
        await person.press("enter")
        await person.until(lambda: "failed: " in person.screen)

    use(app, story)


def test_much_output_of_a_job_is_kept_by_its_end(app: ShellApp, store: Cli) -> None:
    store("run", "--wait", "--", "seq", "1", "100000")

    async def story(person: Person) -> None:
        await person.command("/jobs")
        await person.until(lambda: "100000" in person.screen)
        await person.press("enter")
        await person.until(lambda: "exit: 0" in person.screen)
        assert "100000" in person.screen

    use(app, story)


def test_hostile_commands_and_output_are_shown_as_pictures(app: ShellApp, store: Cli) -> None:
    store("run", "--", "printf", "\\033[2J[red]x\\n")

    async def story(person: Person) -> None:
        await person.command("/jobs")
        await person.until(lambda: "␛[2J[red]x" in person.screen)
        assert "\x1b" not in person.screen

    use(app, story)


def test_only_what_is_seen_is_read(store: Cli) -> None:
    for number in range(5):
        store("run", "--", "echo", number)
    jobs = open_jobs(str(store.root))
    rows = JobList(jobs).read(0, 2)
    assert [row.last for row in rows] == ["4", "3", "", "", ""]
    assert all(row.told == "exit=0" and not row.live for row in rows)


@pytest.mark.parametrize(
    ("seconds", "text"), [(-5, "0s"), (59, "59s"), (60, "1m"), (7300, "2h"), (200_000, "2d")]
)
def test_ages_are_short(seconds: float, text: str) -> None:
    assert JobRow("id", "running", "running", 1000.0, "ls", "/").age(1000.0 + seconds) == text
