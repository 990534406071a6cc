"""Connections of a server: those that have not shown the token yet never keep a known client out."""

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

STRANGERS = 64
"""How many connections may be open that have shown no token."""

PATIENCE = 15.0
"""Seconds within which a connection must have shown the token."""

_AT_ONCE = 16
"""Connections accepted in one turn of the loop: fewer than STRANGERS, so that what a new one has sent
is read before others can push it out."""

_WAITING = 512
"""Connections that wait to be accepted; beyond that, the system has clients try again."""

_HELD = 1 << 16
"""Bytes kept of what follows the head of a request whose token is still to be checked."""

_LINES = 128
"""Lines of the head of a stranger's request; ten thousand would take the parser a tenth of a second."""

_TOO_MANY = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_HEAD_ENDS = (b"\n\r\n", b"\n\n")
_LAST_CHUNK = b"0\r\n\r\n"


class Visitors:
    """The open connections of one server, all in one event loop.

    A stranger is hung up on after PATIENCE seconds, or when there are more
    than `strangers` of them and it is the oldest. Nothing that a stranger sends
    is parsed beyond the head of its first request, which is short: a body in
    tiny chunks costs the parser, and all other clients, seconds. Known
    clients have `most` places of their own.
    """

    def __init__(self, most: int, strangers: int = STRANGERS) -> None:
        self._most = most
        self._most_strangers = strangers
        self._strangers: dict[asyncio.Transport, float] = {}  # oldest first, with its deadline
        self._known: set[asyncio.Transport] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def receive(
        self, listener: "socket.socket", make: "Callable[[], asyncio.Protocol]"
    ) -> asyncio.Server:
        """Accept connections, each of them a stranger at first, served by a protocol of its own."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Newcomer(self, make), sock=listener, backlog=_AT_ONCE)
        listener.listen(_WAITING)
        return server

    def enter(self, transport: asyncio.Transport) -> None:
        """Count a new connection; hang up on the oldest stranger if there are too many."""
        loop = asyncio.get_running_loop()
        self._strangers[transport] = loop.time() + PATIENCE
        if len(self._strangers) > self._most_strangers:
            self._forget_closed()
        while len(self._strangers) > self._most_strangers:
            self._drop(next(iter(self._strangers)))
        if self._timer is None:
            self._timer = loop.call_later(PATIENCE, self._expire)

    def know(self, transport: asyncio.Transport) -> bool:
        """Take a connection that has shown the token for a known one; False if there is no place for it."""
        if transport in self._known:
            return True
        if len(self._known) >= self._most:
            self._forget_closed()
            if len(self._known) >= self._most:
                return False
        self._strangers.pop(transport, None)
        self._known.add(transport)
        protocol = transport.get_protocol()
        if isinstance(protocol, _Newcomer):
            protocol.admit()
        return True

    async def discard(self, transport: asyncio.Transport, length: int | None) -> bool:
        """Wait for the body of a stranger's request, unparsed; False if this is not a stranger.

        The length None is that of a body in chunks.
        """
        protocol = transport.get_protocol()
        if not isinstance(protocol, _Newcomer):
            return False
        await protocol.discard(length)
        return True

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        self._forget_closed()
        for transport in [one for one, until in self._strangers.items() if until <= loop.time()]:
            self._drop(transport)
        first = next(iter(self._strangers.values()), None)
        self._timer = None if first is None else loop.call_at(first, self._expire)

    def _drop(self, transport: asyncio.Transport) -> None:
        del self._strangers[transport]
        transport.abort()

    def _forget_closed(self) -> None:
        self._strangers = {one: until for one, until in self._strangers.items() if not one.is_closing()}
        self._known = {one for one in self._known if not one.is_closing()}


def pass_on(transport: asyncio.Transport, before: asyncio.BaseProtocol) -> None:
    """Keep a stranger one whose connection was just given to another protocol, a websocket's.

    `before` is the protocol that the transport had before.
    """
    if isinstance(before, _Newcomer):
        inner = transport.get_protocol()
        assert isinstance(inner, asyncio.Protocol)
        before.inner = inner
        transport.set_protocol(before)


class _Newcomer(asyncio.Protocol):
    """Passes the head of a first request on to the protocol that serves it; the rest once it is admitted."""

    def __init__(self, visitors: Visitors, make: "Callable[[], asyncio.Protocol]") -> None:
        self._visitors = visitors
        self.inner = make()
        self._held: bytearray | None = None  # what follows the head, once that has come
        self._tail = b""
        self._lines = 0
        self._left: int | None = 0
        self._whole: asyncio.Event | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.inner.connection_made(transport)
        self._visitors.enter(transport)

    def data_received(self, data: bytes) -> None:
        if self._whole is not None:
            self._drop(data)
        elif self._held is not None:
            self._hold(data)
        else:
            seen = self._tail + data
            ends = [at + len(end) for end in _HEAD_ENDS if (at := seen.find(end)) >= 0]
            end = min(ends) - len(self._tail) if ends else len(data)
            self._tail = seen[-2:]
            self._lines += data.count(b"\n", 0, end)
            if self._lines > _LINES:
                self._transport.write(_TOO_MANY)
                self._transport.close()
                return
            if ends:
                self._held = bytearray()
                self._hold(data[end:])
            self.inner.data_received(data[:end])

    def admit(self) -> None:
        """Pass on what was held, and leave the connection to its protocol."""
        self._transport.set_protocol(self.inner)
        self._transport.resume_reading()
        if self._held:
            self.inner.data_received(bytes(self._held))

    async def discard(self, length: int | None) -> None:
        """Drop what comes until the body has come: so many bytes, or None for chunks, up to the last one."""
        self._whole = asyncio.Event()
        self._left = length
        held, self._held, self._tail = bytes(self._held or b""), bytearray(), b""
        self._drop(held)
        self._transport.resume_reading()
        await self._whole.wait()

    def eof_received(self) -> bool | None:
        return self.inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._whole is not None:
            self._whole.set()
        self.inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()

    def _hold(self, data: bytes) -> None:
        assert self._held is not None
        self._held += data
        if len(self._held) > _HELD:
            self._transport.pause_reading()

    def _drop(self, data: bytes) -> None:
        assert self._whole is not None
        if self._left is not None:
            self._left -= len(data)
        self._tail = (self._tail + data)[-len(_LAST_CHUNK) :]
        if self._tail == _LAST_CHUNK if self._left is None else self._left <= 0:
            self._whole.set()
