"""A box as its first process has it, whoever has put up its walls: how it checks itself, and cleans up."""

import fcntl
import os
from errno import EIO, EPERM, ESTALE
from time import process_time

from agent_exec.model.paths import below, inside
from agent_exec.sandbox.linux import covers, landlock, mounts, privileges, seccomp
from agent_exec.sandbox.linux.leftovers import Left

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    import socket as _socket
    from collections.abc import Callable, Sequence
    from typing import Any

    from agent_exec.sandbox.setup_steps import At

    Spec = dict[str, Any]
else:
    import _signal
    import _socket  # without the enums

PORT = 3128
"""Where a box listens for who wants to go out, on a loopback of its own."""

SHARED_MEMORY = "/dev/shm"
SHARED_BYTES = 256 << 20

_TEMPORARY = ("/tmp", "/var/tmp")

_FEW_SIGNALS = 128
_GET_FLAGS = 0x80086601
_SIGNALS = tuple(_signal.valid_signals() - {_signal.SIGCHLD})


class Restricted:
    """A process that has restricted itself, and all it starts with it."""

    __slots__ = ("_at", "_cpu", "_files", "_roots", "_urgency", "listener")

    def __init__(self, spec: "Spec", at: "At") -> None:
        self.listener = -1
        self._at = at
        self._cpu = spec["cpu"]
        self._files = Files(spec)
        self._urgency = urgency()
        self._roots = [(os.fsdecode(path), device, inode) for path, device, inode in spec["roots"]]

    def check(self) -> None:
        """Make sure that the roots are who they were, and that what is protected still is."""
        with self._at("the check before a command"):
            self._files.limit()
            self._check()

    def clean(self) -> bool:
        """Take away what a command has left; tell whether the box is as it was."""
        try:
            self._check()
        except OSError:
            return False
        # A command may slow down this process, and what this process starts inherits that.
        return (
            forget_signals()
            and urgency() == self._urgency
            and (self._cpu is None or process_time() < self._cpu / 2)
        )

    def _check(self) -> None:
        for path, device, inode in self._roots:
            found = os.stat(path)
            if (found.st_dev, found.st_ino) != (device, inode):
                raise OSError(ESTALE, "the root is another folder now", path)


class Box(Restricted):
    """A box, as its first process has it."""

    __slots__ = ("_looks", "_masks", "_private", "_protected", "_reuse", "_writable")

    def __init__(self, spec: "Spec", private: "Sequence[str]", at: "At") -> None:
        super().__init__(spec, at)
        # What lies in a folder that is private now is hidden already.
        hidden = filter(os.path.lexists, [*map(os.fsdecode, spec["masks"]), *covers.tops(spec["view"])])
        self._masks = [(path, os.stat(path).st_dev) for path in hidden]
        self._protected = [(os.fsdecode(path), device, inode) for path, device, inode in spec["protected"]]
        self._writable = bool(spec["writable"])
        self._reuse = bool(spec["reuse"])
        # Only what is in memory, and so was empty when the box was made: never a disk.
        devices = {device for _, device, _ in self._roots} | {os.stat("/").st_dev}
        self._private = [(path, os.stat(path).st_dev) for path in private]
        self._looks = [_look(path) for path in private]
        if any(device in devices for _, device in self._private):
            raise OSError(EIO, "a private folder is not private")

    def _check(self) -> None:
        super()._check()
        for path, _, _ in self._protected:
            if not mounts.is_readonly(path):
                raise OSError(EPERM, "it is no longer protected", path)
        for path, device in self._masks:
            if os.stat(path).st_dev != device:
                raise OSError(EPERM, "it is no longer hidden", path)

    def clean(self) -> bool:
        """Take away what a command has left; tell whether the box is as it was."""
        if not self._reuse:
            return True  # for nobody
        try:
            left = Left()
            for (folder, device), look in zip(self._private, self._looks, strict=True):
                os.chmod(folder, 0o1777)
                left.empty(folder, device)
                if not _restore(folder, look):
                    return False
        except (OSError, RecursionError):
            return False
        if any(_lines(f"/proc/sysvipc/{kind}") > 1 for kind in ("shm", "sem", "msg")):
            return False
        return super().clean()

    def check_itself(self) -> None:
        """Try from inside what must not work; raise if it does."""
        check_rights()
        if not mounts.is_readonly("/"):
            raise OSError(EPERM, "the root of all is writable", "/")
        must_fail("a file outside of the roots", lambda: os.close(os.open("/.agent-exec", os.O_CREAT, 0o600)))
        for path, _, _ in self._roots:
            if mounts.is_readonly(path) is self._writable:
                raise OSError(EPERM, "the root is not as it should be", path)
        for path, device, inode in self._protected:
            found = os.lstat(path)
            if not mounts.is_readonly(path) or (found.st_dev, found.st_ino) != (device, inode):
                raise OSError(EPERM, "it is not protected", path)
        self._check()


class Files:
    """Bounds the descriptors of commands, right before the first: the helper may have to send some."""

    __slots__ = ("_done", "_most", "_processes")

    def __init__(self, spec: "Spec") -> None:
        self._done = False
        self._most = spec["open_files"]
        self._processes = spec["procs"]

    def limit(self) -> None:
        """Set the limit, once."""
        if not self._done:
            privileges.limit_files(self._most, self._processes)
            self._done = True


