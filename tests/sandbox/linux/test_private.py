"""The private /dev and /proc: what programs expect is there, and nothing of the machine."""

import encodings.idna  # noqa: F401 - before the child is nobody, who may not read our interpreter
import os
import pty
import socket
from errno import EACCES, ENODEV, ENOENT, ENOSPC, EROFS
from pathlib import Path

import pytest

from agent_exec.sandbox.linux import calls, mounts, namespaces
from sandbox.linux.children import errno_of, errno_of_writing, inside, memory_folder, run

WHO = pytest.mark.parametrize("user", [False, True], ids=["root", "nobody"])
WORDS = "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero"


def sealed_devices() -> None:
    mounts.harden("/")
    mounts.seal("/")
    mounts.private_devices(shared_memory=mounts.memory_folders(["/dev/shm"], 1 << 20)["/dev/shm"])


@WHO
def test_devices(user: bool) -> None:
    def body() -> dict[str, object]:
        def put(name: str) -> int:
            fd = os.open(f"/dev/{name}", os.O_RDWR)
            try:
                return errno_of(os.write, fd, b"x")
            finally:
                os.close(fd)

        shared = Path("/dev/shm/some")
        shared.write_text("x")
        return {
            "names": " ".join(sorted(os.listdir("/dev"))),
            "null": put("null"),
            "full": put("full"),
            "zero": Path("/dev/zero").open("rb", buffering=0).read(2),
            "random": len(Path("/dev/urandom").open("rb", buffering=0).read(8)),
            "tty": errno_of(lambda: os.close(os.open("/dev/tty", os.O_RDWR))),
            "make": errno_of_writing("/dev/new"),
            "remove": errno_of(os.unlink, "/dev/fd"),
            "pts": sorted(os.listdir("/dev/pts")),
            "shared": shared.read_text(),
            "full shm": errno_of(lambda: Path("/dev/shm/big").write_bytes(bytes(2 << 20))),
            "kmsg": errno_of(os.stat, "/dev/kmsg"),
        }

    given = inside(body, before=sealed_devices, user=user)
    assert given.pop("tty") in (0, 6)  # there is none, or there is
    assert given == {
        "names": WORDS, "null": 0, "full": ENOSPC, "zero": b"\0\0", "random": 8, "make": EROFS, "remove": EROFS,
        "pts": ["ptmx"], "shared": "x", "full shm": ENOSPC, "kmsg": ENOENT,
    }  # fmt: skip
    assert not os.path.exists("/dev/shm/some")


@WHO
def test_terminals_are_of_the_box_alone(user: bool) -> None:
    outer, slave = pty.openpty()
    os.close(slave)
    try:

        def body() -> list[str]:
            master, own = pty.openpty()
            os.write(own, b"x")
            return [os.ttyname(own), os.read(master, 1).decode(), *sorted(os.listdir("/dev/pts"))]

        assert inside(body, before=sealed_devices, user=user) == ["/dev/pts/0", "x", "0", "ptmx"]
    finally:
        os.close(outer)


def test_the_links_lead_to_ones_own_streams() -> None:
    def body() -> bytes:
        mounts.private_proc()
        mounts.seal_proc()
        reader, writer = os.pipe()
        os.dup2(writer, 1)
        pid = os.fork()
        if pid == 0:
            os.execv("/bin/sh", ["sh", "-c", "echo out > /dev/stdout; echo fd > /dev/fd/1"])
        os.waitpid(pid, 0)
        return os.read(reader, 64)

    assert inside(body, before=sealed_devices) == b"out\nfd\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can put something else there")
def test_a_device_that_is_none_is_refused() -> None:
    def build() -> None:
        memory_folder("/dev", size=1 << 16)
        for name, _, _ in mounts.DEVICES:
            Path(f"/dev/{name}").touch()

    def body() -> tuple[int, int]:
        before = len(os.listdir("/proc/self/fd"))
        memory = mounts.memory_folders(["/dev/shm"], 1 << 20)["/dev/shm"]
        failed = errno_of(lambda: mounts.private_devices(shared_memory=memory))
        return failed, len(os.listdir("/proc/self/fd")) - before

    assert inside(body, before=build) == (ENODEV, 0)


@WHO
def test_proc(user: bool) -> None:
    def body() -> dict[str, object]:
        mounts.private_proc()
        mounts.seal_proc()
        calls.capset(0, 0, 0)
        secrets = [path for path in mounts.PROC_MASKS if os.path.exists(path)]
        assert secrets
        told = [
            path for path in secrets if os.path.isfile(path) and errno_of(Path(path).read_bytes) != EACCES
        ]
        entered = [path for path in secrets if os.path.isdir(path) and errno_of(os.listdir, path) != EACCES]
        return {
            "pids": [name for name in os.listdir("/proc") if name.isdigit()],
            "self": os.readlink("/proc/self"),
            "told": told + entered,
            "sysctl": errno_of_writing("/proc/sys/kernel/core_pattern"),
            "own": errno_of_writing("/proc/self/comm"),
            "fs": errno_of_writing("/proc/sys/vm/drop_caches"),
            "masked": errno_of_writing(secrets[-1]),
        }

    given = inside(body, user=user)
    roots = EACCES if user or os.getuid() else EROFS  # an ordinary user is not asked twice
    assert given == {
        "pids": ["1"], "self": "1", "told": [], "sysctl": roots, "own": EROFS, "fs": roots, "masked": EACCES,
    }  # fmt: skip


@WHO
def test_loopback_and_nothing_else(user: bool) -> None:
    host = socket.create_server(("127.0.0.1", 0))
    port = host.getsockname()[1]

    def body() -> list[object]:
        server = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(server.getsockname()[:2])
        peer, _ = server.accept()
        client.send(b"x")
        six = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        return [
            peer.recv(1),
            errno_of(six.bind, ("::1", 0)),
            [name for _, name in socket.if_nameindex()],
            errno_of(lambda: socket.create_connection(("127.0.0.1", port)).close()),
            errno_of(lambda: socket.create_connection(("192.0.2.1", 80)).close()),
        ]

    def control() -> None:
        socket.create_connection(("127.0.0.1", port)).close()

    with host:
        given = inside(body, before=namespaces.loopback_up, user=user)
        assert given == [b"x", 0, ["lo"], 111, 101]
        run(control, user=user)
