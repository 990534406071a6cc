"""HTTP/1 for a proxy: requests parsed and written anew, responses likewise, refusals.

Nothing is passed on as it came but the values of ordinary fields: target,
host and framing are written from what was parsed, so that no two parsers of
one message can disagree.
"""

from base64 import b64decode
from hmac import compare_digest

from agent_exec.sandbox.hosts import BadName, Host, authority, shown
from agent_exec.sandbox.proxy.framing import CONTROLS, END, TOKEN, Chunked, Counted, Frame, Problem, Unbounded
from agent_exec.sandbox.proxy.log import NO_TOKEN

CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
MAX_FIELDS = 128

_SCHEME = b"http://"
_NOT_PASSED_ON = frozenset(
    b"host content-length transfer-encoding connection keep-alive proxy-authenticate te trailer upgrade "
    b"proxy-authentication-info proxy-authorization proxy-connection".split()
)
_STATUS = {
    "bad": "400 Bad Request",
    "denied": "403 Forbidden",
    "token": "407 Proxy Authentication Required",
    "slow": "408 Request Timeout",
    "large": "431 Request Header Fields Too Large",
    "upgrade": "501 Not Implemented",
    "timeout": "504 Gateway Timeout",
}

Fields = list[tuple[bytes, bytes, bytes]]


class Asked:
    """One request to reach a host, as far as it was parsed.

    Without a `body` it is a tunnel. With one it is one exchange of plain
    HTTP: `first` is sent to the host, then the body; `keep` is True if the
    client may ask again afterwards.
    """

    def __init__(self) -> None:
        self.method = b""
        self.protocol = "http"
        self.given = ""
        self.host = Host("")
        self.port = 0
        self.first = b""
        self.body: Frame | None = None
        self.keep = False


def answer(problem: Problem, asked: Asked, remedy: str) -> bytes:
    """Return the response that says why not; the connection ends with it."""
    where = asked.host.text or asked.given
    if asked.port:
        where = f"{where}:{asked.port}"
    said = f"{where}: {problem.reason}" if where else problem.reason
    said = " ".join(said.encode("ascii", "backslashreplace").decode("ascii").split())
    # Many clients show the phrase and never the body.
    head = [f"HTTP/1.1 {_STATUS.get(problem.kind, '502 Bad Gateway')} ({said[:160]})"]
    body = f"agent-exec: {said}\n" + (f"{remedy}\n" if problem.kind == "denied" else "")
    if problem.kind == "token":
        head.append('Proxy-Authenticate: Basic realm="agent-exec"')
    head += [
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Connection: close",
        "Proxy-Connection: close",
        f"X-Agent-Exec-Proxy: {problem.kind}",
        "\r\n",
    ]
    return "\r\n".join(head).encode("ascii") + (b"" if asked.method == b"HEAD" else body.encode("ascii"))


def read_head(head: bytes) -> tuple[bytes, Fields]:
    """Parse a head into its first line and its fields as (name in lower case, name, value)."""
    plain = head.replace(b"\r\n", b"")
    if len(plain.translate(None, CONTROLS)) != len(plain):
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


def announced(fields: Fields, *, request: bool) -> tuple[Frame, list[bytes]]:
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
    if len(lengths) > 1 or len(lengths[0]) > 15 or not lengths[0].isdigit():
        raise Problem("bad", "Content-Length is not one number")
    return Counted(int(lengths[0])), [b"Content-Length: " + lengths[0]]


def read_request(asked: Asked, head: bytes, token: bytes) -> None:
    """Parse a request up to its empty line; raise Problem for all that is not plainly allowed to be asked.

    What was parsed before a problem is in `asked`, for the log.
    """
    line, fields = read_head(head)
    words = line.split(b" ")
    if len(words) != 3 or not words[0] or not TOKEN.issuperset(words[0]):
        raise Problem("bad", "the request line is not: method, target, version")
    method, target, version = words
    if version not in {b"HTTP/1.1", b"HTTP/1.0"}:
        raise Problem("bad", "only HTTP/1.0 and HTTP/1.1 are spoken here")
    tunnel = method == b"CONNECT"
    asked.method, asked.protocol = method, "connect" if tunnel else "http"
    given, path = (target, b"") if tunnel else _split_target(target)
    asked.given = shown(given)
    wrong = ""
    try:
        asked.host, asked.port = authority(given, None if tunnel else 80)
    except BadName as error:
        wrong = str(error)
    if token:
        _check_token(values(fields, b"proxy-authorization"), token)
    if wrong:
        raise Problem("denied", wrong)
    hosts = values(fields, b"host")
    if len(hosts) > 1 or not (hosts or tunnel or version == b"HTTP/1.0"):
        raise Problem("bad", "there must be one Host field")
    if tunnel:
        return
    if hosts:
        _check_same(hosts[0], asked)
    named = options(fields)
    if values(fields, b"upgrade") or b"upgrade" in named:
        raise Problem("upgrade", "a change of protocol is not passed on; use CONNECT")
    asked.body, framing = announced(fields, request=True)
    if isinstance(asked.body, Chunked) and version == b"HTTP/1.0":
        raise Problem("bad", "HTTP/1.0 knows no chunks")
    asked.keep = version == b"HTTP/1.1" and b"close" not in named
    name = asked.host.text if asked.port == 80 else f"{asked.host.text}:{asked.port}"
    lines = [b"%b %b %b" % (method, path, version), b"Host: " + name.encode("ascii")]
    asked.first = b"\r\n".join([*lines, b"Connection: close", *framing, *passed_on(fields, named)]) + END


