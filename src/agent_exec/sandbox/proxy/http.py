"""HTTP/1 as a proxy hears it: one strict reading of heads, and heads written anew.

Nothing is passed on as it came but the values of ordinary fields: target,
host and framing are written from what was read, so that no two readers of
one request can disagree.
"""

from base64 import b64decode

from agent_exec.sandbox.proxy.asked import Asked, Problem, is_token
from agent_exec.sandbox.proxy.fields import (
    DIGITS,
    END,
    TOKEN,
    Fields,
    announced,
    framing,
    options,
    part_lines,
    passed_on,
    read_fields,
    values,
)
from agent_exec.sandbox.proxy.framing import Chunked, Counted, Frame, Unbounded
from agent_exec.sandbox.proxy.log import NO_TOKEN
from agent_exec.sandbox.proxy.names import BadName, Host, authority, shown

CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"

_SCHEME = b"http://"
_STATUS = {
    "bad": "400 Bad Request",
    "denied": "403 Forbidden",
    "token": "407 Proxy Authentication Required",
    "slow": "408 Request Timeout",
    "large": "431 Request Header Fields Too Large",
    "upgrade": "501 Not Implemented",
    "timeout": "504 Gateway Timeout",
}


def answer(problem: Problem, remedy: str, *, head_only: bool = False) -> bytes:
    """Give the response that says why not; the connection ends with it."""
    status = _STATUS.get(problem.kind, "502 Bad Gateway")
    where = problem.given if problem.host is None else problem.host.text
    if problem.port is not None:
        where = f"{where}:{problem.port}"
    said = shown(f"{where}: {problem.reason}" if where else problem.reason)
    # Many clients show the phrase and never the body.
    head = [f"HTTP/1.1 {status} ({said[:160]})"]
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
    return "\r\n".join(head).encode("ascii") + (b"" if head_only else body.encode("ascii"))


def read_request(head: bytes, token: bytes) -> Asked:
    """Read a request up to its empty line; raise Problem for all that is not plainly allowed to be asked."""
    lines = part_lines(head)
    words = lines[0].split(b" ")
    if len(words) != 3 or not words[0] or not TOKEN.issuperset(words[0]):
        raise Problem("bad", "the request line is not: method, target, version")
    method, target, version = words
    if version not in {b"HTTP/1.1", b"HTTP/1.0"}:
        raise Problem("bad", "only HTTP/1.0 and HTTP/1.1 are spoken here")
    fields = read_fields(lines[1:])
    tunnel = method == b"CONNECT"
    protocol = "connect" if tunnel else "http"
    given, path = (target, b"") if tunnel else _split_target(target)
    try:
        host, port = authority(given, None if tunnel else 80)
    except BadName as error:
        _present(fields, token, Problem("token", "", given=shown(given), protocol=protocol))
        raise Problem("denied", str(error), given=shown(given), protocol=protocol) from None
    seen = shown(given)
    _present(fields, token, Problem("token", "", given=seen, host=host, port=port, protocol=protocol))
    try:
        hosts = values(fields, b"host")
        if len(hosts) > 1 or not (hosts or tunnel or version == b"HTTP/1.0"):
            raise Problem("bad", "there must be one Host field")
        if tunnel:
            return Asked(protocol, seen, host, port, opening=CONNECTED)
        if hosts:
            _agree(hosts[0], host, port)
        return _forward(method, path, version, fields, seen, host, port)
    except Problem as problem:
        problem.given, problem.host, problem.port, problem.protocol = seen, host, port, protocol
        raise


def _split_target(target: bytes) -> tuple[bytes, bytes]:
    """Part an absolute target into authority and path."""
    if target[: len(_SCHEME)].lower() != _SCHEME:
        hint = "use CONNECT" if target[:8].lower() == b"https://" else "send http://host/path"
        raise Problem("bad", f"this is a proxy for http:// targets; {hint}")
    rest = target[len(_SCHEME) :]
    ends = [at for at in (rest.find(mark) for mark in (b"/", b"?", b"#")) if at >= 0]
    end = min(ends, default=len(rest))
    path = rest[end:]
    if b"#" in path:
        raise Problem("bad", "a target has no fragment")
    return rest[:end], path if path.startswith(b"/") else b"/" + path


