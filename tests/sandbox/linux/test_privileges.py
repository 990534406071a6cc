"""What is given up is gone, for the process and for all it starts."""

import os
import resource
import signal
import subprocess
import sys
from errno import EACCES, EFBIG, EMFILE, EPERM, ESRCH
from pathlib import Path

import pytest

from agent_exec.sandbox.linux import calls, privileges
from sandbox.linux.children import Killed, errno_of, ground, inside, run

WHO = pytest.mark.parametrize("user", [False, True], ids=["root", "nobody"])
NONE = {"CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapBnd": 0, "CapAmb": 0}


@WHO
def test_no_capability_is_left_in_a_namespace(user: bool) -> None:
    def body() -> list[dict[str, int]]:
        before = privileges.capabilities()
        privileges.drop_capabilities()
        return [before, privileges.capabilities()]

    before, after = inside(body, user=user)
    assert before["CapEff"] != 0
    assert after == NONE


@WHO
def test_nor_does_a_program_get_one(user: bool) -> None:
    def body() -> str:
        privileges.drop_capabilities()
        reader, writer = os.pipe()
        pid = os.posix_spawn(
            "/bin/cat", ["cat", "/proc/self/status"], {}, file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)]
        )
        os.close(writer)
        text = b""
        while piece := os.read(reader, 1 << 16):
            text += piece
        os.waitpid(pid, 0)
        return text.decode()

    lines = [line for line in inside(body, user=user).splitlines() if line.startswith("Cap")]
    assert len(lines) == 5
    assert {line.split()[1] for line in lines} == {"0" * 16}


def test_an_ordinary_user_outside_has_none_either() -> None:
    def body() -> dict[str, int]:
        privileges.drop_capabilities()
        return privileges.capabilities()

    given = run(body, user=True)
    assert {**given, "CapBnd": 0} == NONE


def test_what_was_dropped_cannot_be_taken_back() -> None:
    def body() -> list[int]:
        privileges.drop_capabilities()
        return [
            errno_of(calls.capset, 1, 1, 0),
            errno_of(calls.prctl, 28, 0),
            errno_of(calls.umount, "/proc"),
        ]

    assert run(body) == [EPERM, EPERM, EPERM]


def test_no_new_privileges() -> None:
    def body() -> tuple[bool, bool, bool]:
        before = privileges.no_new_privs_set()
        privileges.forbid_new_privileges()
        return before, privileges.no_new_privs_set(), privileges.no_new_privs_set(os.getpid())

    before, after, by_pid = run(body)
    assert after
    assert by_pid
    assert not before or privileges.no_new_privs_set()


def test_it_is_not_inspected() -> None:
    def look() -> int:
        return errno_of(lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes())

    def victim() -> tuple[int, int]:
        before = run(look)
        privileges.forbid_dumps()
        return before, run(look)

    assert run(victim, user=True) == (0, EACCES)


def test_limits() -> None:
    def body() -> list[object]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        privileges.limit(cpu=100, memory=1 << 36, file_size=1 << 16, processes=500)
        privileges.limit_files(32, 500)
        fd = os.open(folder / "file", os.O_CREAT | os.O_WRONLY)
        large = errno_of(lambda: [os.write(fd, b"x" * 4096) for _ in range(20)])
        many = errno_of(lambda: [os.dup(fd) for _ in range(40)])
        names = "CORE CPU DATA FSIZE NOFILE NPROC".split()
        privileges.limit(file_size=1 << 20)  # more than is allowed: what is allowed
        return [large, many, *(resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in names)]

    with ground(user=True) as folder:
        given = run(body, user=True)
    assert given[:2] == [EFBIG, EMFILE]
    processes = given.pop()
    assert given[2:] == [(1, 1), (100, 101), (1 << 36, 1 << 36), (1 << 16, 1 << 16), (32, 32)]
    assert isinstance(processes, tuple)
    assert processes[0] <= 500


def test_what_is_counted_for_the_user_is_always_bounded() -> None:
    def body() -> dict[str, int]:
        privileges.limit()
        names = "MEMLOCK SIGPENDING MSGQUEUE NICE RTPRIO".split()
        return {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] for name in names}

    given = run(body)
    assert {given[name] for name in ("MSGQUEUE", "NICE", "RTPRIO")} == {0}
    assert 0 <= given["MEMLOCK"] <= 1 << 20
    assert given["SIGPENDING"] <= 1024


@pytest.mark.parametrize(
    ("most", "processes"), [(None, None), (1 << 20, 1), (4096, 1024), (4096, 1 << 22), (16, 1)]
)
def test_descriptors(most: int | None, processes: int | None) -> None:
    """Half of what there is, unless less is asked for or the machine has few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    machine = int(Path("/proc/sys/fs/file-max").read_text())

    def body() -> tuple[int, int]:
        privileges.limit_files(most, processes)
        return resource.getrlimit(resource.RLIMIT_NOFILE)

    given = run(body)
    assert given[1] <= hard // 2
    assert most is None or given[1] <= most
    assert given[1] <= 1024 or given[1] * (processes or 1024) <= machine // 2
    assert given[1] >= min(most or 1024, hard // 2, 1024)
    assert given[0] == min(soft, given[1])


def test_it_is_the_first_to_be_ended_for_want_of_memory() -> None:
    def body() -> str:
        privileges.end_first()
        return run(lambda: Path("/proc/self/oom_score_adj").read_text())

    for user in (False, True):
        assert run(body, user=user) == "1000\n"


def test_time_that_is_used_up_ends_it() -> None:
    def body() -> None:
        privileges.limit(cpu=1)
        while True:
            pass

    with pytest.raises(Killed) as caught:
        run(body)
    assert caught.value.number == signal.SIGXCPU


def test_it_dies_with_its_parent() -> None:
    """The parent ends; the child must be gone, which its end of the pipe tells."""
    reader, writer = os.pipe()

    def parent() -> int:
        parents = os.getpid()
        ready, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            privileges.die_with_parent(parents)
            os.write(tell, b"x")
            while True:
                signal.pause()
        os.read(ready, 1)
        os.close(writer)
        return pid

    try:
        # What runs keeps the pipe of the answer open too, so the answer itself proves the death.
        assert run(parent) > 0
    finally:
        os.close(writer)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_a_parent_that_is_gone_is_reported() -> None:
    assert run(lambda: errno_of(privileges.die_with_parent, os.getppid() + 1)) == ESRCH


def test_nothing_heavy_is_loaded() -> None:
    source = Path(privileges.__file__).parents[3]
    modules = [path.stem for path in Path(privileges.__file__).parent.glob("*.py") if path.stem != "__init__"]
    code = f"import sys; sys.path.append({str(source)!r}); before = set(sys.modules)\n"
    code += "".join(f"import agent_exec.sandbox.linux.{name}\n" for name in modules)
    code += "print(*(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=True)
    heavy = {"asyncio", "dataclasses", "enum", "json", "platform", "re", "socket", "subprocess", "typing"}
    assert not heavy & set(out.stdout.split())
