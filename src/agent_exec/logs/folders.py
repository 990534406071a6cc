"""A caller's path becomes a file here and nowhere else: opened once, through folders that are held open.

A path is made real before (links resolved) and compared with what is allowed;
then it is opened name by name, and a name that became a link since then is an
error. What was opened is compared by device and inode with what is hidden, and
the descriptor is handed on: the path is not opened again. Where the system has
no descriptors of folders, plain paths are used.
"""

import errno
import os
import stat
import sys

from agent_exec.logs.stream import FLAGS, NONBLOCK
from agent_exec.model.errors import Interrupted
from agent_exec.model.paths import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_exec.model.cancel import Cancel

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | FLAGS
_LISTED = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | FLAGS
_HELD = os.open in os.supports_dir_fd
_NO_FOLLOW = os.link in os.supports_follow_symlinks
_BLOCK = 1 << 20
_CHUNK = 1 << 16


class HiddenPath(PermissionError):
    """What was opened is hidden, or lies in a folder that is."""


def open_file(path: str, hidden: "Sequence[str]" = ()) -> int:
    """Open a file by its real path for reading, without following a link; return the descriptor.

    Raise OSError for what is neither a regular file nor a device that can be
    read without waiting, and HiddenPath for a file that is, under whatever
    name, one of `hidden` or lies in one of these folders.
    """
    folders = Folders()
    try:
        fd, known = folders.open(path)
    finally:
        folders.close()
    if known & identities(hidden) or any(inside(path, one) for one in hidden):
        os.close(fd)
        raise HiddenPath(errno.EACCES, "it is hidden by the sandbox", path)
    return fd


def open_own_file(path: str, hidden: "Sequence[str] | None" = None) -> int:
    """Open a file that the user of this process names, for reading: links are followed.

    Only for paths that the user gave. With `hidden`, for a command that
    may not read these paths, it is none of them, as for `open_file`, or a
    pipe. Neither a pipe nor a terminal has us wait here.
    """
    fd = os.open(path, os.O_RDONLY | NONBLOCK | FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
    if hidden is None or stat.S_ISFIFO(os.fstat(fd).st_mode):
        return fd
    os.close(fd)  # it served to see that this is not a pipe
    return open_file(os.path.realpath(path), hidden)


def chunks(fd: int, cancel: "Cancel | None" = None) -> "Iterator[bytes]":
    """Yield what can be read from a descriptor, to its end; raise Interrupted once `cancel` is set."""
    from agent_exec.host import wait_to_read

    while True:
        if cancel is not None and not wait_to_read(fd, cancel):
            raise Interrupted("interrupted while the input was read; nothing was done")
        data = os.read(fd, _CHUNK)
        if not data:
            return
        yield data


def identities(paths: "Sequence[str]") -> "set[tuple[int, int]]":
    """Return device and inode of each path that exists; links are not followed."""
    found: set[tuple[int, int]] = set()
    for path in paths:
        try:
            found.add(_identity(os.lstat(path)))
        except OSError:
            continue
    return found


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

    def open(self, path: str) -> "tuple[int, set[tuple[int, int]]]":
        """Open a file or a device for reading; return it, and the identities of all on its path."""
        name, folder = self._place(path)
        fd = os.open(name, os.O_RDONLY | NONBLOCK | FLAGS, dir_fd=folder)
        try:
            state = os.fstat(fd)
            if not stat.S_ISCHR(state.st_mode) or os.isatty(fd):
                _regular(state, path)
            return fd, {_identity(state), *(_identity(os.fstat(held)) for held in self._held.values())}
        except BaseException:
            os.close(fd)
            raise

    def read(self, path: str) -> tuple[bytes, os.stat_result]:
        """Return a regular file's bytes and what it is; OSError for anything else."""
        name, folder = self._place(path)
        fd = os.open(name, os.O_RDONLY | NONBLOCK | FLAGS, dir_fd=folder)
        try:
            state = _regular(os.fstat(fd), path)
            blocks = []
            while block := os.read(fd, _BLOCK):
                blocks.append(block)
        finally:
            os.close(fd)
        return b"".join(blocks), state

    def writable(self, path: str) -> os.stat_result:
        """Return what a regular file is that may be written; OSError if it may not."""
        name, folder = self._place(path)
        fd = os.open(name, os.O_WRONLY | NONBLOCK | FLAGS, dir_fd=folder)
        try:
            return _regular(os.fstat(fd), path)
        finally:
            os.close(fd)

    def state(self, path: str) -> os.stat_result | None:
        """Return what has this name, a link itself; None if nothing has."""
        try:
            name, folder = self._place(path)
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def create(self, path: str, data: "Iterable[bytes]", like: os.stat_result | None) -> os.stat_result:
        """Make a new file, written to the disk; with the mode and the owner of another, if one is given."""
        name, folder = self._place(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS
        fd = os.open(name, flags, 0o666 if like is None else 0o600, dir_fd=folder)
        try:
            for piece in data:
                rest = memoryview(piece)
                while rest:
                    rest = rest[os.write(fd, rest) :]
            if like is not None:
                _assume(fd, like)
            os.fsync(fd)
            return os.fstat(fd)
        finally:
            os.close(fd)

    def entries(
        self, path: str, after: str = "", most: int | None = None
    ) -> "tuple[list[tuple[str, os.stat_result]], bool]":
        """Return names in a folder, each with what it is, a link itself; and whether there are more.

        They are sorted, come `after` a name, and are so many at the `most`.
        """
        held = self._folder(path)
        fd = None if held is None else os.open(os.curdir, _LISTED, dir_fd=held)
        try:
            names = sorted(name for name in os.listdir(path if fd is None else fd) if name > after)
            known = []
            for name in names[:most]:
                try:
                    where = os.path.join(path, name) if fd is None else name
                    known.append((name, os.stat(where, dir_fd=fd, follow_symlinks=False)))
                except FileNotFoundError:  # removed meanwhile
                    continue
            return known, most is not None and len(names) > most
        finally:
            if fd is not None:
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
        """Return the folder, and make what of it is missing."""
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
        except FileExistsError:  # another process was faster, and owns it
            self.made.pop()


def same(state: os.stat_result | None, other: os.stat_result | None) -> bool:
    """True if a file is the one it was, and has not been written."""
    if state is None or other is None:
        return state is other
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns) == (
        other.st_dev,
        other.st_ino,
        other.st_size,
        other.st_mtime_ns,
    )


def _identity(state: os.stat_result) -> tuple[int, int]:
    return state.st_dev, state.st_ino


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
