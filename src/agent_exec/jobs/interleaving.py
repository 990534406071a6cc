"""In which order the output of both streams arrived, and when.

An index of fixed records: the moment in microseconds, and the offset in the
stream at which what arrived then begins, doubled, plus one for stderr. What
a stream brings within a hundredth of a second, with nothing of the other in
between, is one record; so the index stays small, and no byte is stored twice.
"""

import os
from time import monotonic, time

from agent_exec.logs.files import create, open_to_read
from agent_exec.logs.stream import STREAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.choices import Stream

ARRIVALS = "arrivals"
_OLDER = "arrivals.older"
_SIZE = 16
_RESOLUTION = 0.01
_LARGEST = 32 << 20
_BLOCK = 1 << 16


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
        if self._size >= _LARGEST:
            self._turn_over()
        entry = round(time() * 1e6).to_bytes(8, "little") + (offset * 2 + which).to_bytes(8, "little")
        try:
            # A record that a full disk cuts in half would shift all that follow.
            if os.write(self._fd, entry) != _SIZE:
                os.ftruncate(self._fd, self._size)
            else:
                self._size += _SIZE
        except OSError:
            return  # the order is lost, the output is not

    def _turn_over(self) -> None:
        """Keep the newer half: the index is never longer than twice its largest size."""
        try:
            os.replace(os.path.join(self._folder, ARRIVALS), os.path.join(self._folder, _OLDER))
            os.close(self._fd)
            self._fd = self._open()
            self._size = 0
        except OSError:
            return

    def _open(self) -> int:
        """Open a new index; -1 where the disk has no room for one."""
        try:
            return create(os.path.join(self._folder, ARRIVALS))
        except OSError:
            return -1


def since(folder: str, starts: "dict[str, int]") -> "list[tuple[float, Stream, int]]":
    """Return the records that cover these streams from these offsets on: moment, stream, offset; in order."""
    found: list[tuple[float, Stream, int]] = []
    wanted = dict(starts)
    for name in (ARRIVALS, _OLDER):
        try:
            fd = open_to_read(os.path.join(folder, name))
        except OSError:
            continue
        try:
            end = os.fstat(fd).st_size // _SIZE * _SIZE
            while end > 0 and wanted:
                start = max(0, end - _BLOCK)
                os.lseek(fd, start, os.SEEK_SET)
                data = os.read(fd, end - start)
                for place in range(len(data) // _SIZE * _SIZE - _SIZE, -1, -_SIZE):
                    moment = int.from_bytes(data[place : place + 8], "little") / 1e6
                    offset, which = divmod(int.from_bytes(data[place + 8 : place + _SIZE], "little"), 2)
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
