"""How it looks: pictures of the main views at two sizes, compared with those that somebody has looked at.

AGENT_EXEC_REWRITE_SNAPSHOTS=1 writes them anew; look at them before you commit them.
"""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_exec.apps.shell.app import ShellApp
from agent_exec.apps.shell.jobs.joblist import JobList, JobRow
from agent_exec.apps.shell.settings import Settings
from agent_exec.faces.slash.line import ShellCommandRequest
from agent_exec.faces.slash.view import ShellExecutionResult
from agent_exec.policy.rule import Rule
from agent_exec.policy.verdict import Verdict
from agent_exec.requests.gate import Request
from apps.shell.driving import LARGE, SMALL, MakeApp, Person, Story, permission, script, use

SNAPSHOTS = Path(__file__).parent / "snapshots"
REWRITE = bool(os.environ.get("AGENT_EXEC_REWRITE_SNAPSHOTS"))
NOON = 1_794_744_000_000


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def scene(folder: Path) -> Path:
    """A folder that looks like one of somebody's."""
    (folder / "src" / "main.py").write_text("print('hello')\n")
    (folder / "Makefile").write_text("test:\n\tpytest -q\n")
    (folder / "日本語.txt").write_text("こんにちは、世界\n")
    script(folder, "build.sh", "seq -f 'compiled file %g of 40' 40; echo 'warning: deprecated' >&2\n")
    return folder


def settled(person: Person) -> None:
    """Put moments and places into what was run that are the same on every day and machine."""
    view = person.app.core.view
    view.request = ShellCommandRequest("./build.sh", (), "/home/ann/project")
    result = ShellExecutionResult(0, "compiled file 1 of 40\n", "warning: deprecated\n", 1234, NOON)
    view.finish(result)
    person.main.bar.tell(result.feedback)


async def main(person: Person) -> None:
    await person.press("end")
    await person.press("up")


async def typing(person: Person) -> None:
    await person.type("/shell ./build.sh s")


async def commands(person: Person) -> None:
    await person.press("/", "down")


async def output(person: Person) -> None:
    await person.run("./build.sh")
    settled(person)
    await person.press("ctrl+o")
    await person.until(lambda: "exit: 0 duration: 1234ms" in person.screen)


async def searched(person: Person) -> None:
    await output(person)
    await person.press("home", "/")
    await person.type("file 3")
    await person.press("enter")
    lines = person.main.pane.lines
    await person.until(lambda: lines.search is not None and lines.search.found is not None)


async def beside(person: Person) -> None:
    await person.run("./build.sh")
    settled(person)
    await person.until(lambda: "cwd: /home/ann/project" in person.screen)


async def approval(person: Person) -> None:
    verdict = Verdict("ask", Rule(["git", "push"], "ask", source="rules.toml:7"), "others will see it")
    request = Request(
        ("git", "push", "origin", "main"), "/home/ann/project", verdict, (Rule(["git", "push"]),)
    )
    from agent_exec.apps.shell.panes.dialogs import Approval

    person.app.push_screen(Approval(request))
    await person.until(lambda: "may this run?" in person.screen)


async def helping(person: Person) -> None:
    await person.press("?")
    await person.until(lambda: "/shell COMMAND" in person.screen)


VIEWS: dict[str, Story] = {
    "main": main,
    "typing": typing,
    "commands": commands,
    "beside": beside,
    "output": output,
    "searched": searched,
    "approval": approval,
    "help": helping,
}
SIZES = {"80x24": SMALL, "120x40": LARGE}


def compare(app: ShellApp, name: str, story: Story, size: tuple[int, int]) -> None:
    seen = ""

    async def looked_at(person: Person) -> None:
        nonlocal seen
        await story(person)
        person.app.screen.set_focus(person.app.focused)
        await person.look()
        seen = normalised(person.app.export_screenshot(title="agent-exec"))

    use(app, looked_at, size)
    file = SNAPSHOTS / f"{name}.svg"
    if REWRITE:
        SNAPSHOTS.mkdir(exist_ok=True)
        file.write_text(seen)
    assert file.exists(), "no picture yet: AGENT_EXEC_REWRITE_SNAPSHOTS=1 makes one"
    if file.read_text() != seen:
        other = file.with_suffix(".new.svg") if os.environ.get("AGENT_EXEC_KEEP_SNAPSHOTS") else None
        if other is not None:
            other.write_text(seen)
        expected, found = text(file.read_text()), text(seen)
        assert found == expected
        raise AssertionError(f"{name}: the text is the same, colours or places are not")


def normalised(svg: str) -> str:
    """Return a picture without what differs each time, the name of its classes, and without ballast."""
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    svg = re.sub(r'<clipPath id="terminal-line-\d+">.*?</clipPath>', "", svg, flags=re.DOTALL)
    svg = re.sub(r' clip-path="url\(#terminal-line-\d+\)"', "", svg)
    return re.sub(r"\n\s*\n+", "\n", svg)


def text(svg: str) -> list[str]:
    """Return the text of a picture, row by row."""
    import html

    rows: dict[float, list[tuple[float, str]]] = {}
    for x, y, content in re.findall(r'<text [^>]*x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', svg):
        rows.setdefault(float(y), []).append((float(x), html.unescape(content)))
    return ["".join(content for _, content in sorted(rows[y])).rstrip() for y in sorted(rows)]


@pytest.mark.parametrize(
    ("view", "size"),
    [
        *((view, "80x24") for view in VIEWS),
        *((view, "120x40") for view in ("main", "beside", "output", "typing")),
    ],
)
def test_a_view_looks_as_it_did(make_app: MakeApp, scene: Path, view: str, size: str) -> None:
    compare(make_app(folder=scene), f"{view}-{size}", VIEWS[view], SIZES[size])


def test_the_light_theme(nothing_left: str, make_app: MakeApp, scene: Path) -> None:
    compare(make_app(folder=scene, theme="light"), "light-80x24", output, SMALL)


def test_without_colour(make_app: MakeApp, scene: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    compare(make_app(folder=scene), "no-color-80x24", output, SMALL)


def test_without_permission(nothing_left: str, make_app: MakeApp, scene: Path) -> None:
    app = ShellApp(Settings(str(scene), permission(nothing_left, False), theme="dark"))
    compare(app, "disabled-80x24", main, SMALL)


@pytest.mark.parametrize("size", SIZES)
def test_the_jobs(make_app: MakeApp, scene: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    began = time.time() - 2.5 * 3600
    rows = [
        JobRow("3", "running", "running", began, "npm run dev", "/home/ann/project", "ready in 312 ms"),
        JobRow("2", "exited", "exit=1", began, "pytest -q", "/home/ann/project", "1 failed, 31 passed"),
        JobRow("1", "killed", "killed TERM", began, "sleep 600", "/home/ann", ""),
    ]
    monkeypatch.setattr(JobList, "read", lambda *_: rows)

    async def jobs(person: Person) -> None:
        await person.command("/jobs")
        await person.until(lambda: "1 running of 3" in person.screen)

    compare(make_app(folder=scene), f"jobs-{size}", jobs, SIZES[size])
