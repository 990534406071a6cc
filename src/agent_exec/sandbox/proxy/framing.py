"""Where a message of HTTP ends: its body by length, in chunks, or until the end of the stream."""

from agent_exec.sandbox.proxy.asked import Problem

MAX_LINE = 256
MAX_TRAILERS = 8192

_CONTROLS = bytes(code for code in (*range(32), 127) if code != 9)
_HEX = frozenset(b"0123456789abcdefABCDEF")


class Frame:
    """A body: takes bytes as they come and gives on those that belong to it.

    When it is `done`, `rest` holds what came after it. One that is `free` has
    no end to look for any more. `feed` raises Problem for what is no body.
    """

    __slots__ = ("done", "rest")

    free = False

    def __init__(self) -> None:
        self.done = False
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """Give the part that is to be passed on."""
        return data

    def eof(self) -> None:
        """Say that nothing more will come; raise Problem if more was promised."""
        if not self.done:
            raise Problem("upstream", "the connection ended in the middle of a message")


class Unbounded(Frame):
    """A body that ends with the stream."""

    __slots__ = ()

    def eof(self) -> None:
        """Be done."""
        self.done = True


class Counted(Frame):
    """A body of so many bytes."""

    __slots__ = ("_left",)

    def __init__(self, length: int) -> None:
        super().__init__()
        self._left = length
        self.done = not length

    def feed(self, data: bytes) -> bytes:
        """Give no more than what is left."""
        if len(data) > self._left:
            self.rest = data[self._left :]
            data = data[: self._left]
        self._left -= len(data)
        self.done = not self._left
        return data


class Chunked(Frame):
    """A body in chunks; extensions and trailers are checked and not passed on."""

    __slots__ = ("_held", "_left", "_part", "_trailers")

    def __init__(self) -> None:
        super().__init__()
        self._held = b""
        self._left = 0
        self._part = "size"
        self._trailers = 0

    def feed(self, data: bytes) -> bytes:
        """Give the chunks on, each with its size written plainly."""
        data = self._held + data
        at = 0
        out = []
        while not self.done:
            if self._part == "data":
                piece = data[at : at + self._left]
                out.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
                self._part = "close"
                continue
            end = data.find(b"\r\n", at, at + MAX_LINE)
            if end < 0:
                if len(data) - at >= MAX_LINE:
                    raise Problem("bad", "a line between chunks is too long")
                break
            line = data[at:end]
            at = end + 2
            out.append(self._line(line))
        self._held = b"" if self.done else data[at:]
        self.rest = data[at:] if self.done else b""
        return b"".join(out)

    def _line(self, line: bytes) -> bytes:
        if line.translate(None, _CONTROLS) != line:
            raise Problem("bad", "a control character stands between chunks")
        if self._part == "close":
            if line:
                raise Problem("bad", "a chunk is longer than its size")
            self._part = "size"
            return b"\r\n"
        if self._part == "size":
            size = line.partition(b";")[0].rstrip(b" \t")
            if not size or len(size) > 15 or not _HEX.issuperset(size):
                raise Problem("bad", "the size of a chunk is no hexadecimal number")
            self._left = int(size, 16)
            self._part = "data" if self._left else "trailers"
            return b"%x\r\n" % self._left
        if line:
            self._trailers += len(line)
            if self._trailers > MAX_TRAILERS:
                raise Problem("bad", "too many trailers")
            return b""
        self.done = True
        return b"\r\n"
