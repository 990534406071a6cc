"""What a process that has applied the filter to itself is really given by the kernel."""

import ctypes
import mmap
import os
import resource
import signal
import socket
import termios
import threading
from errno import EAFNOSUPPORT, ENOSYS, EPERM, EPROTONOSUPPORT, ESOCKTNOSUPPORT
from fcntl import ioctl
from pathlib import Path

import pytest

from agent_exec.sandbox.linux import calls, privileges, seccomp
from agent_exec.sandbox.linux.calls import machine, table
from sandbox.linux.children import Killed, errno_of, errno_of_call, run

NUMBERS = table(machine())


def filtered(net: str = "off") -> None:
    privileges.forbid_new_privileges()
    seccomp.apply(seccomp.program(net=net))


@pytest.mark.parametrize("user", [False, True], ids=["root", "nobody"])
def test_every_refused_call(user: bool) -> None:
    names = [name for name in (*seccomp.REFUSED, *seccomp.ABSENT) if name in NUMBERS]

    def body() -> dict[str, int]:
        privileges.drop_capabilities()  # so that a mistake of ours cannot harm the machine
        filtered()
        return {name: errno_of_call(NUMBERS[name]) for name in names}

    given = run(body, user=user)
    assert given == {name: ENOSYS if name in seccomp.ABSENT else EPERM for name in names}


def test_it_is_seen_and_stays_and_can_be_narrowed_only() -> None:
    def body() -> tuple[int, int, int]:
        before = privileges.seccomp_mode()
        filtered(net="off")
        seccomp.apply(seccomp.program(net="on"))
        return before, privileges.seccomp_mode(), errno_of(socket.socket)

    before, after, sockets = run(body)
    assert (before, after, sockets) == (0, 2, EAFNOSUPPORT)


def test_it_needs_no_new_privileges() -> None:
    def body() -> int:
        privileges.drop_capabilities()
        return errno_of(seccomp.apply, seccomp.program())

    assert run(body) != 0


def test_unknown_numbers() -> None:
    def body() -> list[int]:
        filtered()
        return [errno_of_call(number) for number in (470, 500, 547, 0x40000027, 0x40000000 + 102, 0x7FFFFFFF)]

    assert set(run(body)) == {ENOSYS}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="int 0x80 is of x86")
def test_a_call_by_the_other_door_kills() -> None:
    def call() -> int:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
        return int(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())

    def body() -> int:
        filtered()
        return call()

    def control() -> bool:
        return call() == os.getpid()

    try:
        assert run(control)
    except Killed:
        pytest.skip("this kernel has no other door")
    with pytest.raises(Killed) as caught:
        run(body)
    assert caught.value.number == signal.SIGSYS


def test_set_id_bits(tmp_path: Path) -> None:
    file = tmp_path / "file"

    def body() -> dict[str, int]:
        filtered()
        given = {"plain": errno_of(lambda: os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o755)))}
        fd = os.open(file, os.O_RDONLY)
        given["chmod"] = errno_of(os.chmod, file, 0o4755)
        given["fchmod"] = errno_of(os.fchmod, fd, 0o2755)
        given["sticky"] = errno_of(os.chmod, file, 0o1755)
        given["open"] = errno_of(os.open, tmp_path / "a", os.O_CREAT | os.O_WRONLY, 0o4755)
        given["tmpfile"] = errno_of(os.open, tmp_path, os.O_TMPFILE | os.O_WRONLY, 0o4755)
        given["mkdir"] = errno_of(os.mkdir, tmp_path / "b", 0o2755)
        given["mknod"] = errno_of(os.mknod, tmp_path / "c", 0o104755)
        given["openat2"] = errno_of(calls.openat2, str(file), os.O_RDONLY, 0)
        os.close(fd)
        return given

    given = run(body)
    assert given == {
        "plain": 0, "chmod": EPERM, "fchmod": EPERM, "sticky": 0, "open": EPERM, "tmpfile": EPERM, "mkdir": EPERM,
        "mknod": EPERM, "openat2": ENOSYS,
    }  # fmt: skip
    assert file.stat().st_mode & 0o7777 == 0o1755
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_namespaces_threads_and_programs() -> None:
    def body() -> list[int]:
        filtered()
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        pid = os.posix_spawn("/bin/true", ["true"], {})
        ended = os.waitpid(pid, 0)[1]
        return [errno_of(calls.unshare, flag) for flag in (0x10000000, 0x20000, 0x80)] + [ended]

    assert run(body, user=True) == [EPERM, EPERM, EPERM, 0]


