"""The last lines of one stream, or of two in order, taken apart only when they are read."""

from agent_exec.model.output import JOINED, MIB, SMALL, Keep, bound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque

    from agent_exec.model.choices import Stream
else:
    from _collections import deque  # without the rest of its package


class _Block:
    """Whole lines of one stream: `head` and `data` up to `end`. Joined ones are a bytearray, and may grow."""

    __slots__ = ("_lines", "count", "data", "end", "head", "stream")

    def __init__(self, stream: "Stream", head: bytes, data: bytes | bytearray, end: int, count: int) -> None:
        self.stream: Stream = stream
        self.head = head
        self.data = data
        self.end = end
        self.count = count
        self._lines: list[bytes] | None = None

    @property
    def size(self) -> int:
        return len(self.head) + self.end

    @property
    def text(self) -> bytes:
        if isinstance(self.data, bytearray):  # of which a view would forbid another thread to add
            return bytes(self.data)
        return b"".join((self.head, memoryview(self.data)[: self.end]))

    @property
    def lines(self) -> list[bytes]:
        if self._lines is None:
            self._lines = self.text.split(b"\n")
            self._lines.pop()  # nothing comes after the last newline
        return self._lines

    def join(self, head: bytes, data: bytes, count: int) -> bool:
        """Add more lines; False if it is large enough."""
        if not isinstance(self.data, bytearray) or self.end >= JOINED:
            return False
        self.data += head
        self.data += data
        self.end = len(self.data)
        self.count += count
        self._lines = None
        return True

    def cut(self, lines: int, size: int, last: int) -> tuple[int, int]:
        """Forget so many lines, and so many bytes rounded up to a line; return how many were forgotten.

        If that is all, and `last` is not 0, the last line stays, by its last so many bytes.
        """
        text = self.text
        place = 0
        if lines > 0:
            place = len(text) - sum(map(len, self.lines[lines:])) - (self.count - lines)
        if size > place:
            place = text.find(b"\n", size - 1) + 1
        if last and place >= len(text):
            place = max(text.rfind(b"\n", 0, -1) + 1, len(text) - last)
        count = text.count(b"\n", 0, place)
        self.head, self.data, self.end = b"", text[place:], len(text) - place
        self.count -= count
        self._lines = None
        return count, place


class Lines(Keep):
    """Keeps the last `lines` lines within the last `size` bytes, oldest line dropped first.

    Two streams may be kept together: their lines are in the order of their
    ends, the unfinished one of each comes last. A single line longer than
    `size` is kept by its end. Any thread may call `value`; all else is for one
    thread at a time.
    """

    __slots__ = (
        "_blocks",
        "_dropped",
        "_newlines",
        "_partial",
        "_size",
        "lines",
        "newlines_observed",
        "size",
    )

    def __init__(self, lines: int = 4000, size: int = 2 * MIB) -> None:
        super().__init__()
        self.lines = bound("lines", lines)
        self.size = bound("size", size)
        self.newlines_observed = 0
        self._blocks: deque[_Block] = deque()
        self._partial: dict[Stream, bytearray] = {}  # unfinished lines, in the order in which they began
        self._size = 0
        self._newlines = 0
        self._dropped = 0

    def fresh(self) -> "Lines":
        """Return an empty keeping with the same limits."""
        return Lines(self.lines, self.size)

    def feed(self, chunk: bytes, stream: "Stream" = "stdout") -> None:
        """Take the next bytes of a stream."""
        self.observed += len(chunk)
        self._size += len(chunk)
        end = chunk.rfind(b"\n") + 1
        partial = self._partial.get(stream)
        if not end:
            if partial is None:
                partial = self._partial[stream] = bytearray()
            partial += chunk
            if len(partial) > 5 * self.size // 4:  # not each time: that moves all that is kept
                self._shorten(partial, len(partial) - self.size)
            return
        count = chunk.count(b"\n")
        self.newlines_observed += count
        self._newlines += count
        head = b"" if partial is None else bytes(partial)
        blocks = self._blocks
        if len(chunk) >= SMALL:
            blocks.append(_Block(stream, head, chunk, end, count))
        elif not (blocks and blocks[-1].stream == stream and blocks[-1].join(head, chunk[:end], count)):
            joined = bytearray(head + chunk[:end])
            blocks.append(_Block(stream, b"", joined, len(joined), count))
        if partial is not None:
            del self._partial[stream]
        if end < len(chunk):
            self._partial[stream] = bytearray(chunk[end:])
        while len(blocks) > 1 and (
            self._newlines - blocks[0].count >= self.lines or self._size - blocks[0].size >= self.size
        ):
            self._drop()

    def finish(self) -> None:
        """End the unfinished lines."""
        for stream in list(self._partial):
            self.feed(b"\n", stream)

    def value(self) -> bytes:
        """Return the kept lines; whole ones, but for a first line that is too long by itself."""
        blocks = list(self._blocks)  # a copy: another thread may feed
        kept = b"".join([*(block.text for block in blocks), *map(bytes, list(self._partial.values()))])
        # Looked for by position: a slice of what may be megabytes is made once, at the end.
        start = max(0, len(kept) - self.size)
        if start and kept[start - 1 : start] != b"\n":
            newline = kept.find(b"\n", start)
            if 0 <= newline < len(kept) - 1:
                start = newline + 1
        end = len(kept) - 1 if kept.endswith(b"\n") else len(kept)
        for _ in range(self.lines):
            end = kept.rfind(b"\n", start, end)
            if end < 0:
                return kept[start:]
        return kept[end + 1 :]

    def of(self, stream: "Stream") -> bytes:
        """Return what is kept of one of the streams."""
        self._trim()
        found = [block.text for block in self._blocks if block.stream == stream]
        return b"".join([*found, bytes(self._partial.get(stream, b""))])

    @property
    def overflowed(self) -> bool:
        """True if something observed was not kept."""
        lines = self._newlines + len(self._partial)
        return self.observed > self._size or self._size > self.size or lines > self.lines

    @property
    def bounds(self) -> "tuple[int, int]":
        """The number of the first line that is kept, and the one after the last; counted from 0."""
        self._trim()
        return self._dropped, self._dropped + self._newlines + len(self._partial)

    def between(self, begin: int, end: int) -> "list[tuple[Stream, bytes]]":
        """Return the lines from one number up to another, both within the bounds."""
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
        """Forget the oldest block."""
        block = self._blocks.popleft()
        self._forget(block.count, block.size)

    def _trim(self) -> None:
        """Forget exactly what is too much."""
        while self._blocks:
            block = self._blocks[0]
            lines = self._newlines + len(self._partial) - self.lines
            size = self._size - self.size
            if lines <= 0 and size <= 0:
                return
            last = len(self._blocks) == 1 and not self._partial
            if not last and (lines >= block.count or size >= block.size):
                self._drop()
                continue
            self._forget(*block.cut(lines, size, self.size if last else 0))
            if last:
                return
        for partial in self._partial.values():
            self._shorten(partial, min(len(partial), self._size - self.size))

    def _shorten(self, partial: bytearray, over: int) -> None:
        """Forget the beginning of a line that is too long."""
        if over > 0:
            del partial[:over]
            self._size -= over

    def _forget(self, lines: int, size: int) -> None:
        self._size -= size
        self._newlines -= lines
        self._dropped += lines
