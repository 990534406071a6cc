"""Reads a log by ranges, in bounded pieces, with the secrets of the caller masked."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Read = Callable[[int, int], tuple[int, bytes]]

PIECE = 1 << 18
_LEAST = 4
"""How many bytes of a secret are recognised as its beginning: fewer are part of many words."""


class Source:
    """A range of a log.

    `read(offset, most)` returns bytes from an offset on, and where they begin: bytes that are gone are
    left out. Each byte of a secret is read as `*`, so that offsets stay those of the log.
    """

    __slots__ = ("_read", "end", "start")

    def __init__(self, read: "Read", start: int, end: int, secrets: "Iterable[bytes]" = ()) -> None:
        self._read = masking(read, secrets)
        self.start = start
        self.end = end

    def __len__(self) -> int:
        return self.end - self.start

    def piece(self, start: int, most: int = PIECE) -> tuple[int, bytes]:
        """Return bytes from an offset on, and where they begin; none at the end."""
        most = min(most, self.end - start)
        begin, data = self._read(start, most) if most > 0 else (start, b"")
        return begin, data[: max(0, self.end - begin)]

    def between(self, start: int, end: int) -> bytes:
        """Return what is kept of a range."""
        found = []
        while start < end:
            begin, data = self.piece(start, end - start)
            if not data or begin >= end:
                break
            found.append(data[: end - begin])
            start = begin + len(data)
        return b"".join(found)


def masking(read: "Read", secrets: "Iterable[bytes]") -> "Read":
    """Return a reader that reads each byte of a secret as `*`, also of one that is read only in part."""
    known = tuple(filter(None, secrets))
    if not known:
        return read
    wide = max(map(len, known)) - 1

    def masked(start: int, most: int) -> tuple[int, bytes]:
        begin, data = read(start, most)
        before = max(0, begin - wide)
        (above, head), (below, tail) = read(before, begin - before), read(begin + len(data), wide)
        head = head if above + len(head) == begin else b""
        tail = tail if below == begin + len(data) else b""
        return begin, mask(head + data + tail, known)[len(head) : len(head) + len(data)]

    return masked


def mask(data: bytes, secrets: "Iterable[bytes]") -> bytes:
    """Return bytes in which each byte of a secret is `*`; secrets may overlap."""
    masked: bytearray | None = None
    for secret in secrets:
        place = data.find(secret)
        while place >= 0:
            masked = masked or bytearray(data)
            masked[place : place + len(secret)] = b"*" * len(secret)
            place = data.find(secret, place + 1)
    return data if masked is None else bytes(masked)


def begun(data: bytes, secrets: "Iterable[bytes]") -> int:
    """Return how many bytes at the end may be the beginning of a secret; a few alone count as none."""
    longest = 0
    for secret in secrets:
        for size in range(min(len(secret) - 1, len(data)), max(longest, _LEAST - 1), -1):
            if data.endswith(secret[:size]):
                longest = size
                break
    return longest


def of_bytes(data: bytes) -> "Read":
    """Return the reader of bytes in memory."""
    return lambda start, most: (start, data[start : start + most])
