"""Makes a box of a process: namespaces, mounts, no privileges, Landlock, a filter; then it checks itself.

Runs in a small helper process without threads, which is forked once more:
the copy is the first process of the box and serves there, the original waits
for it and ends with it. Whatever fails, nothing is served.
"""

import fcntl
import os
import struct
from errno import EBUSY, EIO, EPERM

from agent_exec.model.paths import below
from agent_exec.sandbox.closing import Closing
from agent_exec.sandbox.linux import calls, covers, mounts, privileges
from agent_exec.sandbox.linux.box_common import (
    SHARED_BYTES,
    SHARED_MEMORY,
    Box,
    finish,
    leave_devices,
    limit,
    pinned,
    private_folders,
)
from agent_exec.sandbox.setup_steps import At

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    import socket as _socket
    from collections.abc import Sequence
    from typing import Any

    Spec = dict[str, Any]
else:
    import _signal
    import _socket  # without the enums

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
"""inotify: which part of the user's limits a box gets, and at most how many."""
_OWN_PID_MAX = (6, 14)
_FEWEST_PIDS = 301  # below 300, the kernel keeps pids for itself
_LOOPBACK = ("ns/user", "ns/net", "net/tcp", "net/tcp6")
"""What stands for a loopback network below /proc/self: its namespaces, and its tables of ports."""
_NO_TIME_WAIT = {"/proc/sys/net/ipv4/tcp_max_tw_buckets": 0}
"""No closed connection keeps its port: the next command would see it."""
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def confine(spec: "Spec") -> Box:
    """Make a box of this process; return in its copy, as the first process of the box."""
    at = At()
    private = private_folders(spec)
    with at("namespaces"):
        counts = shares()
        _leave_groups()
        for fd, kind in zip(spec["loopback"], (NEW_USER, NEW_NET), strict=bool(spec["loopback"])):
            calls.setns(fd, kind)
            os.close(fd)
        own_network = not (spec["net"] or spec["loopback"])
        unshare_all(network=own_network)
    _mount(spec, private, at)
    with at("the network"):
        if own_network:
            loopback_up()
    with at("its first process"):
        pid = os.fork()
        if pid:
            _wait(pid)
        privileges.die_with_parent(0)
    with at("a private /proc"):
        mounts.private_proc()
    with at("limits"):
        processes = None if limit_pids(spec["procs"]) else spec["procs"]
        limit_counts(counts)
        if own_network:
            _keep(_NO_TIME_WAIT)
        privileges.end_first()
        mounts.seal_proc()
        limit(spec, processes)
    return finish(spec, private, at)


def make_loopback() -> list[int]:
    """Enter a loopback network for boxes to share; return the descriptors that keep it and show its ports.

    A user namespace between this and the machine's owns it, and each box
    enters another one below that: no box has any rights over it.
    """
    with At()("the network"):
        _unshare(NEW_NET)
        loopback_up()
        _keep(_NO_TIME_WAIT)
        paths = [path for name in _LOOPBACK if os.path.exists(path := f"/proc/self/{name}")]
        return [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths]


def _leave_groups() -> None:
    """Have no rights by further groups; an ordinary user may not leave them, and keeps their rights."""
    if os.geteuid() == 0:
        try:
            os.setgroups([])
        except PermissionError:
            return  # root of a namespace only, where groups cannot be changed


