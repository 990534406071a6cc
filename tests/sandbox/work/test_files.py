"""Files in a root behave as files do: links, renames, copies, many, large; elsewhere they are read only."""

import errno
import os
from pathlib import Path

import pytest

from sandbox.work.boxes import Space, each_user, need


def test_what_a_command_wrote_is_there_for_the_next_and_for_the_host(space: Space) -> None:
    """Also where the root lies in a private folder that is emptied after each command."""
    (space.root / "before").write_text("kept")
    (space.root / "sub").mkdir(mode=0o750)
    (space.root / "sub" / "deep").write_text("kept")
    space.sh("echo one > first; mkdir -p a/b; echo two > a/b/second")
    space.sh("cat first a/b/second before sub/deep >/dev/null")
    space.sh("true")
    found = {str(path.relative_to(space.root)) for path in space.root.rglob("*") if path.is_file()}
    assert found == {"before", "sub/deep", "first", "a/b/second"}
    assert (space.root / "sub").stat().st_mode & 0o777 == 0o750


def test_a_root_deep_below_tmp_keeps_its_files_and_its_mode(boxes: None, hidden: Path) -> None:
    """One whose folders above are made in the box, and beside what a command leaves there."""
    root = hidden / "a" / "b" / "root"
    root.mkdir(parents=True, mode=0o755)
    (root / "kept").write_text("x")
    space = Space(root)
    space.sh(
        "mkdir -p /tmp/mess/deep; touch /tmp/mess/deep/x ../beside; touch /var/tmp/y /dev/shm/z; ln -s $PWD /tmp/link"
    )
    assert (
        space.sh("find /tmp /var/tmp /dev/shm -name mess -o -name beside -o -name y -o -name z -o -name link")
        == ""
    )
    assert space.sh("ls") == "kept\n"
    assert root.stat().st_mode & 0o777 == 0o755
    assert not (root.parent / "beside").exists()


def test_several_roots_below_tmp_keep_their_files(boxes: None, hidden: Path) -> None:
    from agent_exec.sandbox.profile import Profile

    roots = [hidden / "one", hidden / "two"]
    for root in roots:
        root.mkdir()
        (root / "kept").write_text("x")
    space = Space(roots[0])
    space.profile = Profile("workspace-write", [str(root) for root in roots])
    space.sh("echo x > new; echo y > ../two/new")
    space.sh("true")
    assert all((root / "kept").exists() and (root / "new").exists() for root in roots)


def test_links_and_renames_within_one_root(space: Space) -> None:
    (space.root / ".git").mkdir()
    (space.root / ".vscode").mkdir()
    (space.root / "sub" / "inner" / ".git").mkdir(parents=True)
    code = """
import os
os.makedirs("a/b/c"); os.makedirs("x/y")
open("a/b/c/file", "w").write("1")
os.link("a/b/c/file", "x/y/file"); os.link("a/b/c/file", "top"); os.link("top", "sub/inner/linked")
os.rename("a/b", "x/y/b"); os.rename("x", "z"); os.rename("z/y/b/c/file", "moved"); os.rename("sub/inner/linked", "back")
os.symlink("moved", "soft"); os.replace("moved", "top")
os.rename("top", "sub/top"); os.chmod("sub/top", 0o600); os.truncate("sub/top", 0); os.utime("sub/top", (1, 1))
print(os.stat("sub/top").st_nlink, sorted(os.listdir("sub")))
"""
    assert space.py(code) == "4 ['inner', 'top']\n"
    assert (space.root / "sub" / "top").stat().st_mtime == 1


@each_user
def test_three_thousand_files(space: Space) -> None:
    code = """
import os, shutil
for n in range(3000):
    folder = f"d{n % 30}"
    os.makedirs(folder, exist_ok=True)
    open(f"{folder}/{n}", "w").write(str(n))
os.rename("d0", "renamed"); shutil.move("d1", "renamed/d1"); shutil.copytree("d2", "copy"); shutil.rmtree("d3")
print(sum(len(files) for _, _, files in os.walk(".")))
"""
    assert space.py(code) == "3000\n"
    assert sum(len(files) for _, _, files in os.walk(space.root)) == 3000


@each_user
def test_a_large_file(space: Space) -> None:
    space.sh(
        "head -c 100000000 /dev/zero > big; cp big big2; cmp big big2; truncate -s 0 big; rm big2; fallocate -l 1000000 f"
    )
    assert (space.root / "f").stat().st_size == 1_000_000


