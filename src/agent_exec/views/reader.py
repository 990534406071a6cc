"""Reads a log by ranges, in bounded pieces, with the secrets of the caller masked."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Read = Callable[[int, int], tuple[int, bytes]]

PIECE = 1 << 18


class Source:
    """A range of a log.

    `read(offset, most)` returns bytes from an offset on, and where they begin: bytes that are gone are
    left out. Each byte of a secret is read as `*`, so that offsets stay those of the log.
    """

    __slots__ = ("_longest", "_read", "_secrets", "end", "start")

    def __init__(self, read: "Read", start: int, end: int, secrets: "Iterable[bytes]" = ()) -> None:
        self._read = read
        self.start = start
        self.end = end
        self._secrets = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._longest = len(self._secrets[0]) if self._secrets else 0

    def __len__(self) -> int:
        return self.end - self.start

    def piece(self, start: int, most: int = PIECE) -> tuple[int, bytes]:
        """Return bytes from an offset on, and where they begin; none at the end."""
        most = min(most, self.end - start)
        begin, data = self._read(start, most) if most > 0 else (start, b"")
        data = data[: max(0, self.end - begin)]
        return begin, self._masked(begin, data) if self._secrets and data else data

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

    def _masked(self, start: int, data: bytes) -> bytes:
        """Return bytes without secrets, also without one that begins before them or ends after them."""
        wide = self._longest - 1
        before = self._read(start - min(wide, start), min(wide, start))
        behind = self._read(start + len(data), wide)
        head = before[1] if before[0] + len(before[1]) == start else b""
        tail = behind[1] if behind[0] == start + len(data) else b""
        text = head + data + tail
        masked: bytearray | None = None
        for secret in self._secrets:
            place = text.find(secret)
            while place >= 0:
                masked = masked or bytearray(text)
                masked[place : place + len(secret)] = b"*" * len(secret)
                place = text.find(secret, place + 1)
        return data if masked is None else bytes(masked[len(head) : len(head) + len(data)])


def of_bytes(data: bytes) -> "Read":
    """Return the reader of bytes in memory."""
    return lambda start, most: (start, data[start : start + most])
