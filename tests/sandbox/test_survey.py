"""Every `.git` below a root is found, whatever was known of the root before."""

import marshal
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_exec.sandbox.plan import survey as module
from agent_exec.sandbox.plan.survey import Surveyor, kind_of

_COARSE = 5
"""The kernel's clock by which it dates what changes in a file system; the standard library has no name for it."""


surveyor = Surveyor()


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    surveyor.__init__()  # type: ignore[misc]


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have a folder taken for settled as soon as the clock of the file system has moved on."""
    monkeypatch.setattr(module, "_SETTLED_NS", 0)
    monkeypatch.setattr(module, "_file_system", lambda _path: "ext4")

    def tick() -> None:
        before = time.clock_gettime_ns(_COARSE)
        while time.clock_gettime_ns(_COARSE) == before:
            time.sleep(0.001)

    return tick


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the names of the folders that are looked into."""
    found: list[str] = []
    look = module._look

    def noted(folder: str) -> object:
        found.append(os.path.basename(folder))
        return look(folder)

    monkeypatch.setattr(module, "_look", noted)
    return found


def names(root: Path, paths: tuple[str, ...]) -> set[str]:
    return {os.path.relpath(path, root) for path in paths}


def test_a_git_is_found_at_any_depth_and_links_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    deep = root.joinpath(*"abcdefghijklmnop")
    for place in (root, root / "a", deep, root / "odd [*]\n\udcff", tmp_path / "outside"):
        (place / ".git").mkdir(parents=True)
    (root / "file").mkdir()
    (root / "file" / ".git").write_text("gitdir: x")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(root)
    (root / "not.git").mkdir()
    found = surveyor.survey(str(root))
    wanted = {".git", "a/.git", "file/.git", "odd [*]\n\udcff/.git", f"{'/'.join('abcdefghijklmnop')}/.git"}
    assert names(root, found.gits) == wanted
    assert found.unscanned == ()
    assert found.unscanned_count == 0


def test_what_lies_beyond_the_bound_is_reported(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"d{number:02}" / "deeper" / ".git").mkdir(parents=True)
    found = surveyor.survey(str(tmp_path), bound=40)
    assert found.gits == ()
    assert found.unscanned_count == 20 + 10
    assert len(found.unscanned) == 5
    assert all(Path(path).is_dir() for path in found.unscanned)
    assert surveyor.survey(str(tmp_path), bound=90).unscanned_count == 0
    assert len(surveyor.survey(str(tmp_path), bound=90).gits) == 30


def test_upper_folders_come_first(tmp_path: Path) -> None:
    (tmp_path / "z" / ".git").mkdir(parents=True)
    for number in range(50):
        (tmp_path / "a" / f"b{number}" / "c").mkdir(parents=True)
    assert names(tmp_path, surveyor.survey(str(tmp_path), bound=20).gits) == {"z/.git"}


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
@pytest.mark.parametrize("mode", [0, 0o444])
def test_a_folder_that_cannot_be_read_or_entered_is_reported(tmp_path: Path, mode: int) -> None:
    shut = tmp_path / "shut"
    (shut / "inner").mkdir(parents=True)
    (shut / ".git").mkdir()
    shut.chmod(mode)
    try:
        found = surveyor.survey(str(tmp_path))
    finally:
        shut.chmod(0o700)
    assert found.shut == (str(shut),)
    assert found.gits == ()
    assert found.unscanned_count == 0


def test_a_path_too_long_for_the_system_is_reported(tmp_path: Path) -> None:
    before = os.open(".", os.O_RDONLY)
    os.chdir(tmp_path)
    try:
        for _ in range(20):
            os.mkdir("x" * 250)
            os.chdir("x" * 250)
    finally:
        os.fchdir(before)
        os.close(before)
    found = surveyor.survey(str(tmp_path))
    assert found.unscanned_count == 1
    assert "xxx" in found.unscanned[0]