def test_archives_and_copies(space: Space) -> None:
    need("tar", "rsync")
    tree = space.root / "tree"
    tree.mkdir()
    (tree / "file").write_text("x" * 1000)
    (tree / "run").write_text("#!/bin/sh\n")
    (tree / "run").chmod(0o755)
    (tree / "soft").symlink_to("file")
    os.link(tree / "file", tree / "hard")
    os.utime(tree / "file", (1000, 1000))
    space.sh(
        "cp -a tree one; tar cf t.tar tree; mkdir two; tar xpf t.tar -C two; rsync -aH tree/ three/; rsync -a --delete tree/ three/"
    )
    space.sh("tar czf t.tgz tree; tar tzf t.tgz >/dev/null; cp -a tree /tmp/four; mv /tmp/four five")
    for copy in ("one", "two/tree", "three", "five"):
        folder = space.root / copy
        assert (folder / "file").stat().st_mtime == 1000
        assert (folder / "run").stat().st_mode & 0o777 == 0o755
        assert (folder / "soft").readlink() == Path("file")
    assert (space.root / "one" / "hard").stat().st_nlink == 2


def test_a_workspace_that_is_shared_by_a_group(space: Space) -> None:
    """Its folders pass their group on (set-group-id); the bit itself cannot be set in a box, which is told."""
    space.root.chmod(0o2775)
    (space.root / "tree").mkdir()
    space.sh("mkdir -p a/b")
    assert (space.root / "a" / "b").stat().st_mode & 0o2000, "what the folder passes on"
    assert "Operation not permitted" in space.sh("chmod g+s tree 2>&1 || true")


def test_an_archive_with_foreign_owners_unpacks(space: Space) -> None:
    """tar gives files their owners when root unpacks it; a box knows no user but the caller."""
    need("tar")
    import io
    import tarfile

    with tarfile.open(space.root / "a.tar", "w") as archive:
        facts = tarfile.TarInfo("theirs")
        facts.uid = facts.gid = 1000
        facts.size = 4
        archive.addfile(facts, io.BytesIO(b"text"))
    assert space.sh("tar xf a.tar; cat theirs") == "text"


def test_what_stays_as_it_is_outside(space: Space) -> None:
    for path in ("/etc/x", "/usr/x", "/var/x", "/root/x", "/x", "/dev/x", "/proc/x", "/sys/x"):
        out = space.run("touch", path)
        assert out.exit_code == 1, path
    out = space.run("sh", "-c", "echo x >> /etc/hosts")
    assert _refused(out.stderr)


def test_siblings_of_a_root_below_tmp_are_hidden(boxes: None, hidden: Path) -> None:
    root = hidden / "root"
    root.mkdir()
    (hidden / "secret").write_text("x")
    space = Space(root)
    assert space.sh("ls ..") == "root\n"
    assert space.sh("ls /tmp | wc -l").strip() == "1"


def test_a_read_only_profile_reads_and_has_a_tmp(space: Space) -> None:
    (space.root / "file").write_text("read me\n")
    reader = space.wearing(name="read-only")
    assert reader.sh("cat file; pwd").splitlines() == ["read me", str(space.root)]
    assert reader.sh("a=$(mktemp); echo x > $a; cat $a; cat <<E\nhere\nE") == "x\nhere\n"
    for line in ("echo x > file", "echo x > new", "rm file", "mkdir d", "chmod 600 file", "mv file g"):
        out = reader.run("sh", "-c", line)
        assert out.exit_code != 0, line
        assert os.strerror(errno.EROFS) in out.stderr_text, (line, out.stderr_text)
    assert (space.root / "file").read_text() == "read me\n"


def test_a_read_only_profile_without_roots(boxes: None) -> None:
    import agent_exec
    from agent_exec.sandbox.profile import Profile

    out = agent_exec.run(
        ["sh", "-c", "ls /etc >/dev/null && echo fine; echo x > /etc/x"],
        cwd="/usr",
        sandbox=Profile("read-only"),
    )
    assert out.stdout == b"fine\n"
    assert _refused(out.stderr)


def test_a_root_with_an_odd_name(boxes: None, hidden: Path) -> None:
    root = hidden / "ödd name \n with 'quotes' $and *"
    root.mkdir()
    space = Space(root)
    space.sh("echo x > 'a b'; pwd >/dev/null")
    assert (root / "a b").read_text() == "x\n"


def test_the_host_sees_files_at_once_and_the_other_way_round(space: Space) -> None:
    space.sh("true")
    (space.root / "from-host").write_text("1")
    assert space.sh("cat from-host; echo 2 > from-box") == "1"
    assert space.host("cat", "from-box") == "2\n"


@pytest.mark.parametrize("where", ["/usr", "/", "/etc"])
def test_a_working_directory_outside_of_the_roots(space: Space, where: str) -> None:
    out = space.run("sh", "-c", "pwd; ls >/dev/null; touch x", cwd=where)
    assert out.stdout_text == f"{where}\n"
    assert _refused(out.stderr)


def _refused(said: bytes) -> bool:
    """Whether a box refused it, or what it would have met without one: who is not root hears of that first."""
    return any(os.strerror(error).encode() in said for error in (errno.EROFS, errno.EACCES))
