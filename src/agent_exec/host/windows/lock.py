"""A lock on a file: held as long as its holder lives, free the moment it is gone."""

import os
from time import sleep

from agent_exec.host.windows import kernel
from agent_exec.host.windows.system import identify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.host.ports import Loop
    from agent_exec.model.identity import Identity

# A blocking request would not hear Ctrl-C.
_PAUSE = 0.02


class FileLock:
    """An exclusive lock on a file, which it creates.

    The system frees it when the holder ends, however it ends, and no process
    that the holder starts inherits it. The locked byte lies far beyond what
    a file holds, so that everyone can still read and write the file; but it
    cannot be deleted or renamed while it is held.
    """

    __slots__ = ("_fd", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1

    def acquire(self, *, wait: bool = False) -> bool:
        """Take the lock; False if another holds it and we are not to wait."""
        if self._fd >= 0:
            return True
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not kernel.lock(fd, exclusive=True):
                if not wait:
                    os.close(fd)
                    return False
                sleep(_PAUSE)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        return True

    def release(self) -> None:
        """Free the lock; the file stays. Harmless when repeated."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            # Closing alone frees it when the system finds the time.
            kernel.unlock(fd)
            os.close(fd)

    def sign(self) -> None:
        """Do nothing: each supervisor has its own Job Object, so no mark is needed."""

    def on_deletion(self, loop: "Loop", call: "Callable[[], object]") -> None:
        """Do nothing: a file that is held cannot be deleted here."""

    @property
    def fd(self) -> int:
        """Its descriptor; -1 if we do not hold it."""
        return self._fd

    @property
    def held(self) -> bool:
        """True if we hold it."""
        return self._fd >= 0


def is_locked(path: str) -> bool:
    """True if some process holds the lock on this file; False if there is no file."""
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        if not kernel.lock(fd, exclusive=False):
            return True
        kernel.unlock(fd)
    finally:
        os.close(fd)
    return False


def holder(path: str, pid: int) -> "Identity | None":
    """Return the identity of this pid, if a process holds the lock on this file; None if none does."""
    return identify(pid) if is_locked(path) else None
