"""Landlock lets be written to what it is told, and nothing else, whoever asks."""

import os
import signal
import socket
from collections.abc import Iterator
from errno import EACCES, EPERM, EXDEV
from pathlib import Path

import pytest

from agent_exec.sandbox.linux import landlock, privileges
from sandbox.linux.children import errno_of, errno_of_writing, ground, needs_landlock, run

pytestmark = needs_landlock
WHO = pytest.mark.parametrize("user", [False, True], ids=["root", "nobody"])


@pytest.fixture
def folders() -> Iterator[tuple[Path, Path]]:
    """Two folders with the same things in them; only the first will be allowed."""
    with ground(user=True) as inside, ground(user=True) as outside:
        for folder in (inside, outside):
            (folder / "sub").mkdir()
            (folder / "file").write_text("kept")
            os.mkfifo(folder / "fifo")
            for path in (folder / "sub", folder / "file", folder / "fifo"):
                path.chmod(0o777)
        yield inside, outside


def restricted(*roots: Path) -> None:
    rules = landlock.Ruleset()
    for root in roots:
        rules.allow_write(str(root))
    privileges.forbid_new_privileges()
    rules.restrict_self()
    rules.close()


@WHO
def test_writing(folders: tuple[Path, Path], user: bool) -> None:
    inside, outside = folders

    def attempts(folder: Path) -> dict[str, int]:
        fifo = os.open(folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        given = {
            "write": errno_of(lambda: os.close(os.open(folder / "file", os.O_WRONLY))),
            "truncate": errno_of(os.truncate, folder / "file", 0),
            "fifo": errno_of(lambda: os.close(os.open(folder / "fifo", os.O_WRONLY | os.O_NONBLOCK))),
            "make": errno_of_writing(folder / "new"),
            "folder": errno_of(os.mkdir, folder / "made"),
            "link": errno_of(os.symlink, "file", folder / "link"),
            "make fifo": errno_of(os.mkfifo, folder / "fifo2"),
            "rename": errno_of(os.rename, folder / "sub", folder / "bus"),
            "remove": errno_of(os.unlink, folder / "file"),
            "rmdir": errno_of(os.rmdir, folder / "bus"),
            "read": errno_of(os.listdir, folder),
        }
        os.close(fifo)
        return given

    def body() -> list[dict[str, int]]:
        restricted(inside)
        return [attempts(inside), attempts(outside)]

    allowed, denied = run(body, user=user)
    assert set(allowed.values()) == {0}, allowed
    assert denied.pop("read") == 0
    if landlock.abi() < 3:
        assert denied.pop("truncate") == 0
    denied.pop("rmdir")  # what was not renamed is not there
    assert set(denied.values()) == {EACCES}, denied
    assert (outside / "file").read_text() == "kept"
    assert sorted(path.name for path in outside.iterdir()) == ["fifo", "file", "sub"]


@WHO
def test_links_and_renames_out_and_in(folders: tuple[Path, Path], user: bool) -> None:
    inside, outside = folders

    def body() -> list[int]:
        restricted(inside)
        return [
            errno_of(os.link, outside / "file", inside / "alias"),
            errno_of(os.rename, inside / "file", outside / "moved"),
            errno_of(os.rename, outside / "file", inside / "moved"),
            errno_of(os.rename, inside / "file", inside / "sub" / "file"),
        ]

    alias, out, into, within = run(body, user=user)
    assert {alias, out, into} <= {EACCES, EXDEV, EPERM}
    assert within == 0 or landlock.abi() == 1


def test_devices_are_never_made(folders: tuple[Path, Path]) -> None:
    inside, _ = folders

    def body() -> int:
        restricted(inside)
        return errno_of(os.mknod, inside / "device", 0o020666, os.makedev(1, 3))

    assert run(body) in (EACCES, EPERM)


def test_devices_are_used_where_they_are_allowed() -> None:
    def body() -> list[int]:
        rules = landlock.Ruleset()
        rules.allow_devices("/dev/null")
        privileges.forbid_new_privileges()
        rules.restrict_self()
        opened = [
            errno_of(lambda p=path: os.close(os.open(p, os.O_WRONLY))) for path in ("/dev/null", "/dev/zero")
        ]
        return [*opened, errno_of(os.mknod, "/dev/agent-exec-test")]

    assert run(body) == [0, EACCES, EACCES]


def test_rules_are_made_once_and_used_often(folders: tuple[Path, Path]) -> None:
    inside, outside = folders

    def body() -> list[tuple[int, int]]:
        rules = landlock.Ruleset()
        rules.allow_write(str(inside))

        def child() -> tuple[int, int]:
            privileges.forbid_new_privileges()
            rules.restrict_self()
            return errno_of_writing(inside / "a"), errno_of_writing(outside / "a")

        given = [run(child) for _ in range(3)]
        rules.close()
        rules.close()
        return [*given, (errno_of_writing(inside / "b"), errno_of_writing(outside / "b"))]

    assert run(body) == [(0, EACCES)] * 3 + [(0, 0)]


def test_a_root_may_be_a_file_or_a_descriptor(folders: tuple[Path, Path]) -> None:
    inside, outside = folders

    def body() -> list[int]:
        rules = landlock.Ruleset()
        rules.allow_write(str(inside / "file"))
        fd = os.open(outside / "sub", os.O_PATH)
        rules.allow_write(fd)
        privileges.forbid_new_privileges()
        rules.restrict_self()
        files = (inside / "file", inside / "a", outside / "sub" / "a", outside / "a")
        return [errno_of_writing(path) for path in files]

    assert run(body) == [0, EACCES, 0, EACCES]


def test_a_link_is_no_root(folders: tuple[Path, Path]) -> None:
    inside, outside = folders
    (inside / "link").symlink_to(outside)

    def body() -> str:
        rules = landlock.Ruleset()
        try:
            rules.allow_write(str(inside / "link"))
        except OSError as problem:
            return f"{problem.strerror} {problem.filename}"
        return "allowed"

    assert str(inside / "link") in run(body)
    assert "allowed" not in run(body)


def test_a_process_that_may_not_restrict_itself_reports_it() -> None:
    def body() -> int:
        privileges.drop_capabilities()
        return errno_of(landlock.Ruleset().restrict_self)

    assert run(body) == EPERM


@pytest.mark.skipif(landlock.abi() < 6, reason="no scopes here")
@WHO
def test_signals_and_abstract_sockets_do_not_lead_out(user: bool) -> None:
    name = f"\0agent-exec-{os.getpid()}-{user}"

    def outside() -> list[int]:
        """Be the victim, of the same user as who is restricted."""
        server = socket.socket(socket.AF_UNIX)
        server.bind(name)
        server.listen()
        return run(lambda: restricted_attempts(os.getppid()))

    def restricted_attempts(victim: int) -> list[int]:
        client = socket.socket(socket.AF_UNIX)
        before = errno_of(os.kill, victim, 0)
        restricted()
        given = [before, errno_of(os.kill, victim, 0), errno_of(client.connect, name)]
        inner = os.fork()
        if inner == 0:
            while True:
                signal.pause()
        given.append(errno_of(os.kill, inner, signal.SIGKILL))
        os.waitpid(inner, 0)
        return given

    assert run(outside, user=user) == [0, EPERM, EPERM, 0]


def test_rights_by_version() -> None:
    assert [landlock.handled(version).bit_count() for version in range(1, 9)] == [
        10,
        11,
        12,
        12,
        13,
        13,
        13,
        13,
    ]
    assert not landlock.handled(7) & 0b1101  # running and reading are not its business


def test_what_the_kernel_says_of_itself() -> None:
    assert landlock.abi() >= 1
