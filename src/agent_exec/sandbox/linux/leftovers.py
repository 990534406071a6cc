"""Takes away what a command has left in the private folders of a box; and nothing else."""

import os
import stat
from errno import EIO

_MOST = 1000
"""More than this is not taken away piece by piece: the box is given up."""
_DEEPEST = 8
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Left:
    """Empties folders, up to a bound; used when nothing runs in the box, so that nobody can interfere."""

    __slots__ = ("_room",)

    def __init__(self) -> None:
        self._room = _MOST

    def empty(self, folder: str, device: int) -> None:
        """Remove all in a folder of this device, and never what is mounted there: the roots may be."""
        fd = os.open(folder, _FLAGS)
        try:
            self._empty(fd, device, 0)
        finally:
            os.close(fd)

    def _empty(self, fd: int, device: int, depth: int) -> bool:
        """Empty an open folder; tell whether something had to stay, because it leads to a mount."""
        if os.fstat(fd).st_dev != device:
            return True
        with os.scandir(fd) as entries:
            found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        stays = False
        for name, facts in found:
            if facts.st_dev != device:
                stays = True
                continue
            self._room -= 1
            if self._room < 0 or depth > _DEEPEST:
                raise OSError(EIO, "too much is left")
            if not stat.S_ISDIR(facts.st_mode):
                os.unlink(name, dir_fd=fd)
                continue
            if facts.st_mode & 0o700 != 0o700:
                os.chmod(name, 0o700, dir_fd=fd)
            inner = os.open(name, _FLAGS, dir_fd=fd)
            try:
                kept = self._empty(inner, device, depth + 1)
            finally:
                os.close(inner)
            if kept:
                stays = True
            else:
                os.rmdir(name, dir_fd=fd)
        return stays