def checked(spec: "Spec", private: "Sequence[str]", at: "At", listener: int) -> Box:
    """Return the box that this process is in, if it holds what it promises."""
    with at("the self-check"):
        box = Box(spec, [*private, SHARED_MEMORY], at)
        box.check_itself()
    box.listener = listener
    os.chdir("/")
    return box


def private_folders(spec: "Spec") -> list[str]:
    """Return the folders that the box has for itself: not those in which a root would be lost."""
    if not spec["tmp_mb"]:
        return []
    roots = [os.fsdecode(path) for path, _, _ in spec["roots"]]
    return [
        folder
        for folder in _TEMPORARY
        if os.path.isdir(folder)
        and not os.path.islink(folder)
        and not any(inside(folder, root) for root in roots)
    ]


def leave_devices() -> None:
    """Put the box's own null device in place of the machine's, which root could change through it."""
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for fd in (0, 1) if os.environ.get("AGENT_EXEC_HELPER_LOG") else (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def ancestors(protected: "Sequence[str]", roots: "Sequence[str]") -> list[str]:
    """Return the folders between a root and what is kept safe below it, outer ones first."""
    found: dict[str, None] = {}
    for path in protected:
        above: list[str] = []
        folder = os.path.dirname(path)
        while folder not in roots and below(folder, roots):
            above.append(folder)
            folder = os.path.dirname(folder)
        found |= dict.fromkeys(reversed(above))
    return sorted(found, key=lambda path: path.count("/"))


def give_up(spec: "Spec", private: "Sequence[str]", at: "At") -> int:
    """Give up every right that the box does not need; return the socket on which it listens, or -1."""
    listener = -1
    with at("the network"):
        if spec["listen"]:
            listener = _listen()
    with at("Landlock"):
        rules = landlock.Ruleset()
        roots = [os.fsdecode(path) for path, _, _ in spec["roots"]] if spec["writable"] else []
        for path in [*roots, *private, SHARED_MEMORY]:
            rules.allow_write(path)
        rules.allow_devices("/dev")
    restrict(rules, "on" if spec["net"] else "loopback", at)
    return listener


def restrict(rules: landlock.Ruleset, net: str, at: "At") -> None:
    """Have no privileges any more, and keep to these rules and to the filter, for ever."""
    with at("privileges"):
        privileges.forbid_dumps()  # or commands could read its environment, and open its pipes
        privileges.drop_capabilities()
        privileges.forbid_new_privileges()
    with at("Landlock"):
        rules.restrict_self()
        rules.close()
    with at("seccomp"):
        seccomp.apply(seccomp.program(net=net))


def _listen() -> int:
    """Listen where the command's programs are told to look for the way out."""
    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        sock.bind(("127.0.0.1", PORT))
        sock.listen(128)
        return sock.detach()
    finally:
        sock.close()


def check_rights() -> None:
    """Make sure that this process has no more rights than a box has; raise if it does."""
    if any(value for name, value in privileges.capabilities().items() if name != "CapBnd"):
        raise OSError(EPERM, "capabilities are left")
    if not privileges.no_new_privs_set() or privileges.seccomp_mode() != 2:
        raise OSError(EPERM, "the filter is not active")
    must_fail("a socket to other processes", lambda: _socket.socket(_socket.AF_UNIX).close())


def must_fail(what: str, attempt: "Callable[[], object]") -> None:
    """Try something that a box forbids; raise if it works."""
    try:
        attempt()
    except OSError:
        return
    raise OSError(EIO, f"{what} was possible")


def _look(folder: str) -> tuple[object, int, int]:
    """Return what a folder has beside its content: attributes, flags; and its time."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flags = int.from_bytes(fcntl.ioctl(fd, _GET_FLAGS, bytes(8)), "little")
    except OSError:  # not every kernel has flags in memory
        flags = 0
    finally:
        os.close(fd)
    return os.listxattr(folder), flags, os.stat(folder).st_mtime_ns


def _restore(folder: str, look: tuple[object, int, int]) -> bool:
    """Return a folder the time it had; tell whether all else is as it was."""
    # Attributes such as the access that what is made there begins with, flags such as that for backups.
    if _look(folder)[:2] != look[:2]:
        return False
    os.utime(folder, ns=(look[2], look[2]))
    return True


def _lines(path: str) -> int:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096).count(b"\n")
    finally:
        os.close(fd)


def limit(spec: "Spec", processes: int | None) -> None:
    """Bound what each process of a box may use; their number only where that counts no others of the user."""
    privileges.limit(cpu=spec["cpu"], memory=spec["memory"], file_size=spec["file"], processes=processes)


def forget_signals() -> bool:
    """Forget what a command has sent to this process, which blocks it all; tell whether that was little."""
    return any(_signal.sigtimedwait(_SIGNALS, 0) is None for _ in range(_FEW_SIGNALS))


def urgency() -> tuple[object, ...]:
    """Return how this process is scheduled."""
    return os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), frozenset(os.sched_getaffinity(0))
