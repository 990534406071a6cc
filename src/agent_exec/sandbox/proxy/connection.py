"""One client: its requests are parsed, decided, dialled and relayed."""

import errno
import socket
import struct
from collections.abc import Generator
from ipaddress import IPv4Address, IPv6Address
from selectors import EVENT_READ, EVENT_WRITE

from agent_exec.sandbox.proxy import http
from agent_exec.sandbox.proxy.addresses import choose
from agent_exec.sandbox.proxy.flow import Flow
from agent_exec.sandbox.proxy.framing import END, TOKEN, Problem
from agent_exec.sandbox.proxy.hello import REFUSED, Hello
from agent_exec.sandbox.proxy.log import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sandbox.hosts import Host, Rule
    from agent_exec.sandbox.proxy.server import Proxy

TLS = 443
_RESET = struct.pack("ii", 1, 0)
_LINGER = 2.0
_KINDS = {errno.ECONNREFUSED: "refused", errno.ETIMEDOUT: "timeout"}

News = tuple[socket.socket, int] | list[str] | OSError | None
"""A socket and its events, the answer of the resolver, or None when the deadline is over."""


class Connection:
    """A client from its first byte to its last.

    It is served by a generator, which waits for news by yielding. `phase` is
    what it waits for: asking, resolving, dialling, relaying, lingering after
    an answer, so that the client reads it before the connection is gone, and
    closed.
    """

    def __init__(self, loop: "Proxy", client: socket.socket) -> None:
        self._loop = loop
        self._client = client
        self._upstream: socket.socket | None = None
        self._flows: tuple[Flow, Flow] | None = None  # to the host, and back
        self._response: http.Response | None = None
        self._asked = http.Asked()
        self._rule: Rule | None = None
        self._tried = ""
        self.phase = "asking"
        self.deadline = 0.0
        self._steps = self._serve()
        self.resume(None)

    def resume(self, news: News) -> None:
        """Go on with what was waited for; whatever goes wrong ends this connection alone."""
        try:
            self._steps.send(news)
        except StopIteration:
            self.close()
        except OSError:
            self.abort()
        except Exception as error:
            self._rule = None
            self._note(f"an error of the proxy itself: {type(error).__name__}")
            self.phase = "broken"
            self.abort()

    def close(self) -> None:
        """Close both sockets; harmless when repeated."""
        if self.phase in {"resolving", "dialling"}:
            self._note("given up")
        self.phase = "closed"
        self._hang_up()
        self._loop.forget(self._client, self)

    def abort(self) -> None:
        """Reset both sockets: what was cut off must not look whole."""
        for end in (self._client, self._upstream):
            if end is not None:
                try:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                except OSError:
                    pass
        self.close()

    def _serve(self) -> Generator[None, News, None]:
        rest, seconds = b"", self._loop.limits.head_seconds
        try:
            while True:
                self._asked, self._rule, self._tried = http.Asked(), None, ""
                head, rest = yield from self._head(rest, seconds)
                if not head:
                    return
                http.read_request(self._asked, head, self._loop.token)
                yield from self._reach(self._asked.host, self._asked.port)
                self._note()
                self._join(rest)
                yield from self._move()
                response, body = self._response, self._asked.body
                self._hang_up()
                if response is None or body is None:
                    return
                if not (response.keep and body.done):
                    break
                rest, seconds = body.rest, self._loop.limits.keep_seconds
        except Problem as problem:
            self._refuse(problem)
        yield from self._linger()

    def _head(self, buffer: bytes, seconds: float) -> Generator[None, News, tuple[bytes, bytes]]:
        """Wait for a request; return its head and what follows; nothing if the client is gone, or silent."""
        limits = self._loop.limits
        self.phase = "asking"
        self.deadline = self._loop.now + seconds
        self._loop.watch(self._client, EVENT_READ, self)
        while True:
            if buffer and buffer[0] not in TOKEN:
                raise Problem("bad", "this is not HTTP")
            end = buffer.find(END)
            if (len(buffer) if end < 0 else end) > limits.head_bytes:
                raise Problem("large", f"the head is longer than {limits.head_bytes} bytes")
            if end >= 0:
                end += len(END)
                return buffer[:end], buffer[end:]
            if (yield) is None:
                if buffer:
                    raise Problem("slow", "no whole request came in time")
                return b"", b""
            data = self._receive()
            if data == b"":
                return b"", b""
            if data and not buffer:
                self.deadline = self._loop.now + limits.head_seconds
            buffer += data or b""

    def _receive(self) -> bytes | None:
        """Return what the client has sent, b"" at its end; None if there is nothing yet."""
        try:
            return bytes(self._loop.buffer[: self._client.recv_into(self._loop.buffer)])
        except BlockingIOError:
            return None

    def _reach(self, host: "Host", port: int) -> Generator[None, News, None]:
        """Connect to the host if a rule allows it, at one of its addresses."""
        loop, limits = self._loop, self._loop.limits
        self._rule = loop.rules.match(host, port)
        if self._rule is None:
            raise Problem("denied", "not in allow-list")
        loop.watch(self._client, 0, self)
        self.deadline = until = loop.now + limits.connect_seconds
        addresses = (
            [host.address] if host.address is not None else (yield from self._resolve(host.name, port))
        )
        self.phase = "dialling"
        last = Problem("timeout", "no time is left to dial")
        for address in addresses:
            if loop.now >= until:
                break
            self._hang_up()
            self._tried = str(address)
            try:
                family = socket.AF_INET if address.version == 4 else socket.AF_INET6
                self._upstream = end = socket.socket(family, socket.SOCK_STREAM)
                end.setblocking(False)
                code = end.connect_ex((self._tried, port))
            except OSError as error:
                code = error.errno or errno.EIO
            else:
                if code in {0, errno.EINPROGRESS}:
                    self.deadline = min(until, loop.now + limits.dial_seconds)
                    loop.watch(end, EVENT_WRITE, self)
                    if (yield) is None:
                        last = Problem("timeout", f"no answer from {self._tried}")
                        continue
                    code = end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    if not code:
                        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        return
            reason = f"{self._tried}: {errno.errorcode.get(code, str(code))}"
            last = Problem(_KINDS.get(code, "unreachable"), reason)
        raise last

    def _resolve(self, name: str, port: int) -> Generator[None, News, list[IPv4Address | IPv6Address]]:
        """Return the addresses of a name that may be dialled."""
        self.phase = "resolving"
        self._loop.resolve(name, port, self)
        answers = yield
        if answers is None:
            raise Problem("timeout", "the name was not resolved in time")
        if isinstance(answers, OSError):
            raise Problem("unresolved", f"the name cannot be resolved: {answers.strerror or answers}")
        assert isinstance(answers, list)
        good, bad = choose(answers, port, self._loop.rules)
        if bad and not good:
            self._rule = None
            raise Problem("denied", f"the name leads to {', '.join(bad)}, which no rule names")
        if not good:
            raise Problem("unresolved", "the name has no address")
        return good

    def _join(self, rest: bytes) -> None:
        """Join the client to the host; the rest is what it has sent already."""
        end, asked, body = self._upstream, self._asked, self._asked.body
        assert end is not None
        self.phase = "relaying"
        if body is None:
            must = asked.port == TLS and self._rule is not None and self._rule.port is None
            hello = Hello(self._agrees, must=must)
            up = Flow(self._client, end, hello.feed(rest), None if hello.free else hello)
            self._flows = up, Flow(end, self._client, http.CONNECTED)
        else:
            if body.done:
                body.rest, rest = rest, b""
            else:
                rest = body.feed(rest)
            self._response = http.Response(asked, self._loop.limits.head_bytes)
            # A host may answer before it has read all, and hang up: its answer counts.
            up = Flow(self._client, end, asked.first + rest, body, optional=True)
            self._flows = up, Flow(end, self._client, frame=self._response)

    def _agrees(self, name: "Host | None") -> bool:
        """True if the TLS greeting in a tunnel may have this name, or none.

        By address there is none, or one that the list has. Some clients do
        not send names without a dot.
        """
        host, port = self._asked.host, self._asked.port
        if name is None:
            return host.address is not None or "." not in host.name
        return name == host or (host.address is not None and self._loop.rules.match(name, port) is not None)

    def _move(self) -> Generator[None, News, None]:
        """Move bytes both ways until nothing more is to be moved."""
        assert self._flows is not None
        assert self._upstream is not None
        up, down = self._flows
        up.push()
        down.push()
        while not down.done or (self._response is None and not up.done):
            self.deadline = self._loop.now + self._loop.limits.idle_seconds
            for end, here, there in ((self._client, up, down), (self._upstream, down, up)):
                mask = EVENT_READ * here.reading | EVENT_WRITE * bool(there.waiting)
                self._loop.watch(end, mask, self)
            news = yield
            if not isinstance(news, tuple):
                raise ConnectionAbortedError("nothing has moved for too long")
            here, there = (up, down) if news[0] is self._client else (down, up)
            if news[1] & EVENT_WRITE and there.waiting:
                there.push()
            if news[1] & EVENT_READ and here.reading:
                here.pull(self._loop.buffer)

    def _refuse(self, problem: Problem) -> None:
        """Log a refusal or a failure, and tell it to the client; raise OSError if that cannot be done."""
        forbidden = self.phase == "relaying" and problem.kind == "denied"
        if forbidden:
            self._rule = None
        if forbidden or self.phase != "relaying":
            self._note(problem.reason)
        # The client may have heard something of the host, which an answer of ours must not follow.
        heard = self._flows is not None and (self._response is None or self._response.body is not None)
        self.phase = "refused"
        self._hang_up()
        if heard and not forbidden:
            raise ConnectionAbortedError(problem.reason)
        self._client.send(REFUSED if heard else http.answer(problem, self._asked, self._loop.rules.text))

    def _linger(self) -> Generator[None, News, None]:
        """Send the end, and wait a little until the client has read it."""
        self.phase = "lingering"
        self.deadline = self._loop.now + _LINGER
        try:
            self._client.shutdown(socket.SHUT_WR)
        except OSError:
            return
        self._loop.watch(self._client, EVENT_READ, self)
        while (yield) is not None and self._receive() != b"":
            pass

    def _hang_up(self) -> None:
        self._flows = self._response = None
        if self._upstream is not None:
            self._loop.watch(self._upstream, 0, self)
            self._upstream.close()
            self._upstream = None

    def _note(self, reason: str | None = None) -> None:
        """Log a decision: allowed if there is a rule."""
        asked, rule = self._asked, self._rule
        self._loop.log.add(
            Decision(
                asked.protocol,
                asked.given,
                allowed=rule is not None,
                host=asked.host.name or None,
                port=asked.port or None,
                address=self._tried or None,
                rule=rule.text if rule is not None else None,
                reason=reason,
            )
        )
