"""The output of a command on disk, as all others than its owner read it.

A stream is kept in parts. The first, `stdout.log`, holds its beginning; when
that has grown to half the quota, parts of an eighth follow, each named after
the offset at which it begins, and the oldest of these goes when there are
more than fit. So the first and the newest output are kept, the disk use is
bounded, and every offset stays true. What a full disk does not take is a gap
between parts.

In which order both streams arrived is in an index of fixed records: the moment
in microseconds, and the offset in the stream at which the output begins,
doubled, plus one for stderr. Output of one stream within a hundredth of a
second, with nothing of the other in between, is one record.
"""

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.model.choices import Stream

FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
NONBLOCK = getattr(os, "O_NONBLOCK", 0)
STREAMS: "tuple[Stream, Stream]" = ("stdout", "stderr")

_BLOCK = 1 << 20

INDEX = "arrivals"
OLDER_INDEX = "arrivals.older"
ENTRY = 16
_INDEX_BLOCK = 1 << 16


def open_to_read(path: str) -> int:
    """Open a regular file for reading, without following a link or waiting; raise OSError for others."""
    fd = os.open(path, os.O_RDONLY | NONBLOCK | FLAGS)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    return fd


def create(path: str) -> int:
    """Make a new file for writing, for us alone."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o600)


def reopen(path: str) -> int:
    """Open one of our own files again, for reading and writing."""
    return os.open(path, os.O_RDWR | FLAGS)


def path(folder: str, stream: str) -> str:
    """Return the path of a stream's first part."""
    return os.path.join(folder, f"{stream}.log")


class Moved(LookupError):
    """A part has gone since we looked; look again."""


class Log:
    """One stream of a job as it stands at one moment."""

    __slots__ = ("_parts", "total")

    def __init__(self, folder: str, stream: "Stream", names: "Sequence[str] | None" = None) -> None:
        self._parts = _find_parts(folder, stream, names_in(folder) if names is None else names)
        self.total = max((start + size for start, size, _ in self._parts), default=0)
        """Where the kept output ends: how many bytes have come, unless the disk did not take the last."""

    @property
    def kept(self) -> int:
        """How many bytes are on disk."""
        return sum(size for _, size, _ in self._parts)

    @property
    def modified(self) -> float:
        """When the last output came; 0 if none is there."""
        if not self._parts:
            return 0.0
        try:
            return os.stat(self._parts[-1][2]).st_mtime
        except OSError:
            return 0.0

    def piece(self, offset: int) -> tuple[int, int]:
        """Return what is kept without a gap from an offset on, or else the next such piece after it."""
        for begin, end in self.pieces:
            if offset < end:
                return max(begin, offset), end
        return self.total, self.total

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """Return the ranges that are kept without a gap, in order."""
        found: list[tuple[int, int]] = []
        for start, size, _ in self._parts:
            if found and found[-1][1] == start:
                found[-1] = (found[-1][0], start + size)
            elif size:
                found.append((start, start + size))
        return found

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes of a range that is there in one piece."""
        found: list[bytes] = []
        for begin, size, name in self._parts:
            if begin + size <= start or begin >= end:
                continue
            found.append(_read(name, max(start, begin) - begin, min(end, begin + size) - begin))
        data = b"".join(found)
        if len(data) != end - start:
            raise Moved(start, end)
        return data


def names_in(folder: str) -> list[str]:
    """Return the names of what is in a folder, in which a Log finds its parts; none if it is gone."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _find_parts(folder: str, stream: str, names: "Sequence[str]") -> "Sequence[tuple[int, int, str]]":
    """Return offset, size and path of each part, in order."""
    prefix = f"{stream}.log"
    found: list[tuple[int, int, str]] = []
    for name in names:
        rest = name[len(prefix) :] if name.startswith(prefix) else "no"
        if rest and not (rest[0] == "." and rest[1:].isdecimal()):
            continue
        file = os.path.join(folder, name)
        try:
            status = os.lstat(file)
        except OSError:
            continue  # the oldest part has just gone
        if stat.S_ISREG(status.st_mode):
            found.append((int(rest[1:] or 0), status.st_size, file))
    found.sort()
    return found


def _read(name: str, start: int, end: int) -> bytes:
    """Read a range of a file; short if the file has gone or shrunk."""
    try:
        fd = open_to_read(name)
    except OSError:
        return b""
    try:
        os.lseek(fd, start, os.SEEK_SET)
        pieces: list[bytes] = []
        while start < end:
            data = os.read(fd, min(_BLOCK, end - start))
            if not data:
                break
            pieces.append(data)
            start += len(data)
        return b"".join(pieces)
    finally:
        os.close(fd)


def arrivals(folder: str, starts: "dict[str, int]") -> "list[tuple[float, Stream, int]]":
    """Return the records that cover these streams from these offsets on: moment, stream, offset; in order."""
    found: list[tuple[float, Stream, int]] = []
    wanted = dict(starts)
    for name in (INDEX, OLDER_INDEX):
        try:
            fd = open_to_read(os.path.join(folder, name))
        except OSError:
            continue
        try:
            end = os.fstat(fd).st_size // ENTRY * ENTRY
            while end > 0 and wanted:
                start = max(0, end - _INDEX_BLOCK)
                os.lseek(fd, start, os.SEEK_SET)
                data = os.read(fd, end - start)
                for place in range(len(data) // ENTRY * ENTRY - ENTRY, -1, -ENTRY):
                    moment = int.from_bytes(data[place : place + 8], "little") / 1e6
                    offset, which = divmod(int.from_bytes(data[place + 8 : place + ENTRY], "little"), 2)
                    stream = STREAMS[which]
                    if stream not in wanted:
                        continue  # all of it is covered, or none of it was asked for
                    found.append((moment, stream, offset))
                    if offset <= wanted[stream]:
                        del wanted[stream]
                        if not wanted:
                            break
                end = start
        finally:
            os.close(fd)
    found.reverse()
    return found
