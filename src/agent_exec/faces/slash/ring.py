"""The last lines of two streams, taken apart only when they are looked at; for one thread at a time."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque

    from agent_exec.model.choices import Stream
else:
    from _collections import deque  # without the rest of its package


class _Block:
    """Whole lines of one stream, as they came in."""

    __slots__ = ("_lines", "count", "data", "stream")

    def __init__(self, stream: "Stream", data: bytes, count: int) -> None:
        self.stream: Stream = stream
        self.data = data
        self.count = count
        self._lines: list[bytes] | None = None

    @property
    def lines(self) -> list[bytes]:
        if self._lines is None:
            self._lines = self.data.split(b"\n")
            self._lines.pop()  # nothing comes after the last newline
        return self._lines

    def cut(self, place: int, count: int) -> None:
        """Forget what is before a place, which is so many lines."""
        self.data = self.data[place:]
        self.count -= count
        self._lines = None

    def after(self, count: int) -> int:
        """Give the place after so many lines, by the shorter way."""
        place = 0
        if count <= self.count - count:
            for _ in range(count):
                place = self.data.find(b"\n", place) + 1
            return place
        place = len(self.data) - 1
        for _ in range(self.count - count):
            place = self.data.rfind(b"\n", 0, place)
        return place + 1


class Ring:
    """At most so many lines, and so many bytes with their newlines; the oldest line is dropped first.

    One that is too long by itself is kept by its end. Lines are in the order
    in which they were completed, the unfinished one of each stream comes last.
    """

    __slots__ = ("_blocks", "_bytes", "_dropped", "_lines", "_max_bytes", "_max_lines", "_partial")

    def __init__(self, max_bytes: int, max_lines: int) -> None:
        self._max_bytes = max_bytes
        self._max_lines = max_lines
        self._blocks: deque[_Block] = deque()
        self._partial: dict[Stream, bytearray] = {}  # in the order in which they began
        self._bytes = 0
        self._lines = 0  # whole ones
        self._dropped = 0

    def feed(self, stream: "Stream", chunk: bytes) -> None:
        """Take the next bytes of a stream; there must be some."""
        self._bytes += len(chunk)
        end = chunk.rfind(b"\n") + 1
        partial = self._partial.get(stream)
        if not end:
            if partial is None:
                partial = self._partial[stream] = bytearray()
            partial += chunk
            if len(partial) > 2 * self._max_bytes:  # not each time, for that moves all that is kept
                self._shorten(partial, len(partial) - self._max_bytes)
            return
        count = chunk.count(b"\n")
        data = chunk if end == len(chunk) else chunk[:end]
        if partial is not None:
            data = bytes(partial) + data
            del self._partial[stream]
        if end < len(chunk):
            self._partial[stream] = bytearray(chunk[end:])
        self._lines += count
        self._blocks.append(_Block(stream, data, count))
        self._drop()

    def finish(self) -> None:
        """Take unfinished lines for finished ones."""
        for stream, partial in self._partial.items():
            self._blocks.append(_Block(stream, bytes(partial) + b"\n", 1))
            self._bytes += 1
            self._lines += 1
        self._partial.clear()
        self._drop()

    @property
    def bounds(self) -> "tuple[int, int]":
        """The number of the first line that is kept, and the one after the last; counted from 0."""
        self._settle()
        return self._dropped, self._dropped + self._lines + len(self._partial)

    def between(self, begin: int, end: int) -> "list[tuple[Stream, bytes]]":
        """Give the lines from one number up to another, both within the bounds."""
        found: list[tuple[Stream, bytes]] = []
        number = self._dropped
        for block in self._blocks:
            if number >= end:
                return found
            if number + block.count > begin:
                lines = block.lines[max(0, begin - number) : end - number]
                found += [(block.stream, line) for line in lines]
            number += block.count
        for stream, partial in self._partial.items():
            if begin <= number < end:
                found.append((stream, bytes(partial)))
            number += 1
        return found

    def _drop(self) -> None:
        """Forget the oldest blocks of which nothing is kept; the rest is left for whoever looks."""
        blocks = self._blocks
        while len(blocks) > 1 and (
            self._lines - blocks[0].count >= self._max_lines
            or self._bytes - len(blocks[0].data) >= self._max_bytes
        ):
            self._forget_block()

    def _forget_block(self) -> None:
        block = self._blocks.popleft()
        self._bytes -= len(block.data)
        self._lines -= block.count
        self._dropped += block.count

    def _settle(self) -> None:
        """Forget exactly what is too much."""
        while self._blocks:
            block = self._blocks[0]
            lines = self._lines + len(self._partial) - self._max_lines
            size = self._bytes - self._max_bytes
            if lines <= 0 and size <= 0:
                return
            last = len(self._blocks) == 1 and not self._partial
            if not last and (lines >= block.count or size >= len(block.data)):
                self._forget_block()
            else:
                self._cut(block, lines, size, last=last)
                if last:
                    return
        for partial in self._partial.values():
            self._shorten(partial, min(len(partial), self._bytes - self._max_bytes))

    def _cut(self, block: _Block, lines: int, size: int, *, last: bool) -> None:
        """Forget so many lines and bytes of the oldest block, rounded up to a line; of the last, not all."""
        place = block.after(lines) if lines > 0 else 0
        if size > place:
            place = block.data.find(b"\n", size - 1) + 1
        if last and place >= len(block.data):  # its last line is too long by itself
            place = max(block.data.rfind(b"\n", 0, -1) + 1, len(block.data) - self._max_bytes)
            lines = block.count - 1
        else:
            lines = block.data.count(b"\n", 0, place)
        block.cut(place, lines)
        self._bytes -= place
        self._lines -= lines
        self._dropped += lines
        if not block.count:
            self._blocks.popleft()

    def _shorten(self, partial: bytearray, over: int) -> None:
        """Forget the beginning of a line that is too long."""
        if over > 0:
            del partial[:over]
            self._bytes -= over