def test_files_with_further_names_are_counted(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    for number in range(8):
        os.link(tmp_path / "out", root / f"in{number}")
    os.link(tmp_path / "out", root / ".git" / "object")
    assert surveyor.survey(str(root)).linked_count == 8
    assert len(surveyor.survey(str(root)).linked) == 5
    assert surveyor.survey(str(root), into_git=True).linked_count == 9


def test_what_has_not_changed_is_not_looked_into_again(
    tmp_path: Path, settled: Callable[[], None], looked: list[str]
) -> None:
    for name in ("one", "two/deep", "three"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "one" / ".git").mkdir()
    settled()
    first = surveyor.survey(str(tmp_path))
    assert sorted(looked) == sorted([tmp_path.name, "one", "two", "deep", "three"])
    looked.clear()
    assert surveyor.survey(str(tmp_path)) == first
    assert looked == []
    (tmp_path / "two" / "deep" / ".git").mkdir()
    assert names(tmp_path, surveyor.survey(str(tmp_path)).gits) == {"one/.git", "two/deep/.git"}
    assert looked == ["deep"]


def test_what_has_just_changed_is_looked_into_again(tmp_path: Path, looked: list[str]) -> None:
    (tmp_path / "one").mkdir()
    for _ in range(2):
        surveyor.survey(str(tmp_path))
    assert sorted(looked) == sorted(2 * [tmp_path.name, "one"])


def test_a_file_system_whose_times_may_be_set_is_not_trusted(
    tmp_path: Path, settled: Callable[[], None], looked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_file_system", lambda _path: "fuse.sshfs")
    settled()
    for _ in range(2):
        surveyor.survey(str(tmp_path))
    assert looked == 2 * [tmp_path.name]


def test_a_time_that_was_set_back_hides_nothing(tmp_path: Path, settled: Callable[[], None]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    settled()
    before = folder.stat()
    assert surveyor.survey(str(tmp_path)).gits == ()
    (folder / ".git").mkdir()
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert folder.stat().st_mtime_ns == before.st_mtime_ns
    assert names(tmp_path, surveyor.survey(str(tmp_path)).gits) == {"folder/.git"}


def test_a_folder_in_the_place_of_another_is_another(tmp_path: Path, settled: Callable[[], None]) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (tmp_path / "other" / "inner" / ".git").mkdir(parents=True)
    settled()
    assert surveyor.survey(str(root)).gits == ()
    (root / "folder").rename(tmp_path / "away")
    (tmp_path / "other").rename(root / "folder")
    assert names(root, surveyor.survey(str(root)).gits) == {"folder/inner/.git"}
    (root / "folder").rename(root / "moved")
    assert names(root, surveyor.survey(str(root)).gits) == {"moved/inner/.git"}
    shutil.rmtree(root / "moved")
    (root / "moved").symlink_to(tmp_path)
    assert surveyor.survey(str(root)).gits == ()


def test_a_folder_cannot_be_mistaken_for_another(
    tmp_path: Path, settled: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, decoy = tmp_path / "real", tmp_path / "decoy"
    (real / "inner" / "deep").mkdir(parents=True)
    (decoy / "inner").mkdir(parents=True)
    inner = (real / "inner").stat().st_ino
    settled()

    def swap() -> None:
        real.rename(tmp_path / "away")
        decoy.rename(real)
        (tmp_path / "away").rename(decoy)

    def swapped(where: int | str) -> Iterator["os.DirEntry[str]"]:
        """List a folder, while a command has another one in the place of the one above it."""
        now = os.stat(where).st_ino == inner
        if now:
            swap()
        try:
            return listed(where)
        finally:
            if now:
                swap()

    with monkeypatch.context() as patch:
        listed = os.scandir
        patch.setattr(os, "scandir", swapped)
        surveyor.survey(str(tmp_path))
    settled()
    (real / "inner" / "deep" / ".git").mkdir()
    assert names(tmp_path, surveyor.survey(str(tmp_path)).gits) == {"real/inner/deep/.git"}


def test_what_is_known_counts_for_the_bound(tmp_path: Path, settled: Callable[[], None]) -> None:
    for number in range(30):
        (tmp_path / f"d{number:02}" / "deeper" / ".git").mkdir(parents=True)
    settled()
    whole = surveyor.survey(str(tmp_path))
    assert len(whole.gits) == 30
    assert surveyor.survey(str(tmp_path), bound=40).unscanned_count == 20 + 10
    assert surveyor.survey(str(tmp_path)) == whole


def test_a_git_cannot_be_hidden_behind_many_entries(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
    whole = surveyor.survey(str(tmp_path), bound=20)
    for number in range(30):
        (tmp_path / f"file{number}").touch()
    for _ in range(2):
        part = surveyor.survey(str(tmp_path), bound=20)
        assert part.unscanned_count == 2
        assert part.gits == whole.gits
    (tmp_path / "one" / ".git").rmdir()
    assert names(tmp_path, surveyor.survey(str(tmp_path), bound=20).gits) == {"two/.git"}


def test_a_command_that_did_not_read_a_git_still_can(tmp_path: Path, settled: Callable[[], None]) -> None:
    (tmp_path / ".git" / "modules" / "inner" / ".git").mkdir(parents=True)
    settled()
    assert names(tmp_path, surveyor.survey(str(tmp_path)).gits) == {".git"}
    both = {".git", ".git/modules/inner/.git"}
    assert names(tmp_path, surveyor.survey(str(tmp_path), into_git=True).gits) == both
    assert names(tmp_path, surveyor.survey(str(tmp_path)).gits) == {".git"}


def test_what_is_known_can_be_sent(tmp_path: Path, settled: Callable[[], None], looked: list[str]) -> None:
    (tmp_path / "one" / "two" / ".git").mkdir(parents=True)
    settled()
    found = surveyor.survey(str(tmp_path))
    sent: Any = surveyor.known(str(tmp_path))
    sent = marshal.loads(marshal.dumps(sent))
    surveyor.__init__()  # type: ignore[misc]
    surveyor.learn(str(tmp_path), sent)
    looked.clear()
    assert surveyor.survey(str(tmp_path)) == found
    assert looked == []


def test_little_is_kept(tmp_path: Path, settled: Callable[[], None]) -> None:
    settled()
    for number in range(40):
        (tmp_path / str(number)).mkdir()
        surveyor.survey(str(tmp_path / str(number)))
    assert len(surveyor._known) <= 16
    assert len(surveyor._honest) <= 16


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_and_what_is_there_are_one(
    tmp_path: Path, settled: Callable[[], None], seed: int
) -> None:
    chance = random.Random(seed)
    folders = [tmp_path]
    for step in range(60):
        settled()
        place = chance.choice(folders)
        act = chance.choice(["folder", "git", "file", "link", "drop", "move"])
        new = place / (".git" if act == "git" else f"{act}{step}")
        if act in {"folder", "git"} and not new.exists():
            new.mkdir()
            folders.append(new)
        elif act == "file":
            new.touch()
        elif act == "link":
            new.symlink_to(tmp_path)
        elif act == "drop" and place != tmp_path:
            shutil.rmtree(place)
        elif act == "move" and place != tmp_path:
            place.rename(tmp_path / f"moved{step}")
            folders.append(tmp_path / f"moved{step}")
        folders = [folder for folder in folders if folder.is_dir()]
        kept = surveyor.survey(str(tmp_path)), surveyor.survey(str(tmp_path), into_git=True)
        fresh = Surveyor()
        assert kept == (fresh.survey(str(tmp_path)), fresh.survey(str(tmp_path), into_git=True))


def test_the_kind_of_a_file_system_is_that_of_the_nearest_mount() -> None:
    table = (
        b"1 0 8:1 / / rw - ext4 /dev/a rw\n"
        b"2 1 8:2 / /srv rw,nosuid shared:1 - xfs /dev/b rw\n"
        b"3 1 0:9 / /srv/with\\040blank rw - fuse.sshfs there: rw\n"
        b"4 1 0:8 / /srv rw - vfat /dev/c rw\n"
    )
    assert kind_of("/home", table) == "ext4"
    assert kind_of("/srv", table) == "vfat"
    assert kind_of("/srvx", table) == "ext4"
    assert kind_of("/srv/with blank/x", table) == "fuse.sshfs"
    assert kind_of("/", b"") == ""
