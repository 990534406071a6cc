"""Parts of a stream, such as the bodies of HTTP/1: one strict parser.

Libraries normalise what two parsers can read in two ways (a length given
twice, a length beside chunks, folded and half-ended lines, controls in the
size of a chunk); a proxy has to refuse that, and so cannot stand on one.
"""

END = b"\r\n\r\n"
TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
MAX_LINE = 256
MAX_TRAILERS = 8192

_HEX = frozenset(b"0123456789abcdefABCDEF")
CONTROLS = bytes(code for code in (*range(32), 127) if code != 9)


class Problem(Exception):
    """Why a client is refused or cannot be served.

    `kind` is one of: bad (the request), token, denied, large, slow, upgrade,
    unresolved, refused, unreachable, timeout, upstream.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class Frame:
    """A part of a stream: takes bytes as they come and returns those that belong to it.

    When it is `done`, `rest` holds what came after it. One that is `free` has
    no end to look for any more. `feed` raises Problem for malformed input.
    """

    free = False

    def __init__(self) -> None:
        self.done = False
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """Return the part that is to be passed on."""
        return data

    def eof(self) -> None:
        """Take the end of the stream; raise Problem if more was promised."""
        if not self.done:
            raise Problem("upstream", "the connection ended in the middle of a message")


class Unbounded(Frame):
    """A body that ends with the stream."""

    def eof(self) -> None:
        """End."""
        self.done = True


class Counted(Frame):
    """A body of so many bytes."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self._left = length
        self.done = not length

    def feed(self, data: bytes) -> bytes:
        """Return no more than what is left."""
        if len(data) > self._left:
            data, self.rest = data[: self._left], data[self._left :]
        self._left -= len(data)
        self.done = not self._left
        return data


class Chunked(Frame):
    """A body in chunks; extensions and trailers are checked and not passed on."""

    def __init__(self) -> None:
        super().__init__()
        self._held = b""
        self._left = 0
        self._part = "size"
        self._trailers = 0

    def feed(self, data: bytes) -> bytes:
        """Return the chunks, each with its size written plainly."""
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
            out.append(self._line(data[at:end]))
            at = end + 2
        self._held, self.rest = (b"", data[at:]) if self.done else (data[at:], b"")
        return b"".join(out)

    def _line(self, line: bytes) -> bytes:
        if line.translate(None, CONTROLS) != line:
            raise Problem("bad", "a control character stands between chunks")
        if self._part == "close":
            if line:
                raise Problem("bad", "a chunk is longer than its size")
            self._part = "size"
            return b"\r\n"
        if self._part == "size":
            size = line.partition(b";")[0].rstrip(b" \t")
            if not size or len(size) > 15 or not _HEX.issuperset(size):
                raise Problem("bad", "the size of a chunk is not a hexadecimal number")
            self._left = int(size, 16)
            self._part = "data" if self._left else "trailers"
            return b"%x\r\n" % self._left
        self._trailers += len(line)
        if self._trailers > MAX_TRAILERS:
            raise Problem("bad", "too many trailers")
        self.done = not line
        return b"" if line else b"\r\n"
