"""A server answers before the survey of a large workspace is done, and only if boxes can be made."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_exec.apps.mcp.toolset import Settings, Trial
from agent_exec.host import close_loopback
from agent_exec.model.errors import PlanFailed
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.sandbox import Sandbox, share, shared_sandbox


@pytest.fixture
def survey(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """An event that lets surveys begin."""
    go, look = threading.Event(), Sandbox.look

    def late(self: Sandbox, *given: Any) -> Any:
        go.wait()
        return look(self, *given)

    before = shared_sandbox()
    share(Sandbox())
    monkeypatch.setattr(Sandbox, "look", late)
    monkeypatch.setattr("agent_exec.apps.mcp.notices.on_stderr", lambda _: None)
    yield go
    share(before)


def started(tmp_path: Path) -> Trial:
    trial = Trial(Settings(Profile("workspace-write", [str(tmp_path)])))
    trial.start()
    return trial


def test_settings_come_before_the_survey_is_done(tmp_path: Path, survey: threading.Event) -> None:
    trial = started(tmp_path)
    settings = trial.settings()
    assert trial.is_alive()
    survey.set()
    trial.join()
    assert (settings.sandbox.name, settings.warning()) == ("workspace-write", "")
    assert trial.settings().sandbox.loopback != settings.sandbox.loopback
    close_loopback(settings.sandbox.network or "")


def test_a_warning_that_comes_late_is_heard(
    tmp_path: Path, survey: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = started(tmp_path)
    settings = trial.settings()

    def fail(*_: object) -> None:
        raise PlanFailed("a folder went")

    monkeypatch.setattr(Sandbox, "plan", fail)
    survey.set()
    trial.join()
    assert "a folder went" in settings.warning()


def test_the_survey_is_waited_for_if_no_box_can_be_made(
    tmp_path: Path, survey: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sandbox, "probe", lambda *_: "forbidden here")
    trial = started(tmp_path)
    told: list[Settings] = []
    waiting = threading.Thread(target=lambda: told.append(trial.settings()))
    waiting.start()
    waiting.join(0.3)
    assert not told
    survey.set()
    waiting.join()
    assert told
    close_loopback(told[0].sandbox.network or "")
