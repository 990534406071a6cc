"""The output of a command on disk: written by its owner, and read by all others.

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
from time import monotonic, time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.model.choices import Stream

FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
NONBLOCK = getattr(os, "O_NONBLOCK", 0)
STREAMS: "tuple[Stream, Stream]" = ("stdout", "stderr")

_TAIL_PARTS = 4
_BLOCK = 1 << 20

_INDEX = "arrivals"
_OLDER_INDEX = "arrivals.older"
_ENTRY = 16
_RESOLUTION = 0.01
_LARGEST_INDEX = 32 << 20
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


class LogWriter:
    """One stream, written as it comes; what cannot be written is counted, and never stops the job."""

    __slots__ = ("_fd", "_folder", "_parts", "_room", "_step", "_stream", "lost", "total")

    def __init__(self, folder: str, stream: "Stream", quota: int) -> None:
        self._folder = folder
        self._stream = stream
        self._parts: list[list[int]] = []  # of the later parts: where each begins, and how much it holds
        self._step = quota // (2 * _TAIL_PARTS)
        self._fd = create(path(folder, stream))
        self._room = quota - _TAIL_PARTS * self._step if quota else -1
        self.total = 0
        """How many bytes have come."""
        self.lost = 0
        """How many of them the disk did not take."""

    def write(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        if self._fd >= 0 and (self._room < 0 or len(data) <= self._room):
            self._put(data)
            return
        view = memoryview(data)
        while view:
            if self._fd < 0 or self._room == 0:
                excess = len(view) - _TAIL_PARTS * self._step if self._step else 0
                if excess > 0:  # what would go again at once is not even written
                    self.total += excess
                    view = view[excess:]
                self._open_part()
            piece = view if self._room < 0 else view[: max(1, self._room)]
            self._put(piece)
            view = view[len(piece) :]

    def skip(self, size: int) -> None:
        """Leave a gap for bytes of the stream that are gone; they count as lost."""
        self._shut()
        self.total += size
        self.lost += size

    def _put(self, data: "bytes | memoryview") -> None:
        """Write into the part that is open; what fails is a gap before the next part."""
        size = len(data)
        done = 0
        if self._fd >= 0:
            try:
                while done < size:
                    done += os.write(self._fd, data[done:] if done else data)
            except OSError:
                self._shut()
        self.total += size
        self.lost += size - done
        if self._room > 0:
            self._room -= min(size, self._room)
        if self._parts:
            self._parts[-1][1] += done

    def _open_part(self) -> None:
        """Go on in a new part, which begins where we are; make room for it."""
        self._shut()
        if self._parts and not self._parts[-1][1]:
            self._drop(-1)  # the disk was full, and may still be
        while self._step and self._parts and self._tail + self._step > _TAIL_PARTS * self._step:
            self._drop(0)
        try:
            self._fd = create(self._part(self.total))
        except OSError:
            self._fd = -1
        else:
            self._parts.append([self.total, 0])
        self._room = self._step or -1

    @property
    def _tail(self) -> int:
        return sum(held for _, held in self._parts)

    def _drop(self, which: int) -> None:
        start, _ = self._parts.pop(which)
        try:
            os.unlink(self._part(start))
        except OSError:
            return

    def _part(self, offset: int) -> str:
        return f"{path(self._folder, self._stream)}.{offset}"

    def _shut(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Hold no file open any more, once no more comes; harmless when repeated."""
        self._shut()

    def sync(self) -> None:
        """Have what is kept on the disk, once no more comes."""
        if not self.total:
            return
        if self._parts and not self._parts[-1][1]:
            self._drop(-1)
        for name in (path(self._folder, self._stream), *(self._part(start) for start, _ in self._parts)):
            try:
                fd = open_to_read(name)
                os.fsync(fd)
                os.close(fd)
            except OSError:
                continue

    @property
    def abandoned(self) -> bool:
        """True if the job was taken away while we write."""
        return self._fd >= 0 and os.fstat(self._fd).st_nlink == 0


class Moved(LookupError):
    """A part has gone since we looked; look again."""


class Log:
    """One stream of a job as it stands at one moment."""

    __slots__ = ("_folder", "_parts", "_stream", "total")

    def __init__(self, folder: str, stream: "Stream") -> None:
        self._folder = folder
        self._stream = stream
        self._parts = _find_parts(folder, stream)
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


def _find_parts(folder: str, stream: str) -> "Sequence[tuple[int, int, str]]":
    """Return offset, size and path of each part, in order."""
    prefix = f"{stream}.log"
    found: list[tuple[int, int, str]] = []
    try:
        names = os.listdir(folder)
    except OSError:
        return found
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


class ArrivalWriter:
    """The supervisor's hand on the index."""

    __slots__ = ("_fd", "_folder", "_last", "_size", "_until")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._last = -1
        self._until = 0.0
        self._size = 0
        self._fd = self._open()

    def note(self, stream: "Stream", offset: int) -> None:
        """Note that output of a stream has come, which begins at this offset."""
        now = monotonic()
        which = stream == STREAMS[1]
        if which == self._last and now < self._until:
            return
        self._last = which
        self._until = now + _RESOLUTION
        if self._size >= _LARGEST_INDEX:
            self._turn_over()
        entry = round(time() * 1e6).to_bytes(8, "little") + (offset * 2 + which).to_bytes(8, "little")
        try:
            # A record that a full disk cuts in half would shift all that follow.
            if os.write(self._fd, entry) != _ENTRY:
                os.ftruncate(self._fd, self._size)
            else:
                self._size += _ENTRY
        except OSError:
            return  # the order is lost, the output is not

    def close(self) -> None:
        """Hold no file open any more, once no more comes."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _turn_over(self) -> None:
        """Keep the newer half: the index is never longer than twice its largest size."""
        try:
            os.replace(os.path.join(self._folder, _INDEX), os.path.join(self._folder, _OLDER_INDEX))
            os.close(self._fd)
            self._fd = self._open()
            self._size = 0
        except OSError:
            return

    def _open(self) -> int:
        """Open a new index; -1 where the disk has no room for one."""
        try:
            return create(os.path.join(self._folder, _INDEX))
        except OSError:
            return -1


def arrivals(folder: str, starts: "dict[str, int]") -> "list[tuple[float, Stream, int]]":
    """Return the records that cover these streams from these offsets on: moment, stream, offset; in order."""
    found: list[tuple[float, Stream, int]] = []
    wanted = dict(starts)
    for name in (_INDEX, _OLDER_INDEX):
        try:
            fd = open_to_read(os.path.join(folder, name))
        except OSError:
            continue
        try:
            end = os.fstat(fd).st_size // _ENTRY * _ENTRY
            while end > 0 and wanted:
                start = max(0, end - _INDEX_BLOCK)
                os.lseek(fd, start, os.SEEK_SET)
                data = os.read(fd, end - start)
                for place in range(len(data) // _ENTRY * _ENTRY - _ENTRY, -1, -_ENTRY):
                    moment = int.from_bytes(data[place : place + 8], "little") / 1e6
                    offset, which = divmod(int.from_bytes(data[place + 8 : place + _ENTRY], "little"), 2)
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
