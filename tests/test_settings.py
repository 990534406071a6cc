"""Where things are: the option, the environment, or the system's own place."""

import os
from pathlib import Path

import pytest

from agent_exec.jobs.store import jobs_store
from agent_exec.places import jobs_root

ALL = {"AGENT_EXEC_ROOT": "/variable", "XDG_DATA_HOME": "/xdg", "LOCALAPPDATA": "/local"}


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize(
    ("option", "missing", "root"),
    [
        ("/option", (), "/option"),
        ("relative", (), "relative"),
        (None, (), "/variable"),
        ("", (), "/variable"),
        (None, ("AGENT_EXEC_ROOT",), "/xdg/agent-exec/jobs"),
    ],
)
def test_the_first_that_is_given_wins_on_every_system(
    platform: str, option: str | None, missing: tuple[str, ...], root: str
) -> None:
    unset = {name: value for name, value in ALL.items() if name not in missing}
    assert jobs_root(option, unset, platform, "/home/me") == root
    empty = ALL | dict.fromkeys(missing, "")
    assert jobs_root(option, empty, platform, "/home/me") == root


@pytest.mark.parametrize(
    ("platform", "environ", "root"),
    [
        ("linux", {}, "/home/me/.local/share/agent-exec/jobs"),
        ("darwin", {}, "/home/me/.local/share/agent-exec/jobs"),
        ("linux", {"LOCALAPPDATA": "/local"}, "/home/me/.local/share/agent-exec/jobs"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/agent-exec/jobs"),
        ("win32", {}, "/home/me/AppData/Local/agent-exec/jobs"),
        ("win32", {"LOCALAPPDATA": ""}, "/home/me/AppData/Local/agent-exec/jobs"),
    ],
)
def test_each_system_has_its_own_place(platform: str, environ: dict[str, str], root: str) -> None:
    assert jobs_root(None, environ, platform, "/home/me") == root
    blank = dict.fromkeys(("AGENT_EXEC_ROOT", "XDG_DATA_HOME"), "")
    assert jobs_root("", environ | blank, platform, "/home/me") == root


def test_the_environment_of_this_process_is_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(tmp_path / "jobs"))
    assert jobs_store().root == str(tmp_path / "jobs")
    assert not (tmp_path / "jobs").exists()
    assert jobs_store("near").root == os.path.join(os.getcwd(), "near")
    monkeypatch.delenv("AGENT_EXEC_ROOT")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    assert jobs_store().root == "/home/me/.local/share/agent-exec/jobs"
