"""The output of a command, written to disk by its owner in the form that `stream` describes."""

import os
from time import monotonic, time

from agent_exec.logs.stream import ENTRY, INDEX, OLDER_INDEX, STREAMS, create, open_to_read, path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.choices import Stream

_TAIL_PARTS = 4
_RESOLUTION = 0.01
_LARGEST_INDEX = 32 << 20


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


class ArrivalWriter:
    """The index of arrivals, written as output comes."""

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
            if os.write(self._fd, entry) != ENTRY:
                os.ftruncate(self._fd, self._size)
            else:
                self._size += ENTRY
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
            os.replace(os.path.join(self._folder, INDEX), os.path.join(self._folder, OLDER_INDEX))
            os.close(self._fd)
            self._fd = self._open()
            self._size = 0
        except OSError:
            return

    def _open(self) -> int:
        """Open a new index; -1 where the disk has no room for one."""
        try:
            return create(os.path.join(self._folder, INDEX))
        except OSError:
            return -1
