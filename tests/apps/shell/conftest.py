"""A folder to look at, and apps whose processes can be found by the fixture that looks for leftovers."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("textual")

from agent_exec.apps.shell import background_read as aside
from agent_exec.apps.shell.app import ShellApp
from agent_exec.apps.shell.settings import Settings
from apps.shell.driving import MakeApp, permission


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("NO_COLOR", "COLORFGBG", "AGENT_EXEC_RULES", "AGENT_EXEC_APPROVAL_POLICY", "LC_ALL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        aside, "PATIENCE", 30.0
    )  # so that what is read is there, however slow this machine is
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("HOME", str(tmp_path.resolve()))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    work = tmp_path.resolve() / "project"
    (work / "src").mkdir(parents=True)
    (work / "docs").mkdir()
    (work / "docs" / "guide.md").write_text("# Guide\n\nRead me.\n")
    (work / "notes.txt").write_text("first line\nsecond line\n")
    return work


@pytest.fixture
def make_app(nothing_left: str, folder: Path, tmp_path: Path) -> Iterator[MakeApp]:
    made: list[ShellApp] = []
    start = folder

    def make(*, allowed: bool = True, folder: Path | None = None, **settings: Any) -> ShellApp:
        settings.setdefault("root", str(tmp_path / "jobs"))
        terms = {"theme": "dark"} | settings
        app = ShellApp(Settings(str(folder or start), permission(nothing_left, allowed), **terms))
        made.append(app)
        return app

    yield make
    for app in made:
        app.core.close()
    for thread in threading.enumerate():
        if thread.name == "agent-exec-background-read":  # it may still be reading what nobody wants any more
            thread.join(30)


@pytest.fixture
def app(make_app: MakeApp) -> ShellApp:
    return make_app()