def _split_target(target: bytes) -> tuple[bytes, bytes]:
    """Split an absolute target into authority and path."""
    if target[: len(_SCHEME)].lower() != _SCHEME:
        hint = "use CONNECT" if target[:8].lower() == b"https://" else "send http://host/path"
        raise Problem("bad", f"this is a proxy for http:// targets; {hint}")
    rest = target[len(_SCHEME) :]
    end = min((at for at in map(rest.find, (b"/", b"?", b"#")) if at >= 0), default=len(rest))
    path = rest[end:]
    if b"#" in path:
        raise Problem("bad", "a target has no fragment")
    return rest[:end], path if path.startswith(b"/") else b"/" + path


def _check_token(presented: list[bytes], token: bytes) -> None:
    """Raise Problem unless the token is presented once, as user or password; compare in constant time."""
    if not presented:
        raise Problem("token", NO_TOKEN)
    scheme, _, code = presented[0].partition(b" ")
    try:
        user, _, password = b64decode(code.strip(b" "), validate=True).partition(b":")
    except ValueError:
        user = password = b""
    right = compare_digest(token, user) | compare_digest(token, password)
    if len(presented) > 1 or scheme.lower() != b"basic" or not right:
        raise Problem("token", "the token is wrong")


def _check_same(given: bytes, asked: Asked) -> None:
    try:
        same = authority(given, 80) == (asked.host, asked.port)
    except BadName as error:
        raise Problem("bad", f"Host: {error}") from None
    if not same:
        raise Problem("denied", f"the Host field names another: {shown(given)}")


class Response(Frame):
    """The response to one request: its head written anew, then its body."""

    def __init__(self, asked: Asked, limit: int) -> None:
        super().__init__()
        self._method = asked.method
        self._held = b""
        self._limit = limit
        self.body: Frame | None = None
        self.keep = asked.keep

    def feed(self, data: bytes) -> bytes:
        """Return what the client is to read."""
        out = b""
        data = self._held + data
        while self.body is None:
            end = data.find(END) + len(END)
            if end < len(END):
                if len(data) > self._limit:
                    raise Problem("upstream", "the head of the response is too long")
                self._held = data
                return out
            out += self._head(data[:end])
            data = data[end:]
        self._held = b""
        out += self.body.feed(data) if data else b""
        self.done = self.body.done
        return out

    def eof(self) -> None:
        """End it if it may end here."""
        if self.body is None:
            raise Problem("upstream", "the host closed the connection without a response")
        self.body.eof()
        self.done = True

    def _head(self, head: bytes) -> bytes:
        try:
            line, fields = read_head(head)
            version, _, rest = line.partition(b" ")
            code = rest[:3]
            if version not in {b"HTTP/1.1", b"HTTP/1.0"} or len(code) != 3 or not code.isdigit():
                raise Problem("bad", "it has no status line")
            body, framing = announced(fields, request=False)
        except Problem as problem:
            raise Problem("upstream", f"the response is not HTTP/1: {problem.reason}") from None
        if code == b"101":
            raise Problem("upstream", "the host changed the protocol unasked")
        written = [b"HTTP/1.1 " + rest]
        if code[:1] != b"1":
            bare = self._method == b"HEAD" or code in {b"204", b"304"}
            self.body = Counted(0) if bare else body
            self.keep = self.keep and not isinstance(self.body, Unbounded)
            written += [b"Connection: keep-alive" if self.keep else b"Connection: close", *framing]
        return b"\r\n".join(written + passed_on(fields, options(fields))) + END