SOCKETS = {
    "unix": (socket.AF_UNIX, socket.SOCK_STREAM, 0),
    "unix datagram": (socket.AF_UNIX, socket.SOCK_DGRAM, 0),
    "vsock": (40, socket.SOCK_STREAM, 0),
    "packet": (17, socket.SOCK_RAW, 0),
    "alg": (38, socket.SOCK_SEQPACKET, 0),
    "tcp": (socket.AF_INET, socket.SOCK_STREAM, 0),
    "udp6": (socket.AF_INET6, socket.SOCK_DGRAM, 17),
    "raw": (socket.AF_INET, socket.SOCK_RAW, 1),
    "mptcp": (socket.AF_INET, socket.SOCK_STREAM, 262),
    "route": (16, socket.SOCK_RAW, 0),
    "audit": (16, socket.SOCK_RAW, 9),
}
OFF = dict.fromkeys(SOCKETS, EAFNOSUPPORT)
ON = OFF | {"tcp": 0, "udp6": 0, "route": 0, "raw": ESOCKTNOSUPPORT}
ON |= {"mptcp": EPROTONOSUPPORT, "audit": EPROTONOSUPPORT}


@pytest.mark.parametrize(("net", "wanted"), [("off", OFF), ("loopback", ON), ("on", ON)])
def test_sockets(net: str, wanted: dict[str, int]) -> None:
    def body() -> dict[str, int]:
        filtered(net)
        given = {}
        for name, (family, kind, protocol) in SOCKETS.items():
            given[name] = errno_of(lambda f, k, p: socket.socket(f, k, p).close(), family, kind, protocol)
        return given

    assert run(body) == wanted


def test_pairs() -> None:
    def body() -> list[int]:
        filtered()
        given = []
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):

            def pair(kind: int = kind) -> None:
                for end in socket.socketpair(socket.AF_UNIX, kind):
                    end.close()

            given.append(errno_of(pair))
        return given

    assert run(body) == [0, 0, ESOCKTNOSUPPORT]


def test_wide_arguments_do_not_slip_through() -> None:
    def body() -> list[int]:
        filtered("on")
        wide = 1 << 32
        return [
            errno_of_call(NUMBERS["socket"], wide | 1, 1, 0),
            errno_of_call(NUMBERS["socketpair"], wide | 1, wide | 2, 0, 0),
            errno_of_call(NUMBERS["ioctl"], 0, wide | 0x5412, 0),
            errno_of_call(NUMBERS["unshare"], wide | 0x10000000),
        ]

    assert run(body, user=True) == [EAFNOSUPPORT, ESOCKTNOSUPPORT, EPERM, EPERM]


def test_typing_into_a_terminal() -> None:
    def body() -> tuple[int, int, int]:
        _master, slave = os.openpty()
        filtered()
        typed = errno_of(lambda: ioctl(slave, termios.TIOCSTI, b"x"))
        discipline = errno_of(lambda: ioctl(slave, termios.TIOCSETD, b"\0\0\0\0"))
        size = errno_of(lambda: ioctl(slave, termios.TIOCGWINSZ, b"\0" * 8))
        return typed, discipline, size

    assert run(body) == (EPERM, EPERM, 0)


def test_limits_of_other_processes() -> None:
    def body() -> tuple[int, int, int]:
        filtered()
        own = errno_of(resource.prlimit, 0, resource.RLIMIT_CORE, (0, 0))
        other = errno_of(resource.prlimit, os.getppid(), resource.RLIMIT_CORE, (0, 0))
        asked = errno_of(resource.prlimit, os.getppid(), resource.RLIMIT_CORE)
        return own, other, asked

    assert run(body) == (0, EPERM, 0)
