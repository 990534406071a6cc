"""The fields of HTTP heads: one strict reading, and what of them is written again."""

from agent_exec.sandbox.proxy.asked import Problem
from agent_exec.sandbox.proxy.framing import Chunked, Counted, Frame, Unbounded

MAX_FIELDS = 128
END = b"\r\n\r\n"
TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
DIGITS = frozenset(b"0123456789")

_CONTROLS = bytes(code for code in (*range(32), 127) if code != 9)
_OURS = frozenset((b"host", b"content-length", b"transfer-encoding", b"connection"))
_HOP = frozenset(
    (
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authentication-info",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"upgrade",
    )
)

Fields = list[tuple[bytes, bytes, bytes]]


def part_lines(head: bytes) -> list[bytes]:
    """Part a head into lines; nothing but CR LF ends one."""
    lines = head.removesuffix(END).split(b"\r\n")
    for line in lines:
        if len(line.translate(None, _CONTROLS)) != len(line):
            raise Problem("bad", "a bare CR or LF, or another control character, stands in a line")
    return lines


def read_fields(lines: list[bytes]) -> Fields:
    """Read fields as (name in lower case, name, value)."""
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
    return fields


def values(fields: Fields, wanted: bytes) -> list[bytes]:
    """Give the values of all fields of this name."""
    return [value for lower, _, value in fields if lower == wanted]


def options(fields: Fields) -> frozenset[bytes]:
    """Give the words of Connection, in lower case."""
    said = values(fields, b"connection") + values(fields, b"proxy-connection")
    return frozenset(word.strip(b" \t").lower() for value in said for word in value.split(b","))


def announced(fields: Fields, *, request: bool) -> Frame:
    """Give the body that these fields announce, or a Problem if they can be read in two ways."""
    lengths, codings = values(fields, b"content-length"), values(fields, b"transfer-encoding")
    if lengths and codings:
        raise Problem("bad", "both Content-Length and Transfer-Encoding")
    if codings:
        if len(codings) > 1 or codings[0].lower() != b"chunked":
            raise Problem("bad", "a Transfer-Encoding other than chunked")
        return Chunked()
    if not lengths:
        return Counted(0) if request else Unbounded()
    if len(lengths) > 1 or not lengths[0] or len(lengths[0]) > 15 or not DIGITS.issuperset(lengths[0]):
        raise Problem("bad", "Content-Length is not one number")
    return Counted(int(lengths[0]))


def framing(fields: Fields) -> list[bytes]:
    """Write the fields that `_body` has read."""
    length = [b"Content-Length: " + value for value in values(fields, b"content-length")]
    return length or [b"Transfer-Encoding: chunked" for _ in values(fields, b"transfer-encoding")]


def passed_on(fields: Fields, options: frozenset[bytes]) -> list[bytes]:
    """Write the fields that are for the other end."""
    return [
        name + b": " + value
        for lower, name, value in fields
        if lower not in _OURS and lower not in _HOP and lower not in options
    ]
