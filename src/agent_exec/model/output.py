"""What is kept of a stream, and the exact count of what was observed.

Every keeping takes chunks in order, never copies more than it keeps, and
holds at most its limit plus one chunk, whatever the stream's length.
"""

import codecs

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

MIB = 1 << 20
SMALL = 4096
"""Chunks below this size are joined, so that a slow dribble costs no object a byte."""
JOINED = 1 << 16
"""Joined chunks grow up to about this size."""


class Keep:
    """The common part of all keepings; `fresh` gives an empty one with the same limits."""

    __slots__ = ("observed",)

    def __init__(self) -> None:
        self.observed = 0

    def fresh(self) -> "Self":
        """Return an empty keeping of the same kind and limits."""
        raise TypeError("a keeping is one of Head, Tail, HeadTail, Lines")

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        raise TypeError(f"a keeping is one of Head, Tail, HeadTail, Lines; {len(chunk)} bytes have no keeper")

    def value(self) -> bytes:
        """Return what is kept, as one piece."""
        raise TypeError("a keeping is one of Head, Tail, HeadTail, Lines")

    @property
    def kept(self) -> int:
        """How many of the observed bytes are kept."""
        return len(self.value())

    @property
    def overflowed(self) -> bool:
        """True if something observed was not kept."""
        return self.observed > self.kept


class Head(Keep):
    """Keeps the first `limit` bytes."""

    __slots__ = ("_data", "limit")

    def __init__(self, limit: int = MIB) -> None:
        super().__init__()
        self.limit = bound("limit", limit)
        self._data = bytearray()

    def fresh(self) -> "Head":
        """Return an empty keeping with the same limit."""
        return Head(self.limit)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self.limit - self.observed
        self.observed += len(chunk)
        if room > 0:
            self._data += chunk if len(chunk) <= room else chunk[:room]

    def value(self) -> bytes:
        """Return the first bytes."""
        return bytes(self._data)

    @property
    def kept(self) -> int:
        """How many of the observed bytes are kept."""
        return len(self._data)


class _Pieces:
    """A queue of chunks: appended whole, dropped whole from the old end."""

    __slots__ = ("first", "parts", "size")

    def __init__(self) -> None:
        self.parts: list[bytes | bytearray] = []
        self.first = 0
        self.size = 0

    def append(self, chunk: bytes) -> None:
        """Add a chunk."""
        self.size += len(chunk)
        last = self.parts[-1] if len(self.parts) > self.first else None
        if len(chunk) < SMALL:
            if isinstance(last, bytearray) and len(last) < JOINED:
                last += chunk
                return
            self.parts.append(bytearray(chunk))
        else:
            self.parts.append(chunk)

    @property
    def oldest(self) -> int:
        """The length of the oldest piece; 0 when there is none."""
        return len(self.parts[self.first]) if self.first < len(self.parts) else 0

    def drop(self) -> None:
        """Forget the oldest piece."""
        self.size -= len(self.parts[self.first])
        self.parts[self.first] = b""
        self.first += 1
        if self.first >= 64:
            del self.parts[: self.first]
            self.first = 0

    def last(self, size: int) -> "list[bytes | bytearray | memoryview]":
        """Return the last `size` bytes in pieces; large ones are not copied."""
        found: list[bytes | bytearray | memoryview] = list(self.parts[self.first :])
        excess = sum(map(len, found)) - size
        if excess > 0:
            first = found[0]
            # Joined pieces are small, and may grow in another thread, which a view would forbid.
            found[0] = first[excess:] if isinstance(first, bytearray) else memoryview(first)[excess:]
        return found


class Tail(Keep):
    """Keeps the last `limit` bytes."""

    __slots__ = ("_pieces", "limit")

    def __init__(self, limit: int = MIB) -> None:
        super().__init__()
        self.limit = bound("limit", limit)
        self._pieces = _Pieces()

    def fresh(self) -> "Tail":
        """Return an empty keeping with the same limit."""
        return Tail(self.limit)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self.observed += len(chunk)
        pieces = self._pieces
        pieces.append(chunk)
        while pieces.size - pieces.oldest >= self.limit and pieces.oldest:
            pieces.drop()

    def value(self) -> bytes:
        """Return the last bytes."""
        return b"".join(self._pieces.last(self.limit))

    @property
    def kept(self) -> int:
        """How many of the observed bytes are kept."""
        return min(self._pieces.size, self.limit)


class HeadTail(Keep):
    """Keeps the first `head` and the last `tail` bytes; what lies between is counted."""

    __slots__ = ("_head", "_tail")

    def __init__(self, head: int = MIB, tail: int = MIB) -> None:
        super().__init__()
        self._head = Head(bound("head", head))
        self._tail = Tail(bound("tail", tail))

    def fresh(self) -> "HeadTail":
        """Return an empty keeping with the same limits."""
        return HeadTail(self._head.limit, self._tail.limit)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self._head.limit - self.observed
        self.observed += len(chunk)
        if room <= 0:
            self._tail.feed(chunk)
        elif len(chunk) <= room:
            self._head.feed(chunk)
        else:
            self._head.feed(chunk[:room])
            self._tail.feed(chunk[room:])

    def parts(self) -> tuple[bytes, bytes]:
        """Return the two ends apart; `observed - kept` bytes are missing between them."""
        return self._head.value(), self._tail.value()

    def take(self) -> tuple[bytes, bytes, int]:
        """Return the two ends and how much was observed, and begin anew."""
        head, self._head = self._head, self._head.fresh()
        if self.observed <= head.limit:
            tail = b""
        else:
            tail, self._tail = self._tail.value(), self._tail.fresh()
        observed, self.observed = self.observed, 0
        return head.value(), tail, observed

    def value(self) -> bytes:
        """Return both ends, one after the other."""
        return b"".join([self._head._data, *self._tail._pieces.last(self._tail.limit)])

    @property
    def kept(self) -> int:
        """How many of the observed bytes are kept."""
        return self._head.kept + self._tail.kept


class Text:
    """Turns a stream of bytes into text: a character may be split anywhere, a bad byte is one U+FFFD."""

    __slots__ = ("_decoder",)

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, chunk: bytes) -> str:
        """Return the characters completed by these bytes."""
        return self._decoder.decode(chunk)

    def finish(self) -> str:
        """Return what an unfinished character at the end amounts to."""
        return self._decoder.decode(b"", final=True)


def newest_line(text: str) -> str:
    """Return the last line of a text that is not blank, as far as it has come."""
    return text.rstrip().rpartition("\n")[2].rpartition("\r")[2]


def unfinished(data: bytes) -> int:
    """Return how many bytes at the end are the beginning of a character whose rest is still to come."""
    end = data[-3:]
    return 0 if end.isascii() else len(end) - codecs.utf_8_decode(end, "replace", False)[1]


def text(data: "bytes | Iterable[bytes]") -> str:
    """Return bytes, or chunks of them, as text."""
    if isinstance(data, bytes):
        return data.decode("utf-8", "replace")
    return b"".join(data).decode("utf-8", "replace")


def bound(name: str, value: object) -> int:
    """Return a number of bytes or lines; raise InvalidArgument for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidArgument(f"{name} must be a whole number, 0 or more; got {value!r}")
    return value
