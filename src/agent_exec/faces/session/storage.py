"""Where sessions keep output that memory does not hold: a folder of this server's own, gone when it is."""

import os
import shutil
import tempfile

from agent_exec.host import FileLock, is_locked
from agent_exec.model.errors import StoreFailed

_LOCK = "lock"


class Storage:
    """A folder for as long as this process lives; those of processes that are gone are taken away."""

    __slots__ = ("_lock", "folder")

    def __init__(self, above: str | None = None) -> None:
        root = above or os.path.join(tempfile.gettempdir(), f"agent-exec-sessions-{_user()}")
        try:
            os.makedirs(root, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreFailed(f"the folder {root!r} cannot be made: {error.strerror}", path=root) from None
        _check(root)
        _sweep(root)
        self.folder = tempfile.mkdtemp(prefix="server-", dir=root)
        self._lock = FileLock(os.path.join(self.folder, _LOCK))
        self._lock.acquire()

    def close(self) -> None:
        """Take the folder away; harmless when repeated."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.release()


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else "me"


def _check(root: str) -> None:
    """Make sure that the folder is ours alone: others may have made one of this name first."""
    found = os.lstat(root)
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
        raise StoreFailed(f"the folder {root!r} is not ours alone; take it away, or set TMPDIR", path=root)


def _sweep(root: str) -> None:
    """Take away what servers have left that were killed."""
    for name in os.listdir(root):
        lock = os.path.join(root, name, _LOCK)
        if name.startswith("server-") and os.path.exists(lock) and not is_locked(lock):
            shutil.rmtree(os.path.join(root, name), ignore_errors=True)
