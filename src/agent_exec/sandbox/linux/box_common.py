"""A box as its first process has it, whichever backend made its walls: how it checks itself and cleans up."""

import fcntl
import os
import stat
from errno import EADDRINUSE, EIO, EPERM, ESTALE
from time import process_time, time_ns

from agent_exec.model.paths import below, inside
from agent_exec.sandbox.closing import Closing
from agent_exec.sandbox.linux import covers, landlock, mounts, privileges, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    import socket as _socket
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from agent_exec.sandbox.setup_steps import At

    Spec = dict[str, Any]
else:
    import _signal
    import _socket  # without the enums

PORT = 3128
"""Where a box listens for the ways out, on its loopback; elsewhere if another one does that shares it."""
_WAY_OUT = b"@127.0.0.1:%d"

SHARED_MEMORY = "/dev/shm"
SHARED_BYTES = 256 << 20

_TEMPORARY = ("/tmp", "/var/tmp")

_FEW_SIGNALS = 128
_GET_FLAGS = 0x80086601
_SIGNALS = tuple(_signal.valid_signals() - {_signal.SIGCHLD})

_MOST_LEFT = 1000
"""More than this is not taken away piece by piece: the box is given up."""
_DEEPEST = 8
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SETTLED_NS = 100_000_000
"""How long ago a change must be for the next to bear a later time: the clock of file systems ticks slowly."""


class Restricted:
    """A process that has restricted itself, and all it starts with it."""

    __slots__ = ("_at", "_limited", "_roots", "_spec", "_urgency", "listener", "port")

    def __init__(self, spec: "Spec", at: "At") -> None:
        self.listener = -1
        self.port = PORT
        self._at = at
        self._spec = spec
        self._limited = False
        self._urgency = _urgency()
        self._roots = [(os.fsdecode(path), device, inode) for path, device, inode in spec["roots"]]

    def variables(self, env: dict[bytes, bytes]) -> dict[bytes, bytes]:
        """Return the variables of a command, with the port at which this box listens for the ways out."""
        if self.port == PORT:
            return env
        usual, real = _WAY_OUT % PORT, _WAY_OUT % self.port
        proxies = [name for name in env if name.upper().endswith(b"_PROXY")]
        return env | {name: env[name].replace(usual, real) for name in proxies}

    def check(self) -> None:
        """Check that the roots are the same folders, and that protected paths are still protected."""
        with self._at("the check before a command"):
            if not self._limited:  # not before the first command: the helper may have to send descriptors
                privileges.limit_files(self._spec["open_files"], self._spec["procs"])
                self._limited = True
            self._check()

    def clean(self) -> bool:
        """Take away what a command has left; True if the box is as it was."""
        try:
            self._check()
        except OSError:
            return False
        # A command may slow down this process, and what this process starts inherits that.
        cpu = self._spec["cpu"]
        return _forget_signals() and _urgency() == self._urgency and (cpu is None or process_time() < cpu / 2)

    def check_itself(self) -> None:
        """Try from inside what must not work; raise if it does."""
        if any(value for name, value in privileges.capabilities().items() if name != "CapBnd"):
            raise OSError(EPERM, "capabilities are left")
        if not privileges.no_new_privs_set() or privileges.seccomp_mode() != 2:
            raise OSError(EPERM, "the filter is not active")
        must_fail("a socket to other processes", lambda: _socket.socket(_socket.AF_UNIX).close())
        self._check()

    def _check(self) -> None:
        for path, device, inode in self._roots:
            found = os.stat(path)
            if (found.st_dev, found.st_ino) != (device, inode):
                raise OSError(ESTALE, "the root is another folder now", path)


