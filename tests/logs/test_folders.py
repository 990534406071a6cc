"""A caller's path becomes a descriptor once: no link is followed, and what is hidden stays so by any name."""

import os
import stat
from pathlib import Path

import pytest

from agent_exec.logs.folders import HiddenPath, open_file, open_own_file


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("plain")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "file").write_text("secret")
    return tmp_path


def content(fd: int) -> str:
    try:
        return os.read(fd, 100).decode()
    finally:
        os.close(fd)


def test_a_real_path_is_opened(place: Path) -> None:
    assert content(open_file(str(place / "a" / "file"))) == "plain"


def test_no_link_is_followed_anywhere_in_a_path(place: Path) -> None:
    (place / "folder").symlink_to("secrets")
    (place / "name").symlink_to("secrets/file")
    for path in ("folder/file", "name"):
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            open_file(str(place / path))
    with pytest.raises(OSError, match=r"Not a directory|Too many levels|No such"):
        open_file(f"/proc/self/cwd/{os.path.relpath(place / 'a' / 'file')}")


def test_what_is_hidden_is_known_by_what_it_is(place: Path) -> None:
    """A second name of a hidden file, and a file in a hidden folder, are hidden too."""
    os.link(place / "secrets" / "file", place / "a" / "other")
    hidden = [str(place / "secrets")], [str(place / "secrets" / "file")], [str(place / "secrets" / "file")]
    for names, path in zip(hidden, ("secrets/file", "secrets/file", "a/other"), strict=True):
        with pytest.raises(HiddenPath):
            open_file(str(place / path), names)
    assert content(open_file(str(place / "a" / "file"), [str(place / "secrets"), "/no/such/path"])) == "plain"


def test_what_appears_after_the_look_is_hidden_by_its_name(place: Path) -> None:
    with pytest.raises(HiddenPath):
        open_file(str(place / "a" / "file"), [str(place / "a")])


def test_only_files_and_devices_are_opened(place: Path) -> None:
    os.mkfifo(place / "pipe")
    for name in ("pipe", "a", "missing"):
        with pytest.raises(OSError, match=r"regular file|directory"):
            open_file(str(place / name))
    fd = open_file("/dev/null")
    assert stat.S_ISCHR(os.fstat(fd).st_mode)
    os.close(fd)


def test_our_users_own_path_may_be_a_link_and_a_pipe_but_nothing_hidden(place: Path) -> None:
    (place / "link").symlink_to("a/file")
    (place / "way").symlink_to("secrets/file")
    reader, writer = os.pipe()
    try:
        os.write(writer, b"piped")
        hidden = [str(place / "secrets")]
        assert content(open_own_file(f"/dev/fd/{reader}", hidden)) == "piped"
        assert content(open_own_file(str(place / "link"), hidden)) == "plain"
        assert content(open_own_file(str(place / "way"))) == "secret"
        with pytest.raises(HiddenPath):
            open_own_file(str(place / "way"), hidden)
    finally:
        os.close(reader)
        os.close(writer)
