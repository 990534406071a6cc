"""What may leave the sandbox again without being asked for: only what nothing inside can change."""

import os
from pathlib import Path

import pytest

from agent_exec.requests.leaving import standing, within, writable
from agent_exec.sandbox.profile import Profile

PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder that confined commands may write to."""
    found = (tmp_path / "root").resolve()
    found.mkdir()
    (found / "data").write_text("")
    return found


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    found = (tmp_path / "outside").resolve()
    found.mkdir()
    (found / "file").write_text("")
    return found


def test_a_plain_command_about_files_elsewhere(root: Path, outside: Path) -> None:
    for line in (
        f"cat {outside}/file",
        f"ls -la {outside}",
        f"mkdir -p {outside}/a/b",
        "id root",
        "uname -a",
        "ls",
        "ls -lrt --all /etc",
        "df --portability -k",
    ):
        assert standing(line, str(root), [str(root)], PATH) == tuple(line.split()), line
    assert standing("cat file", str(outside), [str(root)], PATH) == ("cat", "file")


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ls",
        "ls ",
        "ls  -l",
        "x=()#a touch /etc/x",
        "ls; touch /etc/x",
        "ls\ntouch /etc/x",
        "ls | sh",
        "ls > /etc/x",
        "ls $HOME",
        "ls `id`",
        "ls ~",
        "ls *",
        "ls {a,b}",
        "ls 'a b'",
        "ls \\a",
        "ls #a",
        "ls !a",
        "A=b ls",
        "=ls",
        "ls =ls",
        "%1",
        "ls é",
        "ls\t-l",
    ],
)
def test_what_a_shell_might_read_in_another_way(root: Path, line: str) -> None:
    assert standing(line, str(root), [str(root)], PATH) is None


@pytest.mark.parametrize(
    "line",
    [
        *("sh x.sh", "./x.sh", "bash", "python3 /usr/lib/x.py", "pytest", "make", "cp /etc/hosts /etc/x"),
        *("tee /etc/x", "mv /etc/a /etc/b", "dd of=/etc/x", "git status", "npm test", "env ls", "sudo ls"),
        *(
            "find /etc",
            "xargs ls",
            "curl http://example.org",
            "rm /etc/x",
            "ln /a /b",
            "install a b",
            "eval ls",
        ),
        *("time ls", "command ls", "exec ls", "no-such-program", "bin/ls", "ls/"),
    ],
)
def test_programs_that_do_more_than_their_words_say(root: Path, line: str) -> None:
    assert standing(line, "/", [str(root)], PATH) is None


@pytest.mark.parametrize(
    "line",
    [
        *("cat data", "cat ./data", "cat {root}/data", "cat {outside}/../root/data", "cat new", "touch new"),
        *("cat {root}/link", "cat {root}/../outside/file", "cat {outside}/in/data", "cat {outside}/via"),
        *("date -f data", "date -fdata", "date --file=data", "date --file={root}/data", "dig @data"),
        *(
            "date -f new",
            "date -uf new",
            "date -fnew",
            "date --file new",
            "date --fil=new",
            "hostname -F new",
        ),
        *("wc --files0-from=new", "du --files0-f=new", "du --exclude-from=new", "who new"),
        *("diff --to-file=new /etc/hosts", "diff --to-f=new /etc/hosts", "diff -uXnew /etc /usr"),
        *("date -ufnew", "hostname -bFnew", "touch -crnew /etc/hosts", "du -hXnew /etc"),
    ],
)
def test_files_that_a_confined_command_can_change(root: Path, outside: Path, line: str) -> None:
    (root / "link").symlink_to(outside / "file")
    (outside / "in").symlink_to(root)
    (outside / "via").symlink_to(root / "link")
    (root / "@data").write_text("")
    given = line.format(root=root, outside=outside)
    assert standing(given, str(root), [str(root)], PATH) is None


@pytest.mark.skipif(not os.path.exists("/proc/self/cwd"), reason="needs /proc")
def test_a_path_that_leads_elsewhere_for_another_process(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(outside)
    (outside / "here").symlink_to("/proc/self/cwd")
    for path in ("/proc/self/cwd/file", "/proc/thread-self/cwd/file", "/dev/fd/3", f"{outside}/here/file"):
        assert standing(f"cat {path}", str(root), [str(root)], PATH) is None, path
    assert standing("cat /proc/version", str(root), [str(root)], PATH) == ("cat", "/proc/version")
    assert standing("date -u", str(root), [str(root)], PATH) == ("date", "-u")


def test_a_program_that_a_confined_command_can_put_before_it(root: Path, outside: Path) -> None:
    (outside / "link").symlink_to(root)
    for path in (f"{root}:{PATH}", f".:{PATH}", f":{PATH}", f"{outside}/link:{PATH}", "", None):
        assert standing("ls", "/", [str(root)], path) is None, path
    assert standing("ls", "/", [str(root)], f"{PATH}:{root}") == ("ls",)
    assert standing("/bin/ls", "/", [str(root)], None) == ("/bin/ls",)
    ours = root / "ls"
    ours.write_text("#!/bin/sh\n")
    ours.chmod(0o755)
    (outside / "ls").symlink_to(ours)
    assert standing(str(ours), "/", [str(root)], PATH) is None
    assert standing("ls", "/", [str(root)], f"{outside}:{PATH}") is None


def test_where_confined_commands_may_write(root: Path) -> None:
    assert writable(None) == writable(Profile("full-access")) == ("/",)
    assert writable(Profile("read-only", [str(root)])) == ()
    assert writable(Profile("workspace-write", [str(root)])) == (str(root),)
    shared = Profile("workspace-write", [str(root)], tmp="shared")
    assert writable(shared) == (str(root), os.path.realpath("/tmp"), os.path.realpath("/var/tmp"))
    assert standing("ls", "/", writable(None), PATH) is None
    assert within(str(root / "data"), [str(root)])
    assert not within("/bin/sh", [str(root)])
