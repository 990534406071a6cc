"""Folders of ours are for their owner alone, whatever the caller's umask."""

import os
import stat
from pathlib import Path

import pytest

from agent_exec.places import make_folder, write_file


@pytest.mark.parametrize("umask", [0, 0o022])
def test_folders_above_are_private_too(tmp_path: Path, umask: int) -> None:
    former = os.umask(umask)
    try:
        make_folder(str(tmp_path / "a" / "b" / "c"))
    finally:
        os.umask(former)
    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in made] == [0o700] * 3
    make_folder(str(made[-1]))


def test_a_folder_above_that_another_process_makes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    above, real = tmp_path / "above", os.mkdir

    def late(path: str, mode: int = 0o777) -> None:
        try:
            real(path, mode)
        except FileNotFoundError:
            real(above)  # what the other process does, before the failure is looked at
            raise

    monkeypatch.setattr(os, "mkdir", late)
    make_folder(str(above / "folder"))
    assert (above / "folder").is_dir()


def test_a_link_that_leads_nowhere_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere/at/all")
    with pytest.raises(FileNotFoundError):
        make_folder(str(tmp_path / "link" / "folder"))


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_something_else_in_its_place_is_refused(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    place.touch() if kind == "file" else place.symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        make_folder(str(place))


class TestWriteFile:
    """`places.write_file`: a file has the old content or the new, and nothing else is left."""

    def test_a_new_file_is_private_under_any_umask(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            write_file(str(tmp_path / "a"), b"one")
        finally:
            os.umask(before)
        assert (tmp_path / "a").read_bytes() == b"one"
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600

    def test_owner_and_mode_are_kept(self, tmp_path: Path) -> None:
        file = tmp_path / "a"
        file.write_bytes(b"one")
        file.chmod(0o640)
        if os.geteuid() == 0:
            os.chown(file, 65534, 65534)
        was = file.stat()
        write_file(str(file), b"two", like=was)
        now = file.stat()
        assert file.read_bytes() == b"two"
        assert (now.st_mode, now.st_uid, now.st_gid) == (was.st_mode, was.st_uid, was.st_gid)

    def test_a_link_is_replaced_and_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "theirs").write_bytes(b"theirs")
        (tmp_path / "a").symlink_to("theirs")
        write_file(str(tmp_path / "a"), b"ours")
        assert not (tmp_path / "a").is_symlink()
        assert (tmp_path / "theirs").read_bytes() == b"theirs"

    @pytest.mark.parametrize("kind", ["file", "dangling link"])
    def test_a_name_that_is_taken_is_left(self, tmp_path: Path, kind: str) -> None:
        file = tmp_path / "a"
        if kind == "file":
            file.write_bytes(b"theirs")
        else:
            file.symlink_to("nowhere")
        with pytest.raises(FileExistsError):
            write_file(str(file), b"ours", new=True)
        assert list(tmp_path.iterdir()) == [file]
        assert kind != "file" or file.read_bytes() == b"theirs"

    @pytest.mark.parametrize("call", ["fsync", "replace", "ready"])
    def test_a_failure_leaves_the_old_content_and_nothing_beside_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        file = tmp_path / "a"
        file.write_bytes(b"old")

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        if call != "ready":
            monkeypatch.setattr(os, call, full)
        with pytest.raises(OSError, match="No space left"):
            write_file(str(file), b"new", ready=full if call == "ready" else None)
        monkeypatch.undo()
        assert file.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [file]

    def test_without_hard_links_a_new_file_is_still_made(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(*_: object) -> None:
            raise OSError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", refused)
        write_file(str(tmp_path / "a"), b"one", new=True)
        with pytest.raises(FileExistsError):
            write_file(str(tmp_path / "a"), b"two", new=True)
        monkeypatch.undo()
        assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"one"]
