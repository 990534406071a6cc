"""Who is at the door of a server: strangers, who have shown no token yet, never keep a known client out."""

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


class Visitors:
    """The open connections of one server, all in one event loop.

    A stranger is hung up on after PATIENCE seconds, or when there are more
    than STRANGERS of them and it is the oldest. Known clients have `most`
    places of their own.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._strangers: dict[asyncio.Transport, float] = {}  # oldest first, with its deadline
        self._known: set[asyncio.Transport] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def receive(
        self, listener: "socket.socket", make: "Callable[[], asyncio.BaseProtocol]"
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
        if len(self._strangers) > STRANGERS:
            self._forget_closed()
        while len(self._strangers) > STRANGERS:
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


class _Newcomer(asyncio.Protocol):
    """Counts a connection, and gives it to the protocol that serves it."""

    def __init__(self, visitors: Visitors, make: "Callable[[], asyncio.BaseProtocol]") -> None:
        self._visitors = visitors
        self._make = make

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        protocol = self._make()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        self._visitors.enter(transport)