def _present(fields: Fields, token: bytes, problem: Problem) -> None:
    """Raise the problem unless the token is presented."""
    if not token:
        return
    presented = values(fields, b"proxy-authorization")
    problem.reason = NO_TOKEN if not presented else "the token is wrong"
    if len(presented) != 1:
        raise problem
    scheme, _, code = presented[0].partition(b" ")
    try:
        user, _, password = b64decode(code.strip(b" "), validate=True).partition(b":")
    except ValueError:
        raise problem from None
    if scheme.lower() != b"basic" or not is_token(token, user, password):
        raise problem


def _agree(given: bytes, host: Host, port: int) -> None:
    try:
        same = authority(given, 80) == (host, port)
    except BadName as error:
        raise Problem("bad", f"Host: {error}") from None
    if not same:
        raise Problem("denied", f"the Host field names another: {shown(given)}")


def _forward(
    method: bytes, path: bytes, version: bytes, fields: Fields, given: str, host: Host, port: int
) -> Asked:
    """Write the request for the origin."""
    words = options(fields)
    if values(fields, b"upgrade") or b"upgrade" in words:
        raise Problem("upgrade", "a change of protocol is not passed on; use CONNECT")
    body = announced(fields, request=True)
    if isinstance(body, Chunked) and version == b"HTTP/1.0":
        raise Problem("bad", "HTTP/1.0 knows no chunks")
    name = host.text if port == 80 else f"{host.text}:{port}"
    head = [b"%b %b %b" % (method, path, version), b"Host: " + name.encode("ascii"), b"Connection: close"]
    head += framing(fields)
    head += passed_on(fields, words)
    keep = version == b"HTTP/1.1" and b"close" not in words
    return Asked(
        "http",
        given,
        host,
        port,
        first=b"\r\n".join(head) + END,
        body=body,
        method=method.decode("ascii"),
        keep=keep,
    )


class Response(Frame):
    """The response to one request: its head written anew, then its body."""

    __slots__ = ("_body", "_held", "_limit", "_method", "keep")

    def __init__(self, method: str, *, keep: bool, limit: int) -> None:
        super().__init__()
        self._method = method
        self._held = b""
        self._body: Frame | None = None
        self._limit = limit
        self.keep = keep

    @property
    def begun(self) -> bool:
        """Whether the client has heard of it."""
        return self._body is not None

    def feed(self, data: bytes) -> bytes:
        """Give what the client is to hear."""
        out = b""
        while self._body is None:
            self._held += data
            data = b""
            end = self._held.find(END)
            if end < 0:
                if len(self._held) > self._limit:
                    raise Problem("upstream", "the head of the response is too long")
                return out
            head, self._held = self._held[: end + len(END)], self._held[end + len(END) :]
            out += self._head(head)
        data, self._held = self._held + data, b""
        out += self._body.feed(data) if data else b""
        self.done = self._body.done
        return out

    def eof(self) -> None:
        """End it if it may end here."""
        if self._body is None:
            raise Problem("upstream", "the host closed the connection without a response")
        self._body.eof()
        self.done = True

    def _head(self, head: bytes) -> bytes:
        try:
            lines = part_lines(head)
            version, _, rest = lines[0].partition(b" ")
            code = rest[:3]
            if version not in {b"HTTP/1.1", b"HTTP/1.0"} or len(code) != 3 or not DIGITS.issuperset(code):
                raise Problem("bad", "it has no status line")
            fields = read_fields(lines[1:])
            body = announced(fields, request=False)
        except Problem as problem:
            raise Problem("upstream", f"the response is not HTTP/1: {problem.reason}") from None
        if code == b"101":
            raise Problem("upstream", "the host changed the protocol unasked")
        written = [b"HTTP/1.1 " + rest]
        if code[:1] != b"1":
            bare = self._method == "HEAD" or code in {b"204", b"304"}
            self._body = Counted(0) if bare else body
            if isinstance(self._body, Unbounded):
                self.keep = False
            written.append(b"Connection: keep-alive" if self.keep else b"Connection: close")
            written += framing(fields)
        written += passed_on(fields, options(fields))
        return b"\r\n".join(written) + END
