"""Where sessions keep output that memory does not hold: a folder of this server's own, gone when it is."""

import os
import shutil
import tempfile

from agent_exec.host import FileLock, is_locked
from agent_exec.model.errors import StoreFailed
from agent_exec.places import is_private, make_folder, sessions_folder

_LOCK = "lock"
_NAME = "server-"
_ROUNDS = 10


class Storage:
    """A folder for as long as this process lives; those of processes that are gone are removed.

    It is one of many in the folder `above`. The holder of the lock in it may remove it: its server,
    or another that finds the lock free.
    """

    __slots__ = ("_lock", "above", "folder")

    def __init__(self, above: str | None = None) -> None:
        self.above = above or sessions_folder()
        try:
            make_folder(self.above)
        except OSError as error:
            raise StoreFailed(
                f"the folder {self.above!r} cannot be made: {error.strerror}", path=self.above
            ) from None
        _check(self.above)
        _sweep(self.above)
        self.folder, self._lock = _make(self.above)

    def close(self) -> None:
        """Remove the folder; harmless when repeated."""
        for _ in range(_ROUNDS):  # a server that sweeps it just now puts a lock there once more
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.lexists(self.folder):
                break
        self._lock.release()


def _check(root: str) -> None:
    """Make sure that the folder is ours alone: others may have made one of this name first."""
    if not is_private(root):
        raise StoreFailed(f"the folder {root!r} is not ours alone; take it away, or set TMPDIR", path=root)


def _make(root: str) -> tuple[str, FileLock]:
    """Return a new folder whose lock we hold; retry if another server sweeps it away first."""
    while True:
        folder = tempfile.mkdtemp(prefix=_NAME, dir=root)
        lock = FileLock(os.path.join(folder, _LOCK))
        try:
            lock.acquire(wait=True)
        except FileNotFoundError:
            continue
        if is_locked(lock.path):  # and so it is still there
            return folder, lock
        lock.release()


def _sweep(root: str) -> None:
    """Remove what killed servers have left."""
    for name in os.listdir(root):
        folder = os.path.join(root, name)
        lock = FileLock(os.path.join(folder, _LOCK))
        try:
            if not name.startswith(_NAME) or not lock.acquire():
                continue
        except OSError:  # another server has removed it
            continue
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()
        if os.name == "nt":  # which keeps files that are open; elsewhere, it may be another's by now
            shutil.rmtree(folder, ignore_errors=True)