class Settled:
    """Folders that were as they should be, and need no look until they change.

    A folder is known by its identity and its time of change, which no command
    can set back. It is kept only if its next change must bear another time.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int, int]] = {}

    def holds(self, folder: str, found: os.stat_result) -> bool:
        """True if a folder has not changed since it was noted."""
        return self._known.get(folder) == (found.st_dev, found.st_ino, found.st_ctime_ns)

    def note(self, folder: str, found: os.stat_result) -> None:
        """Note that a folder is as it should be; `found` was asked for before that was checked."""
        if found.st_ctime_ns < time_ns() - _SETTLED_NS:
            self._known[folder] = found.st_dev, found.st_ino, found.st_ctime_ns


class Box(Restricted):
    """A box, as its first process has it."""

    __slots__ = ("_empty", "_hidden", "_looks", "_masks", "_private", "_protected")

    def __init__(self, spec: "Spec", private: "Sequence[str]", at: "At") -> None:
        super().__init__(spec, at)
        self._empty = Settled()  # private folders
        self._hidden = Settled()  # folders of what is hidden
        # What lies in a folder that is private now is hidden already.
        hidden = filter(os.path.lexists, [*map(os.fsdecode, spec["masks"]), *covers.tops(spec["view"])])
        self._masks: dict[str, list[tuple[str, int]]] = {}  # by their folders
        for path in hidden:
            self._masks.setdefault(os.path.dirname(path), []).append((path, os.stat(path).st_dev))
        self._protected = [(os.fsdecode(path), device, inode) for path, device, inode in spec["protected"]]
        # Only what is in memory, and so was empty when the box was made: never a disk.
        devices = {device for _, device, _ in self._roots} | {os.stat("/").st_dev}
        self._private = [(path, os.stat(path).st_dev) for path in private]
        self._looks = []
        for path in private:
            with Closing(os.open(path, _FOLDER)) as fd:
                self._looks.append(_look(fd))
        if any(device in devices for _, device in self._private):
            raise OSError(EIO, "a private folder is not private")

    def _check(self) -> None:
        super()._check()
        for path, _, _ in self._protected:
            if not mounts.is_readonly(path):
                raise OSError(EPERM, "it is no longer protected", path)
        for folder, masks in self._masks.items():
            found = os.stat(folder)
            if self._hidden.holds(folder, found):
                continue  # nothing in it was replaced, and so no mount has come off
            for path, device in masks:
                if os.stat(path).st_dev != device:
                    raise OSError(EPERM, "it is no longer hidden", path)
            self._hidden.note(folder, found)

    def clean(self) -> bool:
        """Take away what a command has left; True if the box is as it was."""
        if not self._spec["reuse"]:
            return True  # no other command is served
        room = _MOST_LEFT
        try:
            for (folder, device), look in zip(self._private, self._looks, strict=True):
                found = os.stat(folder, follow_symlinks=False)
                if self._empty.holds(folder, found):
                    continue
                if found.st_mode & 0o7777 != 0o1777:
                    os.chmod(folder, 0o1777)
                with Closing(os.open(folder, _FOLDER)) as fd:
                    left, stays = _empty(fd, device, room)
                    # Attributes such as the access that new files begin with, flags such as for backups.
                    now = _look(fd)
                    if now[:2] != look[:2]:
                        return False
                    if now[2] != look[2]:
                        os.utime(fd, ns=(look[2], look[2]))
                    elif left == room and not stays:
                        self._empty.note(folder, found)
                    room = left
        except (OSError, RecursionError):
            return False
        if any(_lines(f"/proc/sysvipc/{kind}") > 1 for kind in ("shm", "sem", "msg")):
            return False
        return super().clean()

    def check_itself(self) -> None:
        """Try from inside what must not work; raise if it does."""
        if not mounts.is_readonly("/"):
            raise OSError(EPERM, "the root of all is writable", "/")
        must_fail("a file outside of the roots", lambda: os.close(os.open("/.agent-exec", os.O_CREAT, 0o600)))
        for path, _, _ in self._roots:
            if mounts.is_readonly(path) is bool(self._spec["writable"]):
                raise OSError(EPERM, "the root is not as it should be", path)
        for path, device, inode in self._protected:
            found = os.lstat(path)
            if not mounts.is_readonly(path) or (found.st_dev, found.st_ino) != (device, inode):
                raise OSError(EPERM, "it is not protected", path)
        super().check_itself()


def finish(spec: "Spec", private: "Sequence[str]", at: "At") -> Box:
    """Give up every right that the box does not need; return it, if it holds what it promises."""
    listener, port = -1, PORT
    with at("the network"):
        if spec["listen"]:
            listener, port = _listen()
    with at("Landlock"):
        rules = landlock.Ruleset()
        roots = [os.fsdecode(path) for path, _, _ in spec["roots"]] if spec["writable"] else []
        for path in [*roots, *private, SHARED_MEMORY]:
            rules.allow_write(path)
        rules.allow_devices("/dev")
    restrict(rules, "on" if spec["net"] else "loopback", at)
    with at("the self-check"):
        box = Box(spec, [*private, SHARED_MEMORY], at)
        box.check_itself()
    box.listener, box.port = listener, port
    os.chdir("/")
    return box


def restrict(rules: landlock.Ruleset, net: str, at: "At") -> None:
    """Drop all privileges, and apply these rules and the filter irrevocably."""
    with at("privileges"):
        privileges.forbid_dumps()  # or commands could read its environment, and open its pipes
        privileges.drop_capabilities()
        privileges.forbid_new_privileges()
    with at("Landlock"):
        rules.restrict_self()
        rules.close()
    with at("seccomp"):
        seccomp.apply(seccomp.program(net=net))


def limit(spec: "Spec", processes: int | None) -> None:
    """Bound what each process of a box may use; their number only where that counts no others of the user."""
    privileges.limit(cpu=spec["cpu"], memory=spec["memory"], file_size=spec["file"], processes=processes)


def private_folders(spec: "Spec") -> list[str]:
    """Return the folders that the box has for itself: not those in which a root would be lost."""
    roots = [os.fsdecode(path) for path, _, _ in spec["roots"]]
    return [
        folder
        for folder in _TEMPORARY
        if spec["tmp_mb"]
        and os.path.isdir(folder)
        and not os.path.islink(folder)
        and not inside(folder, *roots)
    ]


def leave_devices() -> None:
    """Put the box's own null device in place of the machine's, which root could change through it."""
    with Closing(os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)) as null:
        for fd in (0, 1) if os.environ.get("AGENT_EXEC_HELPER_LOG") else (0, 1, 2):
            os.dup2(null, fd)


def pinned(spec: "Spec", masks: "Iterable[str]") -> list[str]:
    """Return the folders between a root and what is kept safe below it, outer ones first."""
    roots = [os.fsdecode(path) for path, _, _ in spec["roots"]]
    found: set[str] = set()
    for path in (*masks, *(os.fsdecode(path) for path, _, _ in spec["protected"])):
        folder = os.path.dirname(path)
        while folder not in roots and below(folder, roots):
            found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(found, key=lambda path: (path.count("/"), path))


def must_fail(what: str, attempt: "Callable[[], object]") -> None:
    """Try something that a box forbids; raise if it works."""
    try:
        attempt()
    except OSError:
        return
    raise OSError(EIO, f"{what} was possible")


def _listen() -> tuple[int, int]:
    """Listen where the proxy variables of the command lead to; return the descriptor and the port."""
    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        try:
            sock.bind(("127.0.0.1", PORT))
        except OSError as error:
            if error.errno != EADDRINUSE:
                raise
            sock.bind(("127.0.0.1", 0))
        sock.listen(128)
        port = sock.getsockname()[1]
        return sock.detach(), port
    finally:
        sock.close()


def _empty(fd: int, device: int, room: int, depth: int = 0) -> tuple[int, bool]:
    """Remove all in an open folder of this device, and never what is mounted there: the roots may be.

    Return for how many more there is room, and whether something had to stay
    because it leads to a mount. Nothing runs in the box meanwhile.
    """
    if os.fstat(fd).st_dev != device:
        return room, True
    with os.scandir(fd) as entries:
        found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    stays = False
    for name, facts in found:
        if facts.st_dev != device:
            stays = True
            continue
        room -= 1
        if room < 0 or depth > _DEEPEST:
            raise OSError(EIO, "too much is left")
        if not stat.S_ISDIR(facts.st_mode):
            os.unlink(name, dir_fd=fd)
            continue
        if facts.st_mode & 0o700 != 0o700:
            os.chmod(name, 0o700, dir_fd=fd)
        with Closing(os.open(name, _FOLDER, dir_fd=fd)) as inner:
            room, kept = _empty(inner, device, room, depth + 1)
        if kept:
            stays = True
        else:
            os.rmdir(name, dir_fd=fd)
    return room, stays


def _look(folder: int) -> tuple[object, int, int]:
    """Return what an open folder has beside its content: attributes, flags; and its time."""
    try:
        flags = int.from_bytes(fcntl.ioctl(folder, _GET_FLAGS, bytes(8)), "little")
    except OSError:  # not every kernel has flags in memory
        flags = 0
    return os.listxattr(folder), flags, os.fstat(folder).st_mtime_ns


def _lines(path: str) -> int:
    with Closing(os.open(path, os.O_RDONLY | os.O_CLOEXEC)) as fd:
        return os.read(fd, 4096).count(b"\n")


def _forget_signals() -> bool:
    """Forget what a command has sent to this process, which blocks it all; True if that was little."""
    return any(_signal.sigtimedwait(_SIGNALS, 0) is None for _ in range(_FEW_SIGNALS))


def _urgency() -> tuple[object, ...]:
    """Return how this process is scheduled."""
    return os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), frozenset(os.sched_getaffinity(0))