def _mount(spec: "Spec", private: "Sequence[str]", at: At) -> None:
    """Rebuild what is to be seen; the order is what makes it hold."""
    roots = [(os.fsdecode(path), (device, inode)) for path, device, inode in spec["roots"]]
    masks = [os.fsdecode(path) for path in spec["masks"]]
    with at("a mount tree of its own"):
        mounts.make_private()
    with at("the roots"):
        trees = [(path, mounts.clone(path, identity=identity)) for path, identity in roots]
        for path in pinned(spec, masks):
            mounts.pin(path)
        covered = covers.open_tops(spec["view"])
    with at("everything read-only"):
        mounts.seal("/")
    with at("a private /tmp"):
        wanted = (spec["tmp_mb"] << 20) or SHARED_BYTES
        folders = mounts.memory_folders([*private, SHARED_MEMORY], wanted)
        for folder in private:
            mounts.attach(folders[folder], folder)
    with at("home folders"):
        covers.put_up(covered)
    with at("the roots"):
        for path, tree in trees:
            (mounts.harden if spec["writable"] else mounts.seal)(tree)
            if below(path, private):
                mounts.make_folder(path)
            mounts.attach(tree, path)
    with at("protected paths"):
        for path, device, inode in spec["protected"]:  # one by one: there may be more than descriptors
            mounts.protect(os.fsdecode(path), identity=(device, inode))
    with at("a private /dev"):
        mounts.private_devices(shared_memory=folders[SHARED_MEMORY])
        leave_devices()
    with at("masks"):
        mounts.mask(path for path in (*mounts.SYSTEM_MASKS, *masks) if os.path.lexists(path))


def _wait(pid: int) -> None:
    """Act as the parent of a box: continue it when it is stopped, and exit when it exits."""
    _signal.set_wakeup_fd(-1)
    os.closerange(3, 1 << 20)
    try:
        while os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1]):
            os.kill(pid, _signal.SIGCONT)
    finally:
        os._exit(0)


def unshare_all(*, network: bool = True) -> None:
    """Enter new namespaces of every kind; the one of processes is for children only.

    `network` False keeps the machine's network. One user and one group are
    mapped to themselves. Must come before the process is made undumpable: to
    an ordinary user, the files of the maps would no longer belong.
    """
    flags = NEW_MOUNT | NEW_PID | NEW_IPC | NEW_NAMES | NEW_CGROUP
    _unshare(flags | (NEW_NET if network else 0))


def _unshare(flags: int) -> None:
    """Enter a new user namespace, and others that it owns."""
    uid, gid = os.geteuid(), os.getegid()
    calls.unshare(NEW_USER | flags)
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


def limit_pids(most: int | None) -> bool:
    """Let no pid in this namespace be above a number: it can never hold more processes.

    For the first process of a namespace, with its own /proc mounted. Kernels
    before 6.14 have one such number for the machine, which root would change
    here: there nothing is touched, and False returned.
    """
    if not most:
        return True
    path = "/proc/sys/kernel/pid_max"
    release = os.uname().release.split(".")
    if (int(release[0]), int(release[1].partition("-")[0])) < _OWN_PID_MAX:
        return False
    if os.getpid() != 1:
        raise calls.failure(EBUSY, "write", path, "only the first process of a namespace may do this")
    _keep({path: most + _FEWEST_PIDS})
    return True


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
    _keep({f"/proc/sys/user/max_{name}": number for name, number in most.items()})


def write(path: str, text: str) -> None:
    """Write a file of the kernel's in one call, as it wants it."""
    data = text.encode()
    try:
        with Closing(os.open(path, os.O_WRONLY | os.O_CLOEXEC)) as fd:
            written = os.write(fd, data)
    except OSError as problem:
        raise calls.failure(problem.errno or EIO, "write", path) from problem
    if written != len(data):
        raise calls.failure(EIO, "write", path)


def _keep(wanted: dict[str, int]) -> None:
    """Set numbers of the kernel's for this namespace; raise if that would change the machine's own."""
    if not in_own_users():
        raise calls.failure(EPERM, "write", next(iter(wanted)), "not in a user namespace of our own")
    for path, number in wanted.items():
        write(path, str(number))
        if int(_read(path)) != number:
            raise calls.failure(EIO, "write", path, "the kernel did not keep it")


def _read(path: str) -> str:
    with Closing(os.open(path, os.O_RDONLY | os.O_CLOEXEC)) as fd:
        return os.read(fd, 4096).decode()
