"""A folder that paths may not lead out of; the rules of Windows are tried by its own module of paths."""

import ntpath
from pathlib import Path

import pytest

from agent_exec.model import paths
from agent_exec.model.errors import InvalidArgument
from agent_exec.requests import folders as workspace
from agent_exec.requests.folders import Workspace


def test_inside_and_outside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in2").mkdir()
    (tmp_path / "in" / "out").symlink_to("../in2")
    here = Workspace(tmp_path / "in")
    root = here.root
    assert here.resolve(".") == here.resolve(f"/{root}/x/..") == root
    assert here.resolve("missing\\x") == f"{root}/missing/x"
    for path in ("..", "out", f"{root}2", "/", "//", "\\"):
        with pytest.raises(InvalidArgument, match="is outside of the workspace"):
            here.resolve(path)


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_cannot_be_a_path(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidArgument):
        Workspace(tmp_path).resolve(path)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace C:\\Repo; where nothing is a link, the real path is the plain one."""

    class System:
        path = ntpath
        fsdecode = staticmethod(str)

    monkeypatch.setattr(workspace, "os", System)
    monkeypatch.setattr(paths, "_whole", paths.windows)
    monkeypatch.setattr(ntpath, "realpath", ntpath.normpath)
    return Workspace("C:\\Repo")


@pytest.mark.parametrize(
    "path", ["src/tools", "src\\tools", "C:\\Repo\\src\\tools", "c:/repo/SRC/tools", "\\Repo\\src\\tools"]
)
def test_inside_on_windows(windows: Workspace, path: str) -> None:
    assert windows.resolve(path).lower() == "c:\\repo\\src\\tools"


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "C:\\Repo2",
        "C:\\",
        "D:\\Repo",
        "D:Repo",
        "\\\\server\\share",
        "//server/share/x",
        "\\\\?\\D:\\x",
        "\\etc",
    ],
)
def test_outside_on_windows(windows: Workspace, path: str) -> None:
    with pytest.raises(InvalidArgument, match="is outside of the workspace"):
        windows.resolve(path)


def test_a_server_is_not_asked(windows: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at a share is to sign in to its server."""

    def looked_at(path: str) -> str:
        raise AssertionError(f"{path} was looked at")

    monkeypatch.setattr(ntpath, "realpath", looked_at)
    assert not windows.holds(windows.real("\\\\server\\share"))


def test_a_folder_named_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert Workspace(tmp_path, tmp_path / "link", "/").roots == (str(tmp_path), "/")
