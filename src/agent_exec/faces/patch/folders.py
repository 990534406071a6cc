"""Files reached through folders that are held open: no link in a real path is ever followed.

A path is made real before (links resolved); what became a link since then is
an error. Where the system knows no descriptors of folders, plain paths do.
"""

import errno
import os
import stat
import sys

_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _FLAGS
_HELD = os.open in os.supports_dir_fd
_NO_FOLLOW = os.link in os.supports_follow_symlinks
_BLOCK = 1 << 20


class Folders:
    """The folders that were opened; every path given is real and absolute.

    With `make`, folders that are missing are made, and noted in `made`, the
    outer before the inner; an interrupt may leave one there that is not made.
    """

    def __init__(self, make: bool = False) -> None:
        self.make = make
        self.made: list[str] = []
        self._held: dict[str, int] = {}

    def close(self) -> None:
        """Let go of all folders."""
        while self._held:
            os.close(self._held.popitem()[1])

    def read(self, path: str) -> tuple[bytes, os.stat_result]:
        """Give a regular file's bytes and what it is; OSError for anything else."""
        name, folder = self._place(path)
        fd = os.open(name, os.O_RDONLY | _NONBLOCK | _FLAGS, dir_fd=folder)
        try:
            state = _regular(os.fstat(fd), path)
            blocks = []
            while block := os.read(fd, _BLOCK):
                blocks.append(block)
        finally:
            os.close(fd)
        return b"".join(blocks), state

    def writable(self, path: str) -> os.stat_result:
        """Give what a regular file is that may be written; OSError if it may not."""
        name, folder = self._place(path)
        fd = os.open(name, os.O_WRONLY | _NONBLOCK | _FLAGS, dir_fd=folder)
        try:
            return _regular(os.fstat(fd), path)
        finally:
            os.close(fd)

    def state(self, path: str) -> os.stat_result | None:
        """Give what has this name, a link itself; None if nothing has."""
        try:
            name, folder = self._place(path)
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def create(self, path: str, data: bytes, like: os.stat_result | None) -> os.stat_result:
        """Make a new file, written to the disk; with the mode and the owner of another, if one is given."""
        name, folder = self._place(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
        fd = os.open(name, flags, 0o666 if like is None else 0o600, dir_fd=folder)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if like is not None:
                _assume(fd, like)
            os.fsync(fd)
            return os.fstat(fd)
        finally:
            os.close(fd)

    def link(self, path: str, other: str) -> None:
        """Give a file a second name, in the same folder."""
        name, folder = self._place(path)
        second, _ = self._place(other)
        if _NO_FOLLOW:
            os.link(name, second, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        else:
            os.link(name, second, src_dir_fd=folder, dst_dir_fd=folder)

    def rename(self, path: str, other: str) -> None:
        """Give a file another name in the same folder, which nothing else has afterwards."""
        name, folder = self._place(path)
        second, _ = self._place(other)
        os.replace(name, second, src_dir_fd=folder, dst_dir_fd=folder)

    def unlink(self, path: str) -> None:
        """Take a name away."""
        name, folder = self._place(path)
        os.unlink(name, dir_fd=folder)

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        held = self._held.pop(path, None)
        if held is not None:
            os.close(held)
        name, folder = self._place(path)
        os.rmdir(name, dir_fd=folder)

    def _place(self, path: str) -> tuple[str, int | None]:
        parent, name = os.path.split(path)
        folder = self._folder(parent)
        return (path, None) if folder is None else (name or os.curdir, folder)

    def _folder(self, path: str) -> int | None:
        """Give the folder, and make what of it is missing."""
        if path in self._held:
            return self._held[path]
        parent, name = os.path.split(path)
        above = self._folder(parent) if name else None
        if not _HELD:
            if self.make and not os.path.lexists(path):
                self._make(path, path, None)
            return None
        try:
            held = os.open(name or path, _FOLDER, dir_fd=above)
        except FileNotFoundError:
            if not self.make:
                raise
            self._make(path, name, above)
            held = os.open(name, _FOLDER, dir_fd=above)
        self._held[path] = held
        return held

    def _make(self, path: str, name: str, above: int | None) -> None:
        self.made.append(path)
        try:
            os.mkdir(name, dir_fd=above)
        except FileExistsError:  # somebody was faster, and it is his
            self.made.pop()


def same(state: os.stat_result | None, other: os.stat_result | None) -> bool:
    """Tell whether a file is the one it was, and has not been written."""
    if state is None or other is None:
        return state is other
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns) == (
        other.st_dev,
        other.st_ino,
        other.st_size,
        other.st_mtime_ns,
    )


def _regular(state: os.stat_result, path: str) -> os.stat_result:
    if stat.S_ISREG(state.st_mode):
        return state
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def _assume(fd: int, like: os.stat_result) -> None:
    """Give a file the owner of another if we may, and its mode."""
    if sys.platform == "win32":
        return
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(fd, like.st_uid, like.st_gid)
        except PermissionError:
            pass  # only root gives files away
    os.fchmod(fd, stat.S_IMODE(like.st_mode))
