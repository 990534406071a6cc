"""Makes a box of a process: namespaces, mounts, no privileges, Landlock, a filter; then it checks itself.

Runs in a small helper process without threads, which is forked once more:
the copy is the first process of the box and serves there, the original waits
for it and ends with it. Whatever fails, nothing is served.
"""

import os
from errno import EIO, ENOTSUP, EPERM, ESTALE
from time import process_time

from agent_exec.sandbox.linux import devices, landlock, mounts, namespaces, privileges, proc, seccomp
from agent_exec.sandbox.linux.leftovers import Left
from agent_exec.sandbox.steps import At

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

_TEMPORARY = ("/tmp", "/var/tmp")
_SHARED_MEMORY = "/dev/shm"
_SHARED_BYTES = 256 << 20


class Box:
    """A box, as its first process has it."""

    __slots__ = (
        "_at",
        "_cpu",
        "_masks",
        "_private",
        "_protected",
        "_roots",
        "_urgency",
        "_writable",
        "listener",
    )

    def __init__(self, spec: "Spec", private: "Sequence[str]", at: At) -> None:
        self.listener = -1
        self._at = at
        self._cpu = spec["cpu"]
        self._urgency = _urgency()
        self._masks = [(path, os.stat(path).st_dev) for path in map(os.fsdecode, spec["masks"])]
        self._roots = [(os.fsdecode(path), device, inode) for path, device, inode in spec["roots"]]
        self._protected = [os.fsdecode(path) for path, _, _ in spec["protected"]]
        self._writable = bool(spec["writable"])
        # Only what is in memory, and so was empty when the box was made: never a disk.
        devices = {device for _, device, _ in self._roots} | {os.stat("/").st_dev}
        self._private = [(path, os.stat(path).st_dev) for path in private]
        if any(device in devices for _, device in self._private):
            raise OSError(EIO, "a private folder is not private")

    def check(self) -> None:
        """Make sure that the roots are who they were, and that what is protected still is."""
        with self._at("the check before a command"):
            for path, device, inode in self._roots:
                found = os.stat(path)
                if (found.st_dev, found.st_ino) != (device, inode):
                    raise OSError(ESTALE, "the root is another folder now", path)
            for path in self._protected:
                if not mounts.is_readonly(path):
                    raise OSError(EPERM, "it is no longer protected", path)
            for path, device in self._masks:
                if os.stat(path).st_dev != device:
                    raise OSError(EPERM, "it is no longer hidden", path)

    def clean(self) -> bool:
        """Take away what a command has left; tell whether the box is as it was."""
        try:
            left = Left()
            for folder, device in self._private:
                os.chmod(folder, 0o1777)
                left.empty(folder, device)
            self.check()
        except (OSError, RecursionError):
            return False
        if any(_lines(f"/proc/sysvipc/{kind}") > 1 for kind in ("shm", "sem", "msg")):
            return False
        # A command may slow down this process, and what this process starts inherits that.
        return _urgency() == self._urgency and (self._cpu is None or process_time() < self._cpu / 2)

    def check_itself(self) -> None:
        """Try from inside what must not work; raise if it does."""
        if any(value for name, value in privileges.capabilities().items() if name != "CapBnd"):
            raise OSError(EPERM, "capabilities are left")
        if not privileges.no_new_privs_set() or privileges.seccomp_mode() != 2:
            raise OSError(EPERM, "the filter is not active")
        if not mounts.is_readonly("/"):
            raise OSError(EPERM, "the root of all is writable", "/")
        _must_fail(
            "a file outside of the roots", lambda: os.close(os.open("/.agent-exec", os.O_CREAT, 0o600))
        )
        _must_fail("a socket to other processes", lambda: _socket.socket(_socket.AF_UNIX).close())
        for path, _, _ in self._roots:
            if mounts.is_readonly(path) is self._writable:
                raise OSError(EPERM, "the root is not as it should be", path)
        for path in self._protected:
            if not mounts.is_readonly(path):
                raise OSError(EPERM, "it is not protected", path)


def confine(spec: "Spec") -> Box:
    """Make a box of this process; return in its copy, as the first process of the box."""
    at = At(spec.get("fault", -1))
    roots = [(os.fsdecode(path), (device, inode)) for path, device, inode in spec["roots"]]
    private = _private(spec, [path for path, _ in roots])
    with at("namespaces"):
        if os.geteuid() == 0:
            os.setgroups([])
        namespaces.unshare_all(network=not spec["net"])
    _mount(spec, roots, private, at)
    with at("the network"):
        if not spec["net"]:
            namespaces.loopback_up()
    with at("its first process"):
        pid = os.fork()
        if pid:
            _wait(pid)
        privileges.die_with_parent(0)
    _restrict(spec, roots, private, at)
    with at("the self-check"):
        box = Box(spec, [*private, _SHARED_MEMORY], at)
        box.check_itself()
    os.chdir("/")
    return box


