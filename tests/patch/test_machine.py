"""All files or none where the machine says no: permissions, full and read-only disks, signals, sudden death."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agent_exec.patch.apply import apply_patch
from agent_exec.patch.journal import recover
from patch.trees import PATCH, Tree, filled, left_journals, tree, wrapped
from support import python


@pytest.fixture
def wanted(tmp_path: Path) -> Tree:
    other = filled(tmp_path / "wanted")
    apply_patch(PATCH, cwd=str(other))
    return tree(other)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return filled(tmp_path / "root")


def as_somebody(root: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Apply a patch in a process that is not root."""
    code = """
import os, sys
sys.path[:0] = sys.argv[3:]
from agent_exec.patch.apply import apply_patch  # while we may read it
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    print(apply_patch(sys.argv[2], cwd=sys.argv[1]).text)
except Exception as error:
    print(type(error).__name__, error)
"""
    return subprocess.run(
        python(code, root, text, *sys.path), capture_output=True, text=True, check=True, cwd="/"
    )


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("what", ["file", "folder", "both"])
def test_what_may_not_be_written(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read-only file is not replaced, though its folder would allow it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        root = filled(Path(made) / "root")
        Path(made).chmod(0o777)  # for the journal too
        monkeypatch.setenv("XDG_STATE_HOME", f"{made}/state")
        for path in (root, *root.rglob("*")):
            os.lchown(path, 65534, 65534)
        if what != "file":
            (root / "sub").chmod(0o555)
        if what != "folder":
            (root / "x.sh").chmod(0o444)
        (root / "e.txt").chmod(0o444)
        before = tree(root)
        out = as_somebody(root, PATCH).stdout
        assert out.startswith("PatchNotWritten Failed to write file "), out
        assert "Permission denied; no file was changed" in out
        assert tree(root) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_the_owner_stays(root: Path) -> None:
    os.chown(root / "a.txt", 12345, 23456)
    (root / "a.txt").chmod(0o4755)
    apply_patch(wrapped("*** Update File: a.txt", "-a", "+A"), cwd=str(root))
    state = (root / "a.txt").stat()
    assert (state.st_uid, state.st_gid, state.st_mode & 0o7777) == (12345, 23456, 0o4755)


def unshare() -> bool:
    tried = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"]
    return (
        bool(shutil.which("unshare"))
        and subprocess.run(tried, capture_output=True, check=False).returncode == 0
    )


FULL = """
import sys
sys.path[:0] = sys.argv[1:]
from pathlib import Path
from agent_exec.patch.apply import apply_patch
from patch.trees import make, tree, wrapped
root = make(Path("/mnt"), {"a": "a\\n" * 20000, "b": "b\\n"})
before = tree(root)
big = [f"+{number} {'x' * 60}" for number in range(20000)]
patch = wrapped("*** Update File: b", "-b", "+B", "*** Add File: n/new", *big, "*** Add File: a", *big)
try:
    apply_patch(patch, cwd="/mnt")
except Exception as error:
    print(type(error).__name__, error)
assert tree(root) == before, tree(root).keys()
print(apply_patch(wrapped("*** Update File: b", "-b", "+B"), cwd="/mnt").text)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount")
@pytest.mark.parametrize("limit", ["size=1m", "size=2m", "nr_inodes=5", "nr_inodes=6", "nr_inodes=7"])
def test_a_full_disk(limit: str) -> None:
    if not unshare():
        pytest.skip("no mount namespaces here")
    inner = f'mount -t tmpfs -o {limit} none /mnt && exec "$0" "$@"'
    argv = ["unshare", "-m", "sh", "-c", inner, *python(FULL, *sys.path)]
    out = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert out.stdout.startswith("PatchNotWritten Failed to write file "), out.stdout
    assert "No space left on device" in out.stdout
    assert "M b" in out.stdout


READ_ONLY = """
import subprocess, sys
sys.path[:0] = sys.argv[1:]
from pathlib import Path
from agent_exec.patch.apply import apply_patch
from patch.trees import make, tree, wrapped
root = make(Path("/mnt"), {"a": "a\\n", "ro/b": "b\\n"})
subprocess.run("mount --bind /mnt/ro /mnt/ro && mount -o remount,ro,bind /mnt/ro", shell=True, check=True)
before = tree(root)
for patch in (["*** Update File: ro/b", "-b", "+B"], ["*** Delete File: ro/b"], ["*** Add File: ro/x/y"]):
    try:
        apply_patch(wrapped("*** Update File: a", "-a", "+A", *patch), cwd="/mnt")
    except Exception as error:
        print(error)
    assert tree(root) == before, tree(root).keys()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount")
def test_a_folder_that_is_mounted_read_only() -> None:
    if not unshare():
        pytest.skip("no mount namespaces here")
    inner = 'mount -t tmpfs none /mnt && exec "$0" "$@"'
    argv = ["unshare", "-m", "sh", "-c", inner, *python(READ_ONLY, *sys.path)]
    out = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert out.stdout.count("Read-only file system; no file was changed\n") == 3, out.stdout


KILLED = """
import os, sys
sys.path[:0] = sys.argv[4:]
from agent_exec.patch.apply import verify
changes = verify(sys.argv[2], cwd=sys.argv[1])
count = 0
def between(call):
    def counted(*args, **kwargs):
        global count
        count += 1
        if count == int(sys.argv[3]):
            os.kill(os.getpid(), 9)
        return call(*args, **kwargs)
    return counted
os.fsync = lambda fd: None  # see conftest.py
for name in "write fsync mkdir link replace unlink".split():
    setattr(os, name, between(getattr(os, name)))
changes.commit()
"""


def test_killed_in_the_middle(tmp_path: Path, wanted: Tree) -> None:
    """No file is ever half written or gone without its new self: each is old or new, whole.

    Between two renames nothing can make several files change as one; but then
    the next patch makes all of them old, or leaves all of them new.
    """
    ends = set()
    for number in range(1, 100):
        root = filled(tmp_path / f"r{number}")
        before = tree(root)
        code = subprocess.run(python(KILLED, root, PATCH, number, *sys.path), check=False).returncode
        now = tree(root)
        for name, state in now.items():
            if not Path(name).name.startswith(".patch-"):
                assert state in (before.get(name), wanted.get(name)), (number, name)
        for name in before.keys() & wanted.keys():
            assert name in now, (number, name)
        recover()
        end = tree(root)
        assert end in (before, wanted), (number, end.keys())
        assert left_journals() == []
        ends.add(end == wanted)
        shutil.rmtree(root)
        if code == 0:
            assert number > 25
            assert ends == {False, True}
            break
        assert code == -signal.SIGKILL
    else:
        pytest.fail("it never came to its end")


INTERRUPTED = """
import os, random, shutil, signal, sys
sys.path[:0] = sys.argv[3:]
os.fsync = lambda fd: None  # see conftest.py
from pathlib import Path
from agent_exec.patch.apply import verify
from patch.trees import filled, tree
dice = random.Random(int(sys.argv[1]))
root = Path(sys.argv[2])
signal.signal(signal.SIGALRM, signal.default_int_handler)
kept = undone = 0
shutil.copytree(filled(root), root.parent / "copy", symlinks=True)
before = tree(root)
verify(PATCH := Path(root.parent / "patch").read_text(), cwd=str(root)).commit()
after = tree(root)
for number in range(150):
    shutil.rmtree(root)
    shutil.copytree(root.parent / "copy", root, symlinks=True)
    changes = verify(PATCH, cwd=str(root))
    try:
        signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.00005, 0.004))
        changes.commit()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        undone += 1
    assert tree(root) in (before, after), (number, tree(root).keys())
print(undone)
"""


@pytest.mark.parametrize("seed", range(2))
def test_interrupted_at_any_moment(tmp_path: Path, seed: int) -> None:
    """A real signal, not only where the system is called."""
    (tmp_path / "patch").write_text(PATCH)
    argv = python(INTERRUPTED, seed, tmp_path / "root", *sys.path)
    out = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert int(out.stdout) > 0
