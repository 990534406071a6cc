"""Namespaces of one's own, and the numbers that limit them; never those of the machine."""

import os
import signal
from errno import EAGAIN, EBUSY, ENOSPC, EPERM
from pathlib import Path

import pytest

from agent_exec.sandbox.linux import calls, mounts, namespaces, privileges
from sandbox.linux.children import errno_of, inside, run

WHO = pytest.mark.parametrize("user", [False, True], ids=["root", "nobody"])
KINDS = "cgroup ipc mnt net pid user uts"


@WHO
def test_all_are_new(user: bool) -> None:
    outside = {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS.split()}

    def body() -> tuple[dict[str, str], int, int, bool, str]:
        own = {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS.split()}
        calls.invoke("sethostname", b"box", 3)
        return own, os.getuid(), os.getpid(), namespaces.in_own_users(), os.uname().nodename

    own, uid, pid, users, name = inside(body, user=user)
    assert not set(own.values()) & set(outside.values())
    assert (uid, pid, users, name) == (65534 if user and os.getuid() == 0 else os.getuid(), 1, True, "box")
    assert os.uname().nodename != "box"


def test_the_network_can_be_kept() -> None:
    outside = os.readlink("/proc/self/ns/net")
    assert inside(lambda: os.readlink("/proc/self/ns/net"), network=False) == outside


@WHO
def test_the_death_of_the_parent_is_still_noticed(user: bool) -> None:
    """A change of credentials undoes the wish to die with the parent; entering a user namespace must not."""

    def body() -> int:
        import ctypes

        privileges.die_with_parent(os.getppid())
        namespaces.unshare_all()
        wish = ctypes.c_int(0)
        calls.invoke("prctl", 2, ctypes.byref(wish), 0, 0, 0)
        return wish.value

    assert run(body, user=user) == signal.SIGKILL


@WHO
def test_as_many_processes_as_pids(user: bool) -> None:
    before = Path("/proc/sys/kernel/pid_max").read_text()

    def body() -> tuple[int, int, str] | None:
        mounts.private_proc()
        if not namespaces.limit_pids(320):
            return None
        count, stopped = 0, 0
        for _ in range(1000):
            try:  # a small program: copies of the process of the tests would cost a hundred times as much
                os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
            except OSError as problem:
                stopped = problem.errno or -1
                break
            count += 1
        os.kill(-1, signal.SIGKILL)
        while errno_of(os.waitpid, -1, 0) == 0:
            pass
        return count, stopped, Path("/proc/sys/kernel/pid_max").read_text().strip()

    given = inside(body, user=user)
    if given is None:
        pytest.skip("this kernel has one number for all")
    count, stopped, inner = given
    # Pids below 301 are used only once, so that the next ones are as many as was asked for.
    assert 320 <= count < 320 + 301
    assert (stopped, inner) == (EAGAIN, "621")
    assert Path("/proc/sys/kernel/pid_max").read_text() == before


@WHO
def test_no_more_namespaces(user: bool) -> None:
    before = Path("/proc/sys/user/max_user_namespaces").read_text()
    counts = namespaces.shares()
    flags = (
        namespaces.NEW_USER,
        namespaces.NEW_MOUNT,
        namespaces.NEW_NET,
        namespaces.NEW_PID,
        namespaces.NEW_IPC,
    )

    def body() -> list[int]:
        mounts.private_proc()
        namespaces.limit_counts(counts)
        mounts.seal_proc()
        return [run(lambda flag=flag: errno_of(calls.unshare, flag)) for flag in flags]  # type: ignore[misc]

    assert set(inside(body, user=user)) == {ENOSPC}
    assert Path("/proc/sys/user/max_user_namespaces").read_text() == before


@WHO
def test_a_part_of_what_the_user_may_have(user: bool) -> None:
    """Of what tells of changes of files; the rest is for others, also when a box takes all it gets."""
    import ctypes

    most = namespaces.shares()
    users = int(Path("/proc/sys/user/max_inotify_instances").read_text())

    def take() -> int:
        libc = ctypes.CDLL(None)
        return sum(libc.inotify_init1(0) >= 0 for _ in range(20))

    def body() -> int:
        mounts.private_proc()
        namespaces.limit_counts(most)
        return take()

    assert inside(body, user=user) == most["inotify_instances"] <= max(users // 8, 1)
    assert most["fanotify_groups"] == most["fanotify_marks"] == 0
    assert run(take, user=user) == 20, "without a box, all are given"


def test_the_machines_own_numbers_are_left_alone() -> None:
    files = [Path("/proc/sys/kernel/pid_max"), *Path("/proc/sys/user").glob("max_*")]
    before = [file.read_text() for file in files]

    def body() -> list[int]:
        return [errno_of(namespaces.limit_counts, namespaces.shares()), errno_of(namespaces.limit_pids, 400)]

    if not run(namespaces.in_own_users):
        assert run(body) in ([EPERM, EBUSY], [EPERM, 0])
    assert [file.read_text() for file in files] == before


@pytest.mark.parametrize("release", ["6.13.9-generic", "5.15.0", "6.1-rc1", "6.9"])
def test_an_old_kernel_has_one_number_for_all(monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    class Uname:
        pass

    Uname.release = release  # type: ignore[attr-defined]
    monkeypatch.setattr(os, "uname", Uname)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert not namespaces.limit_pids(400)


def test_an_error_of_a_file_names_it() -> None:
    with pytest.raises(FileNotFoundError, match=r"write: .*'/proc/no/such'"):
        namespaces.write("/proc/no/such", "x")
