"""A lock on a file: held as long as its holder lives, free the moment it is gone; and its holder.

The supervisor of a job is known by the lock that it holds and has signed,
never by its name, which any process can take.
"""

import errno
import fcntl
import os
import stat
import sys

from agent_exec.host.posix.system import boot_id, identify, parent_and_start, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from agent_exec.host.ports import Loop
    from agent_exec.model.identity import Identity

_SIGNED = b"agent-exec: held by the supervisor of this job\n"
_LONGEST = 4096
_CHANGED = 0x4
"""What inotify calls a change of what is known of a file, such as how many names it has."""


class FileLock:
    """An exclusive lock on a file, which it creates; a link in its place is refused.

    The kernel frees it when the holder ends, however it ends, and no process
    that the holder starts inherits it.
    """

    __slots__ = ("_fd", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1

    def acquire(self, *, wait: bool = False) -> bool:
        """Take the lock; False if another holds it and we are not to wait."""
        if self._fd >= 0:
            return True
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        return True

    def release(self) -> None:
        """Free the lock; the file stays. Harmless when repeated."""
        fd, self._fd = self._fd, -1  # first: an interrupt comes after the call, and it is not closed twice
        if fd >= 0:
            os.close(fd)

    def sign(self) -> None:
        """Sign the lock that we hold as a job's supervisor: keepers above us leave us alone."""
        os.write(self._fd, _SIGNED)
        _sign(self._fd)

    def on_deletion(self, loop: "Loop", call: "Callable[[], object]") -> None:
        """Call once, from inside the loop, when the file is deleted; where the system tells (Linux)."""
        from agent_exec.host.posix.descriptors import READ

        watch = inotify(_CHANGED, os.fsencode(self.path))

        def ready(_events: int) -> None:
            os.read(watch, _LONGEST)
            if os.fstat(self._fd).st_nlink == 0:
                loop.unwatch(watch)
                os.close(watch)
                call()

        if watch >= 0:
            loop.watch(watch, READ, ready)

    @property
    def fd(self) -> int:
        """Its descriptor, for a helper that is to hold it too; -1 if we do not hold it."""
        return self._fd

    @property
    def held(self) -> bool:
        """True if we hold it."""
        return self._fd >= 0


def inotify(events: int, *paths: bytes) -> int:
    """Return a descriptor that is readable once one of these happens to a file; -1 if that cannot be had."""
    if sys.platform != "linux":
        return -1
    import _ctypes  # the bare binding: the package around it costs a third of an interpreter start

    library = _ctypes.dlopen("", 0)
    init = _ctypes.dlsym(library, "inotify_init1")
    fd: int = _ctypes.call_cdeclfunction(init, (os.O_CLOEXEC | os.O_NONBLOCK,))
    add = _ctypes.dlsym(library, "inotify_add_watch")
    if fd >= 0 and any(_ctypes.call_cdeclfunction(add, (fd, path, events)) < 0 for path in paths):
        os.close(fd)
        return -1
    return fd


def share(fd: int) -> None:
    """Hold and sign a lock beside the supervisor that has sent us its descriptor, for as long as we live."""
    try:
        # The kernel names the process that took a lock: here the supervisor. So we take one of another kind.
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pass  # a file system where both kinds are one
    _sign(fd)


def _sign(fd: int) -> None:
    if sys.platform == "linux":
        os.write(fd, _signature(os.getpid()))


def _signature(pid: int) -> bytes:
    return f"{pid} {parent_and_start(pid)[1]} {boot_id()}\n".encode()


def supervisors(pids: "Collection[int]") -> set[int]:
    """Return those of some processes that supervise a job: each holds a lock that it has signed."""
    holders = _holders().intersection(pids) if pids else ()
    return {pid for pid in holders if any(_is_signed(path, pid) for path in _locked(pid))}


def signers(path: str) -> list[int]:
    """Return the living processes that have signed a job's lock: its owners."""
    try:
        lines = read(path).splitlines(keepends=True)
    except OSError:
        return []
    found: list[int] = []
    for line in lines[1:]:
        pid = line.partition(b" ")[0]
        try:
            if pid.isdigit() and _signature(int(pid)) == line:
                found.append(int(pid))
        except OSError:
            continue  # it is gone
    return found


def holder(path: str, pid: int) -> "Identity | None":
    """Return the identity of this pid, if that process holds the lock on this file; None if it does not."""
    identity = identify(pid)
    if sys.platform != "linux":
        return identity if is_locked(path) else None
    if identity is None or not any(_is_file(path, found) for found in _locked(pid)):
        return None
    return identity if identify(pid) == identity else None


def _holders() -> set[int]:
    """Return every process that the kernel knows to have taken a lock to write (Linux)."""
    try:
        lines = read("/proc/locks").splitlines()
    except OSError:
        return set()
    return {int(words[4]) for words in map(bytes.split, lines) if len(words) == 8 and words[3] == b"WRITE"}


def _locked(pid: int) -> "Iterator[str]":
    """Return paths to the open files of a process on which it holds a lock to write."""
    try:
        numbers = os.listdir(f"/proc/{pid}/fdinfo")
    except OSError:
        return  # gone, or another user's
    for number in numbers:
        try:
            lines = read(f"/proc/{pid}/fdinfo/{number}").splitlines()
        except OSError:
            continue
        if any(line.startswith(b"lock:") and b" WRITE " in line for line in lines):
            yield f"/proc/{pid}/fd/{number}"


def _is_file(path: str, opened: str) -> bool:
    """True if a path, which is not a link, names the file behind a descriptor."""
    try:
        return os.path.samestat(os.lstat(path), os.stat(opened))
    except OSError:
        return False


def _is_signed(path: str, pid: int) -> bool:
    """True if a file is a job's lock that this process has signed."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return False
        told = os.pread(fd, _LONGEST, 0)
        return told.startswith(_SIGNED) and _signature(pid) in told.splitlines(keepends=True)
    except OSError:
        return False
    finally:
        os.close(fd)


def is_locked(path: str) -> bool:
    """True if some process holds the lock on this file; False if there is no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            return False
        raise
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
