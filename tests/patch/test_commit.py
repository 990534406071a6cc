"""All files or none: every call of the system fails once, or is interrupted once."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_exec.logs import folders
from agent_exec.patch.apply import apply_patch, verify
from agent_exec.patch.errors import PatchNotUndone, PatchNotWritten, UnfitPatch
from patch.trees import PATCH, Tree, filled, tree, wrapped

CALLS = "open write fsync fchmod fchown mkdir rmdir link replace unlink stat fstat".split()

Fault = Callable[[], BaseException]


def error(number: int) -> Fault:
    return lambda: OSError(number, os.strerror(number))


def once(wanted: int, fault: Fault) -> "Callable[[int, str], Fault | None]":
    return lambda number, _: fault if number == wanted else None


KINDS: dict[str, Fault] = {
    "EIO": error(errno.EIO),
    "ENOSPC": error(errno.ENOSPC),
    "EACCES": error(errno.EACCES),
    "EPERM": error(errno.EPERM),
    "interrupt": KeyboardInterrupt,
}


class Faults:
    """Stands between us and the system: names every call in turn, and spoils those that are chosen."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.after = False  # whether a call is made before it is spoilt
        self._choose: Callable[[int, str], Fault | None] | None = None
        for name in CALLS:
            monkeypatch.setattr(os, name, self._between(name, getattr(os, name)))

    def start(self, choose: Callable[[int, str], Fault | None]) -> None:
        """Count from one again; `choose` is told the number and the name of each call."""
        self.names = []
        self._choose = choose

    def stop(self) -> None:
        self._choose = None

    def _between(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def perhaps(*args: Any, **kwargs: Any) -> Any:
            if self._choose is None:
                return call(*args, **kwargs)
            self.names.append(name)
            fault = self._choose(len(self.names), name)
            if fault is None:
                return call(*args, **kwargs)
            if self.after and name != "open":  # a descriptor that nobody is told of would be lost
                call(*args, **kwargs)
            raise fault()

        return perhaps


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    yield Faults(monkeypatch)
    monkeypatch.undo()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return filled(tmp_path / "root")


@pytest.fixture
def wanted(tmp_path: Path) -> Tree:
    other = filled(tmp_path / "wanted")
    apply_patch(PATCH, cwd=str(other))
    return tree(other)


def test_what_is_wanted(wanted: Tree) -> None:
    mask = os.umask(0)
    os.umask(mask)
    assert wanted == {
        "a.txt": ("file", 0o640, b"A\n"),
        "d.txt": ("file", 0o666 & ~mask, b"d\n"),
        "e.txt": ("file", 0o755, b"X\n"),
        "moved": ("folder", 0o777 & ~mask, b""),
        "moved/b.txt": ("file", 0o666 & ~mask, b"A\r\nb\r\n"),
        "new": ("folder", 0o777 & ~mask, b""),
        "new/deep": ("folder", 0o777 & ~mask, b""),
        "new/deep/n.txt": ("file", 0o666 & ~mask, b"n\n"),
        "new/m.txt": ("file", 0o666 & ~mask, b""),
        "sub": ("folder", 0o777 & ~mask, b""),
    }


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_call_spoilt_once(root: Path, faults: Faults, wanted: Tree, kind: str, after: bool) -> None:
    """Whatever fails, all is as it was; or it did not matter and all is done. Nothing is left over.

    An interrupt that comes when the last file has changed finds all done.
    """
    before = tree(root)
    faults.after = after
    ends = set()
    number = 0
    while number <= len(faults.names):
        number += 1
        changes = verify(PATCH, cwd=str(root))
        faults.start(once(number, KINDS[kind]))
        try:
            changes.commit()
            end = "applied"
        except KeyboardInterrupt:
            end = "interrupted"
        except Exception as failure:
            end = "failed" if not isinstance(failure, PatchNotUndone) else "not undone"
        faults.stop()
        now = tree(root)
        ends.add((end, "old" if now == before else "new" if now == wanted else f"neither, {number}"))
        if now != before:
            shutil.rmtree(root)
            filled(root)
    assert number > 60
    if kind == "interrupt":
        assert ends == {("interrupted", "old"), ("interrupted", "new"), ("applied", "new")}
    else:
        assert ends == {("failed", "old"), ("applied", "new")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("later", range(1, 40, 3))
def test_undoing_is_spoilt_too(root: Path, faults: Faults, kind: str, later: int) -> None:
    """A failure while files are put back is tried again."""
    before = tree(root)
    changes = verify(PATCH, cwd=str(root))
    renames: list[int] = []

    def fourth_rename_and_another(number: int, name: str) -> Fault | None:
        if name == "replace":
            renames.append(number)
            if len(renames) == 4:
                return error(errno.EIO)
        return KINDS[kind] if len(renames) >= 4 and number == renames[3] + later else None

    faults.start(fourth_rename_and_another)
    with pytest.raises((PatchNotWritten, KeyboardInterrupt)) as caught:
        changes.commit()
    faults.stop()
    assert not isinstance(caught.value, PatchNotUndone)
    assert tree(root) == before


def elsewhere(found: Tree) -> Tree:
    return {name: state for name, state in found.items() if name.split("/")[0] != "sub"}


@pytest.mark.parametrize("number", range(1, 120, 4))
def test_a_folder_vanishes(root: Path, faults: Faults, wanted: Tree, number: int) -> None:
    """Somebody removes a folder meanwhile: then that is all that is changed."""
    before = tree(root)
    changes = verify(PATCH, cwd=str(root))

    def vanish(at: int, name: str) -> Fault | None:
        if at != number:
            return None
        faults.stop()
        shutil.rmtree(root / "sub", ignore_errors=True)
        return error(errno.EIO)

    faults.start(vanish)
    end = wanted
    try:
        changes.commit()
    except (PatchNotWritten, UnfitPatch):
        end = before
    faults.stop()
    assert elsewhere(tree(root)) == elsewhere(end)


def test_what_cannot_be_put_back_is_kept_and_reported(root: Path, faults: Faults) -> None:
    """When the disk refuses for good, the error says where the old files are."""
    changes = verify(PATCH, cwd=str(root))
    faults.start(
        lambda _, name: error(errno.EIO) if faults.names.count("replace") > 2 and name == "replace" else None
    )
    with pytest.raises(PatchNotUndone) as caught:
        changes.commit()
    faults.stop()
    kept = caught.value.details["kept"]
    assert isinstance(kept, dict)
    hidden = kept[str(root / "a.txt")]
    assert Path(hidden).read_bytes() == b"a\n"
    assert hidden in caught.value.message
    assert sorted(root.rglob(".patch-*.new")) == []


def test_what_cannot_be_taken_away_is_reported(root: Path, faults: Faults) -> None:
    faults.start(lambda _, name: error(errno.EIO) if name == "unlink" else None)
    text = apply_patch(wrapped("*** Update File: a.txt", "-a", "+A"), cwd=str(root)).text
    faults.stop()
    (left,) = root.rglob(".patch-*")
    assert f"M a.txt\nCould not remove {left}, an old file" in text
    assert left.read_bytes() == b"a\n"


@pytest.mark.parametrize("spoilt", [*range(1, 10), None])
def test_where_files_have_but_one_name(root: Path, faults: Faults, wanted: Tree, spoilt: int | None) -> None:
    """On a file system without hard links the old files are renamed instead."""
    before = tree(root)

    def choose(_: int, name: str) -> Fault | None:
        if name == "link":
            return error(errno.EPERM)
        return error(errno.EIO) if name == "replace" and faults.names.count("replace") == spoilt else None

    faults.start(choose)
    if spoilt is None:
        apply_patch(PATCH, cwd=str(root))
    else:
        with pytest.raises(PatchNotWritten):
            apply_patch(PATCH, cwd=str(root))
    faults.stop()
    assert tree(root) == (wanted if spoilt is None else before)


@pytest.mark.parametrize("spoilt", [*range(1, 7), None])
def test_where_folders_cannot_be_held(
    root: Path, faults: Faults, wanted: Tree, spoilt: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows paths are plain; the promise is the same."""
    monkeypatch.setattr(folders, "_HELD", False)
    monkeypatch.setattr(folders, "_NO_FOLLOW", False)
    before = tree(root)
    faults.start(
        lambda _, name: (
            error(errno.EIO) if name == "replace" and faults.names.count("replace") == spoilt else None
        )
    )
    if spoilt is None:
        apply_patch(PATCH, cwd=str(root))
    else:
        with pytest.raises(PatchNotWritten):
            apply_patch(PATCH, cwd=str(root))
    faults.stop()
    assert tree(root) == (wanted if spoilt is None else before)
