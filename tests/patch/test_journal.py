"""A process that is killed while it applies a patch leaves nothing that the next one does not undo."""

import os
import random
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from agent_exec import open_tools
from agent_exec.patch.apply import apply_patch
from agent_exec.patch.errors import PatchNotWritten, PatchRejected
from agent_exec.patch.journal import journals, recover
from agent_exec.sandbox.plan.ours import own_folders
from patch.trees import contents, left_journals, make, tree, wrapped
from support import python, wait_until

COUNT = 200
OLD = {f"d{number % 7}/{number}.txt": f"{number}\n" for number in range(COUNT)}
NEW = {name: f"new {text}" for name, text in OLD.items()} | {"made/one": "1\n"}
LARGE = wrapped(
    *(
        line
        for name, text in OLD.items()
        for line in (f"*** Update File: {name}", f"-{text[:-1]}", f"+new {text[:-1]}")
    ),
    "*** Add File: made/one",
    "+1",
)
NOTHING = wrapped("*** Add File: other", "+o")
SMALL = {"a": "a\n", "b": "b\n", "c": "c\n"}
CHANGE = wrapped(
    "*** Update File: a",
    "-a",
    "+A",
    "*** Add File: n/new",
    "+n",
    "*** Delete File: c",
    "*** Update File: b",
    "-b",
    "+B",
)

APPLY = """
import os, sys
sys.path[:0] = sys.argv[3:]
os.fsync = lambda fd: None  # see conftest.py
from pathlib import Path
from agent_exec.patch.apply import apply_patch
apply_patch(Path(sys.argv[2]).read_text(), cwd=sys.argv[1])
"""
STOP = """
import os, sys
sys.path[:0] = sys.argv[4:]
from agent_exec.patch.apply import apply_patch
replace, count = os.replace, 0
def stopping(*args, **kwargs):
    global count
    count += 1
    replace(*args, **kwargs)
    if count == 2:
        if sys.argv[3] == "kill":
            os.kill(os.getpid(), 9)
        print(flush=True)
        sys.stdin.readline()
os.replace = stopping
apply_patch(sys.argv[2], cwd=sys.argv[1])
"""


def killed_half_way(root: Path) -> None:
    """Have two of the four files of a patch changed, a and n/new."""
    make(root, dict(SMALL))
    out = subprocess.run(python(STOP, root, CHANGE, "kill", *sys.path), check=False)
    assert out.returncode == -signal.SIGKILL
    assert contents(root)["a"] == "A\n"
    assert contents(root)["b"] == "b\n"
    assert len(left_journals()) == 1


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """All files are old or all are new, and nothing else is there, after the next patch."""
    (tmp_path / "patch").write_text(LARGE)
    names = list(OLD)
    ends = set()
    for number in range(20):
        root = make(tmp_path / f"root{number}", dict(OLD))
        chosen = root / names[random.Random(number).randrange(COUNT)]
        before = chosen.stat().st_ino
        child = subprocess.Popen(python(APPLY, root, tmp_path / "patch", *sys.path))
        if number % 4 == 0:
            wait_until(partial(staged, child, chosen.parent))
        else:
            wait_until(partial(staged, child, root / "made"))
            while child.poll() is None and chosen.stat().st_ino == before:
                pass  # all that is left to be done takes less time than a pause
        child.kill()
        child.wait()
        apply_patch(NOTHING, cwd=str(root))
        assert left_journals() == []
        now = contents(root)
        assert now.pop("other") == "o\n"
        assert now in (OLD, NEW), number
        assert (root / "made").exists() == (now == NEW)
        ends.add(now == NEW)
    assert False in ends


def staged(child: "subprocess.Popen[bytes]", folder: Path) -> bool:
    """True if a new content is being written in a folder, or the patch has come to its end."""
    return child.poll() is not None or any(folder.glob(".patch-*"))


def test_a_start_of_the_tools_undoes_it(tmp_path: Path) -> None:
    killed_half_way(tmp_path / "root")
    open_tools(workspace=str(tmp_path)).close()
    assert contents(tmp_path / "root") == SMALL
    assert left_journals() == []


def test_later_changes_by_others_stay(tmp_path: Path) -> None:
    root = tmp_path / "root"
    killed_half_way(root)
    (root / "a").write_text("mine\n")
    (root / "n" / "mine").write_text("too\n")
    recover()
    assert contents(root) == {**SMALL, "a": "mine\n", "n/mine": "too\n"}


def test_a_patch_that_is_being_applied_is_left_alone(tmp_path: Path) -> None:
    root = make(tmp_path / "root", dict(SMALL))
    argv = python(STOP, root, CHANGE, "wait", *sys.path)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        before = tree(root)
        recover()
        assert tree(root) == before
        assert len(left_journals()) == 1
        child.communicate(b"\n")
    assert contents(root) == {"a": "A\n", "b": "B\n", "n/new": "n\n"}
    assert left_journals() == []


@pytest.mark.parametrize("what", ["folder", "old", "gone"])
def test_links_are_not_followed(tmp_path: Path, what: str) -> None:
    """Commands can write where the files are: what they put there leads nowhere."""
    root = tmp_path / "root"
    killed_half_way(root)
    aside = tmp_path / "aside"
    if what == "old":
        for old in root.glob(".patch-*.old"):
            old.unlink()
            old.symlink_to(tmp_path / "secret")
    else:
        root.rename(aside)
    if what == "folder":
        root.symlink_to(aside)
    before = tree(aside)
    recover()
    assert tree(aside) == before
    assert left_journals() == []
    if what == "old":
        assert not (root / "a").is_symlink()
        assert not any(root.glob(".patch-*"))


@pytest.mark.parametrize("which", [0, 1])
def test_no_patch_writes_a_journal(tmp_path: Path, which: int) -> None:
    folder = journals()[which]
    assert any(folder.startswith(f"{own}{os.sep}") for own in own_folders())  # which boxes hide
    with pytest.raises(PatchRejected):
        apply_patch(wrapped(f"*** Add File: {folder}/abc", "+{}"), cwd=str(tmp_path))
    assert left_journals() == []


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]\n", b"\xff\n", b'{"changes": 7}\n', b'{"changes": [["/x"]]}\n']
)
def test_what_is_no_journal(tmp_path: Path, data: bytes) -> None:
    folder = Path(journals()[0])
    folder.mkdir(parents=True)
    (folder / "abc").write_bytes(data)
    assert apply_patch(NOTHING, cwd=str(tmp_path)).added == ("other",)


def test_another_place_for_the_journal(
    own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_state / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(own_state / "file"))
    killed_half_way(tmp_path / "root")
    assert os.path.dirname(left_journals()[0]) == journals()[1]
    recover()
    assert contents(tmp_path / "root") == SMALL


def test_no_place_for_the_journal(own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_state / "agent-exec").touch()
    (own_state / os.path.basename(os.path.dirname(journals()[1]))).touch()
    root = make(tmp_path / "root", dict(SMALL))
    with pytest.raises(PatchNotWritten, match="no file was changed"):
        apply_patch(CHANGE, cwd=str(root))
    assert contents(root) == SMALL
