"""What lies in what."""

import pytest

from agent_exec.model import paths
from agent_exec.model.paths import below, inside

PATHS = [
    ("/a", "/a", True),
    ("/a/b", "/a", True),
    ("/a/b/c", "/a", True),
    ("/ab", "/a", False),
    ("/", "/a", False),
    ("/a", "/", True),
    ("/", "/", True),
    ("/a", "/a/", True),
    ("/a/", "/a", True),
    ("/a/b", "/a/b/c", False),
    ("/a/..b", "/a", True),
]


@pytest.mark.parametrize(("path", "folder", "lies"), PATHS)
def test_a_path_lies_in_a_folder(path: str, folder: str, lies: bool) -> None:
    assert inside(path, folder) is lies


@pytest.mark.parametrize(("path", "folder", "lies"), PATHS)
def test_a_folder_is_not_below_itself(path: str, folder: str, lies: bool) -> None:
    same = path.rstrip("/") == folder.rstrip("/")
    assert below(path, ["/elsewhere", folder]) is (lies and not same)


def test_no_folders_hold_nothing() -> None:
    assert not below("/a", [])


@pytest.mark.parametrize(
    ("path", "folder", "lies"),
    [
        ("C:\\A/b", "c:\\a", True),
        ("C:/A", "c:\\a\\", True),
        ("C:\\ab", "C:\\a", False),
        ("C:\\a", "C:\\", True),
    ],
)
def test_windows_knows_no_case(path: str, folder: str, lies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_whole", paths.windows)
    assert inside(path, folder) is lies


def test_case_counts_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_whole", paths.posix)
    assert not inside("/A/b", "/a")