def _private(spec: "Spec", roots: "Sequence[str]") -> list[str]:
    """Give the folders that the box has for itself: not those in which a root would be lost."""
    if not spec["tmp_mb"]:
        return []
    return [
        folder
        for folder in _TEMPORARY
        if os.path.isdir(folder)
        and not os.path.islink(folder)
        and not any(folder == root or folder.startswith(f"{root}/") for root in roots)
    ]


def _mount(
    spec: "Spec", roots: "Sequence[tuple[str, tuple[int, int]]]", private: "Sequence[str]", at: At
) -> None:
    """Rebuild what is to be seen; the order is what makes it hold."""
    protected = [(os.fsdecode(path), (device, inode)) for path, device, inode in spec["protected"]]
    with at("a mount tree of its own"):
        mounts.make_private()
    with at("the roots"):
        trees = [(path, mounts.clone(path, identity=identity)) for path, identity in roots]
        hidden = [os.fsdecode(path) for path in spec["masks"]]
        for path in _ancestors([*hidden, *(path for path, _ in protected)], [path for path, _ in roots]):
            mounts.pin(path)
        sealed = [(path, mounts.clone(path, identity=identity)) for path, identity in protected]
    with at("everything read-only"):
        mounts.harden("/")
        mounts.seal("/")
    with at("a private /tmp"):
        for folder in private:
            mounts.tmpfs(folder, size=spec["tmp_mb"] << 20, inodes=max(1024, spec["tmp_mb"] << 8))
    with at("the roots"):
        for path, tree in trees:
            (mounts.harden if spec["writable"] else mounts.seal)(tree)
            if any(path.startswith(f"{folder}/") for folder in private):
                mounts.make_folder(path)
            mounts.attach(tree, path)
    with at("protected paths"):
        for path, tree in sealed:
            mounts.seal(tree)
            mounts.attach(tree, path)
    with at("a private /dev"):
        devices.private_devices(shared_memory=_SHARED_BYTES)
        _leave_devices()
    with at("masks"):
        wanted = [*mounts.SYSTEM_MASKS, *(os.fsdecode(path) for path in spec["masks"])]
        mounts.mask(path for path in wanted if os.path.lexists(path))


def _leave_devices() -> None:
    """Put the box's own null device in place of the machine's, which root could change through it."""
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for fd in (0, 1) if os.environ.get("AGENT_EXEC_HELPER_LOG") else (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _ancestors(protected: "Sequence[str]", roots: "Sequence[str]") -> list[str]:
    """Give the folders between a root and what is kept safe below it, outer ones first."""
    found: dict[str, None] = {}
    for path in protected:
        above: list[str] = []
        folder = os.path.dirname(path)
        while folder not in roots and any(folder.startswith(f"{root}/") for root in roots):
            above.append(folder)
            folder = os.path.dirname(folder)
        found |= dict.fromkeys(reversed(above))
    return sorted(found, key=lambda path: path.count("/"))


def _restrict(
    spec: "Spec", roots: "Sequence[tuple[str, tuple[int, int]]]", private: "Sequence[str]", at: At
) -> None:
    """Give up every right that the box does not need."""
    with at("a private /proc"):
        proc.private_proc()
    with at("limits"):
        processes = None
        try:
            if spec["procs"]:
                namespaces.limit_pids(spec["procs"])
        except OSError as error:
            if error.errno != ENOTSUP:
                raise
            processes = spec["procs"]
        namespaces.forbid_namespaces()
        proc.seal_proc()
        privileges.limit(
            cpu=spec["cpu"],
            memory=spec["memory"],
            file_size=spec["file"],
            files=spec["open_files"],
            processes=processes,
        )
    with at("Landlock"):
        rules = landlock.Ruleset()
        for path in [*(path for path, _ in roots if spec["writable"]), *private, _SHARED_MEMORY]:
            rules.allow_write(path)
        rules.allow_devices("/dev")
    with at("privileges"):
        privileges.forbid_dumps()
        privileges.drop_capabilities()
        privileges.forbid_new_privileges()
    with at("Landlock"):
        rules.restrict_self()
        rules.close()
    with at("seccomp"):
        seccomp.apply(seccomp.program(net="on" if spec["net"] else "loopback"))


def _wait(pid: int) -> None:
    """Be nothing but the parent of a box, and go when it goes."""
    _signal.set_wakeup_fd(-1)
    os.closerange(3, 1 << 20)  # also the pipes of a command that was asked for meanwhile
    try:
        os.waitpid(pid, 0)
    finally:
        os._exit(0)


def _must_fail(what: str, attempt: "Any") -> None:
    try:
        attempt()
    except OSError:
        return
    raise OSError(EIO, f"{what} was possible")


def _lines(path: str) -> int:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096).count(b"\n")
    finally:
        os.close(fd)


def _urgency() -> tuple[object, ...]:
    """Tell how this process is scheduled."""
    return os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), frozenset(os.sched_getaffinity(0))
