"""HTTP/1 heads and bodies: one strict parser, and the fields that are written again.

Libraries normalise what two parsers can read in two ways (a length given
twice, a length beside chunks, folded and half-ended lines, controls in the
size of a chunk); a proxy has to refuse that, and so cannot stand on one.
"""

END = b"\r\n\r\n"
TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
DIGITS = frozenset(b"0123456789")
MAX_FIELDS = 128
MAX_LINE = 256
MAX_TRAILERS = 8192

_HEX = frozenset(b"0123456789abcdefABCDEF")
_CONTROLS = bytes(code for code in (*range(32), 127) if code != 9)
_NOT_PASSED_ON = frozenset(
    b"host content-length transfer-encoding connection keep-alive proxy-authenticate te trailer upgrade "
    b"proxy-authentication-info proxy-authorization proxy-connection".split()
)

Fields = list[tuple[bytes, bytes, bytes]]


class Problem(Exception):
    """Why a client is refused or cannot be served.

    `kind` is one of: bad (the request), token, denied, large, slow, upgrade,
    unresolved, refused, unreachable, timeout, upstream.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


def read_head(head: bytes) -> tuple[bytes, Fields]:
    """Parse a head into its first line and its fields as (name in lower case, name, value)."""
    plain = head.replace(b"\r\n", b"")
    if len(plain.translate(None, _CONTROLS)) != len(plain):
        raise Problem("bad", "a bare CR or LF, or another control character, stands in a line")
    first, *lines = head.removesuffix(END).split(b"\r\n")
    if len(lines) > MAX_FIELDS:
        raise Problem("large", f"more than {MAX_FIELDS} fields")
    fields = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if line[:1] in {b" ", b"\t"}:
            raise Problem("bad", "a field is folded over two lines")
        if not colon or not name or not TOKEN.issuperset(name):
            raise Problem("bad", "a field is not: name, colon, value")
        fields.append((name.lower(), name, value.strip(b" \t")))
    return first, fields


def values(fields: Fields, wanted: bytes) -> list[bytes]:
    """Return the values of all fields of this name."""
    return [value for lower, _, value in fields if lower == wanted]


def options(fields: Fields) -> frozenset[bytes]:
    """Return the words of Connection, in lower case."""
    said = values(fields, b"connection") + values(fields, b"proxy-connection")
    return frozenset(word.strip(b" \t").lower() for value in said for word in value.split(b","))


def passed_on(fields: Fields, words: frozenset[bytes]) -> list[bytes]:
    """Write the fields that are for the other end, but for those that frame the message."""
    return [
        name + b": " + value
        for lower, name, value in fields
        if lower not in _NOT_PASSED_ON and lower not in words
    ]


def announced(fields: Fields, *, request: bool) -> "tuple[Frame, list[bytes]]":
    """Return the body that these fields announce, and the fields to announce it again.

    Raise Problem if they can be read in two ways.
    """
    lengths, codings = values(fields, b"content-length"), values(fields, b"transfer-encoding")
    if lengths and codings:
        raise Problem("bad", "both Content-Length and Transfer-Encoding")
    if codings:
        if len(codings) > 1 or codings[0].lower() != b"chunked":
            raise Problem("bad", "a Transfer-Encoding other than chunked")
        return Chunked(), [b"Transfer-Encoding: chunked"]
    if not lengths:
        return Counted(0) if request else Unbounded(), []
    if len(lengths) > 1 or not lengths[0] or len(lengths[0]) > 15 or not DIGITS.issuperset(lengths[0]):
        raise Problem("bad", "Content-Length is not one number")
    return Counted(int(lengths[0])), [b"Content-Length: " + lengths[0]]


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
        self._trailers += len(line)
        if self._trailers > MAX_TRAILERS:
            raise Problem("bad", "too many trailers")
        self.done = not line
        return b"" if line else b"\r\n"
