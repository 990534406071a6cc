"""One client: its requests are parsed, decided, dialled and relayed."""

import errno
import socket
import struct
from selectors import EVENT_READ, EVENT_WRITE

from agent_exec.sandbox.proxy import http
from agent_exec.sandbox.proxy.addresses import choose
from agent_exec.sandbox.proxy.flow import Flow
from agent_exec.sandbox.proxy.framing import END, TOKEN, Problem
from agent_exec.sandbox.proxy.hello import REFUSED, Hello
from agent_exec.sandbox.proxy.log import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from ipaddress import IPv4Address, IPv6Address

    from agent_exec.sandbox.hosts import Host, Rule
    from agent_exec.sandbox.proxy.server import Proxy

TLS = 443
_RESET = struct.pack("ii", 1, 0)
_LINGER = 2.0
_KINDS = {errno.ECONNREFUSED: "refused", errno.ETIMEDOUT: "timeout"}


class Connection:
    """A client from its first byte to its last.

    Its phases: asking, resolving, dialling, relaying (and asking again after
    an exchange of plain HTTP), lingering after a refusal, so that the client
    reads the reason before the connection is gone, and closed.
    """

    def __init__(self, loop: "Proxy", client: socket.socket) -> None:
        self._loop = loop
        self._client = client
        self._upstream: socket.socket | None = None
        self._flows: tuple[Flow, Flow] | None = None  # to the host, and back
        self._response: http.Response | None = None
        self._until = 0.0
        self._ask(b"", loop.limits.head_seconds)

    def _ask(self, buffer: bytes, seconds: float) -> None:
        """Wait for a request."""
        self._buffer = buffer
        self._asked = http.Asked()
        self._rule: Rule | None = None
        self._candidates: list[IPv4Address | IPv6Address] = []
        self._tried = ""
        self.phase = "asking"
        self.deadline = self._loop.now + seconds
        self._loop.watch(self._client, EVENT_READ, self)

    def ready(self, end: socket.socket, events: int) -> None:
        """Do what a socket is ready for."""
        match self.phase:
            case "asking":
                self._safely(self._receive)
            case "dialling":
                self._safely(self._dialled)
            case "relaying":
                self._safely(lambda: self._move(end, events))
            case "lingering":
                self._safely(self._discard)

    def resolved(self, answers: "list[str] | OSError") -> None:
        """Go on with the answer of the resolver."""
        if self.phase == "resolving":
            self._safely(lambda: self._choose(answers))

    def expire(self) -> None:
        """End what has taken too long, and tell the client if it waits for an answer."""
        match self.phase:
            case "asking" if self._buffer:
                self._refuse(Problem("slow", "no whole request came in time"))
            case "resolving":
                self._refuse(Problem("timeout", "the name was not resolved in time"))
            case "dialling":
                self._safely(lambda: self._dial(Problem("timeout", f"no answer from {self._tried}")))
            case "relaying":
                self.abort()
            case _:
                self.close()

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

    def _safely(self, step: "Callable[[], None]") -> None:
        """Take a step; whatever goes wrong ends this connection alone."""
        try:
            try:
                step()
            except Problem as problem:
                self._refuse(problem)
        except BlockingIOError:
            pass
        except OSError:
            self.abort()
        except Exception as error:
            self._rule = None
            self._note(f"an error of the proxy itself: {type(error).__name__}")
            self.phase = "broken"
            self.abort()

    def _receive(self) -> None:
        count = self._client.recv_into(self._loop.buffer)
        if not count:
            self.close()
            return
        if not self._buffer:
            self.deadline = self._loop.now + self._loop.limits.head_seconds
        self._buffer += self._loop.buffer[:count]
        self._parse()

    def _parse(self) -> None:
        """Parse a request if it is there as a whole, and decide it."""
        if self._buffer[0] not in TOKEN:
            raise Problem("bad", "this is not HTTP")
        limit = self._loop.limits.head_bytes
        end = self._buffer.find(END)
        if (len(self._buffer) if end < 0 else end) > limit:
            raise Problem("large", f"the head is longer than {limit} bytes")
        if end < 0:
            return
        end += len(END)
        head, self._buffer = self._buffer[:end], self._buffer[end:]
        asked = self._asked
        http.read_request(asked, head, self._loop.token)
        self._rule = self._loop.rules.match(asked.host, asked.port)
        if self._rule is None:
            raise Problem("denied", "not in allow-list")
        self._loop.watch(self._client, 0, self)
        self.deadline = self._until = self._loop.now + self._loop.limits.connect_seconds
        if asked.host.address is not None:
            self._candidates = [asked.host.address]
            self._dial(None)
        else:
            self.phase = "resolving"
            self._loop.resolve(asked.host.name, asked.port, self)

    def _choose(self, answers: "list[str] | OSError") -> None:
        if isinstance(answers, OSError):
            raise Problem("unresolved", f"the name cannot be resolved: {answers.strerror or answers}")
        good, bad = choose(answers, self._asked.port, self._loop.rules)
        if bad and not good:
            self._rule = None
            raise Problem("denied", f"the name leads to {', '.join(bad)}, which no rule names")
        if not good:
            raise Problem("unresolved", "the name has no address")
        self._candidates = good
        self._dial(None)

    def _dial(self, last: Problem | None) -> None:
        """Dial the next address; raise the last problem when there is none, or no time."""
        self.phase = "dialling"
        while self._candidates and self._loop.now < self._until:
            self._hang_up()
            address = self._candidates.pop(0)
            self._tried = str(address)
            try:
                family = socket.AF_INET if address.version == 4 else socket.AF_INET6
                self._upstream = end = socket.socket(family, socket.SOCK_STREAM)
                end.setblocking(False)
                code = end.connect_ex((self._tried, self._asked.port))
                if code in {0, errno.EINPROGRESS}:
                    self.deadline = min(self._until, self._loop.now + self._loop.limits.dial_seconds)
                    self._loop.watch(end, EVENT_WRITE, self)
                    return
            except OSError as error:
                code = error.errno or errno.EIO
            last = _unreached(code, self._tried)
        raise last or Problem("timeout", "no time is left to dial")

    def _dialled(self) -> None:
        end, asked = self._upstream, self._asked
        assert end is not None
        code = end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._dial(_unreached(code, self._tried))
            return
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._note()
        self.phase = "relaying"
        rest, self._buffer = self._buffer, b""
        body = asked.body
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
        for flow in self._flows:
            flow.push()
        self._settle()

    def _agrees(self, name: "Host | None") -> bool:
        """True if the TLS greeting in a tunnel may have this name, or none.

        By address there is none, or one that the list has. Some clients do
        not send names without a dot.
        """
        host, port = self._asked.host, self._asked.port
        if name is None:
            return host.address is not None or "." not in host.name
        return name == host or (host.address is not None and self._loop.rules.match(name, port) is not None)

    def _move(self, end: socket.socket, events: int) -> None:
        assert self._flows is not None
        up, down = self._flows
        here, there = (up, down) if end is self._client else (down, up)
        if events & EVENT_WRITE and there.waiting:
            there.push()
        if events & EVENT_READ and here.reading:
            here.pull(self._loop.buffer)
        self._settle()

    def _settle(self) -> None:
        """End the relay if nothing more is to be moved; otherwise watch for what can happen next."""
        assert self._flows is not None
        assert self._upstream is not None
        (up, down), response, body = self._flows, self._response, self._asked.body
        if not down.done or (response is None and not up.done):
            self.deadline = self._loop.now + self._loop.limits.idle_seconds
            for end, source, sink in ((self._client, up, down), (self._upstream, down, up)):
                mask = EVENT_READ * source.reading | EVENT_WRITE * bool(sink.waiting)
                self._loop.watch(end, mask, self)
            return
        self._hang_up()
        if response is None or body is None:
            self.close()
        elif not (response.keep and body.done):
            self._linger()
        else:
            self._ask(body.rest, self._loop.limits.keep_seconds)
            if self._buffer:
                self._parse()

    def _refuse(self, problem: Problem) -> None:
        """Log a refusal or a failure, tell it to the client, and end."""
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
            self.abort()
            return
        try:
            answer = REFUSED if heard else http.answer(problem, self._asked, self._loop.rules.text)
            self._client.send(answer)
        except OSError:
            self.abort()
        else:
            self._linger()

    def _linger(self) -> None:
        """Send the end, and wait a little until the client has read it."""
        self.phase = "lingering"
        self._buffer = b""
        self.deadline = self._loop.now + _LINGER
        try:
            self._client.shutdown(socket.SHUT_WR)
        except OSError:
            self.close()
            return
        self._loop.watch(self._client, EVENT_READ, self)

    def _discard(self) -> None:
        if not self._client.recv_into(self._loop.buffer):
            self.close()

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


def _unreached(code: int, address: str) -> Problem:
    return Problem(_KINDS.get(code, "unreachable"), f"{address}: {errno.errorcode.get(code, str(code))}")
