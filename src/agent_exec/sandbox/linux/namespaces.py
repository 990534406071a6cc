"""Namespaces of one's own: users, mounts, processes, network, names, and what limits them."""

import fcntl
import os
import struct
from errno import EBUSY, EIO, ENOTSUP, EPERM

from agent_exec.sandbox.linux import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket as _socket
else:
    import _socket  # without the enums

NEW_TIME = 0x00000080
NEW_MOUNT = 0x00020000
NEW_CGROUP = 0x02000000
NEW_NAMES = 0x04000000
NEW_IPC = 0x08000000
NEW_USER = 0x10000000
NEW_PID = 0x20000000
NEW_NET = 0x40000000

_EVERYBODY = "0 0 4294967295"
_KINDS = "cgroup ipc mnt net pid time user uts".split()
_WATCHED = (
    ("inotify_instances", 8, 16),
    ("inotify_watches", 4, 1 << 16),
    ("fanotify_groups", 0, 0),
    ("fanotify_marks", 0, 0),
)
"""Who is told of changes of files: which part of what the user may have is a box's, and at most how many."""
_OWN_PID_MAX = (6, 14)
_FEWEST_PIDS = 301  # below 300, the kernel keeps pids for itself
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def unshare_all(*, network: bool = True) -> None:
    """Enter new namespaces of every kind; the one of processes is for children only.

    `network` False keeps the machine's network. The ids are mapped to
    themselves. Must come before the process is made undumpable: to one who is
    not root, the files of the maps would no longer belong.
    """
    uid, gid = os.geteuid(), os.getegid()
    flags = NEW_USER | NEW_MOUNT | NEW_PID | NEW_IPC | NEW_NAMES | NEW_CGROUP
    calls.unshare(flags | (NEW_NET if network else 0))
    map_ids(uid, gid)


def map_ids(uid: int, gid: int) -> None:
    """Map one user and one group to themselves in the user namespace just entered."""
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{uid} {uid} 1")
    write("/proc/self/gid_map", f"{gid} {gid} 1")


def in_own_users() -> bool:
    """True if this process is in a user namespace below the machine's."""
    return " ".join(_read("/proc/self/uid_map").split()) != _EVERYBODY


def loopback_up() -> None:
    """Bring up the loopback interface of the network namespace just entered."""
    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
    try:
        answer = fcntl.ioctl(sock, _SIOCGIFFLAGS, struct.pack("16sh22x", b"lo", 0))
        flags = struct.unpack_from("h", answer, 16)[0]
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))
    except OSError as problem:
        raise calls.failure(problem.errno or EIO, "ioctl", "lo") from problem
    finally:
        sock.close()


def limit_pids(most: int) -> None:
    """Let no pid in this namespace be above a number: it can never hold more processes.

    For the first process of a namespace, with its own /proc mounted. Kernels
    before 6.14 have one such number for the machine, which root would change
    here: there it fails with ENOTSUP, and touches nothing.
    """
    path = "/proc/sys/kernel/pid_max"
    release = os.uname().release.split(".")
    if (int(release[0]), int(release[1].partition("-")[0])) < _OWN_PID_MAX:
        raise calls.failure(ENOTSUP, "write", path, "this kernel cannot limit the pids of a namespace")
    if os.getpid() != 1:
        raise calls.failure(EBUSY, "write", path, "only the first process of a namespace may do this")
    _require_own_users(path)
    _keep(path, str(most + _FEWEST_PIDS))


def shares() -> dict[str, int]:
    """Return what a box may have of what is counted for its user; call before entering the user namespace."""
    found = dict.fromkeys((f"{kind}_namespaces" for kind in _KINDS), 0)
    for name, part, most in _WATCHED:
        path = f"/proc/sys/user/max_{name}"
        if os.path.exists(path):  # not every kernel can tell of changes
            found[name] = min(int(_read(path)) // part, most) if part else 0
    return found


def limit_counts(most: "dict[str, int]") -> None:
    """Let no more of these be had in this user namespace; the kernel counts them for the user as well.

    Where no namespaces may be made (ENOSPC), nothing detached can be made any
    more: to the kernel, a mount that is attached nowhere is in one of its own.
    """
    _require_own_users("/proc/sys/user")
    for name, number in most.items():
        _keep(f"/proc/sys/user/max_{name}", str(number))


def forget_connections() -> None:
    """Let no closed connection keep its port in this network namespace: the next command would see it."""
    _require_own_users("/proc/sys/net")
    _keep("/proc/sys/net/ipv4/tcp_max_tw_buckets", "0")


def write(path: str, text: str) -> None:
    """Write a file of the kernel's in one call, as it wants it."""
    data = text.encode()
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            written = os.write(fd, data)
        finally:
            os.close(fd)
    except OSError as problem:
        raise calls.failure(problem.errno or EIO, "write", path) from problem
    if written != len(data):
        raise calls.failure(EIO, "write", path)


def _keep(path: str, wanted: str) -> None:
    write(path, wanted)
    if _read(path).strip() != wanted:
        raise calls.failure(EIO, "write", path, "the kernel did not keep it")


def _read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096).decode()
    finally:
        os.close(fd)


def _require_own_users(path: str) -> None:
    """Raise if this would change the machine's own numbers."""
    if not in_own_users():
        raise calls.failure(EPERM, "write", path, "not in a user namespace of our own")
