"""Serves an ASGI application on a socket: uvicorn's parsers of HTTP and websockets, with our deadlines."""

import asyncio
import logging
import os
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from agent_exec.apps.web.visitors import pass_on

if TYPE_CHECKING:
    from h11 import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from agent_exec.apps.web.visitors import Visitors

TRANSPORT = "agent_exec.transport"
"""The key in a request's state of the transport of its connection."""

HEAD_PATIENCE = 15.0
"""Seconds within which the head of a request must have come."""

READ_PATIENCE = 60.0
"""Seconds after which a client that reads nothing of its answer is disconnected."""

LONGEST = 1 << 20
"""The maximum size of a websocket message in bytes, such as a text that was pasted."""

_HEAD = 64 << 10
_KEEP_ALIVE = 60
_PING, _PONG = 30, 15
"""Seconds between pings to a websocket, and seconds within which the pong must have come."""
_GRACE = 2.0


class ReadClock:
    """Aborts a connection whose client reads nothing for READ_PATIENCE seconds of what waits for it."""

    __slots__ = ("_timer", "_transport")

    def __init__(self, transport: "asyncio.Transport") -> None:
        self._transport = transport
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start to count; whatever the client reads starts it again."""
        self.stop()
        size = self._transport.get_write_buffer_size()
        self._timer = asyncio.get_running_loop().call_later(READ_PATIENCE, self._look, size)

    def stop(self) -> None:
        """Count no more; harmless when repeated."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, size: int) -> None:
        if self._transport.get_write_buffer_size() < size:
            self.start()
        else:
            self._transport.abort()


class Connection(H11Protocol):
    """A connection that ends when its client is too slow; requests have its transport in their state.

    Private names of uvicorn are used, hence the upper bound of its version.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head: asyncio.TimerHandle | None = None
        self._upgraded = False

    def connection_made(self, transport: "asyncio.Transport") -> None:  # type: ignore[override]
        """Start the clock of the head."""
        super().connection_made(transport)
        self._reading = ReadClock(transport)
        self.app_state = {TRANSPORT: transport}
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Parse some bytes; more bytes of a head do not set its clock back."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        self._stop_head()
        self._reading.stop()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: "Request") -> None:
        """Leave the connection to a websocket; before the token was checked, only its head is passed on."""
        before = self.transport.get_protocol()
        super().handle_websocket_upgrade(event)
        self._stop_head()
        self._reading.stop()
        self._upgraded = True
        pass_on(self.transport, before)

    def give_away(self, taker: asyncio.Protocol) -> bytes:
        """Leave the connection to another protocol, unanswered; return what has come behind the request."""
        self._stop_head()
        self._reading.stop()
        self._upgraded = True
        self.cycle.disconnected = True  # so that nothing is sent for the request
        self.connections.discard(self)
        self.transport.set_protocol(taker)
        self.transport.resume_reading()
        return bytes(self.conn.trailing_data[0])

    def pause_writing(self) -> None:
        """Wait for the client to read, for a bounded time."""
        super().pause_writing()
        self._reading.start()

    def resume_writing(self) -> None:
        """Continue."""
        self._reading.stop()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Be ready for the next request."""
        self._stop_head()
        super().on_response_complete()

    def _watch(self) -> None:
        """Run the clock while a head is to come."""
        if self._upgraded:
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_head()
        elif self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(HEAD_PATIENCE, self.transport.abort)

    def _stop_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


class Server:
    """The connections of one application."""

    def __init__(self, app: "ASGIApp", visitors: "Visitors", *, websockets: bool = False) -> None:
        self._app = app
        self._visitors = visitors
        self._state = ServerState()
        self._ws: Any = "none"
        if websockets:
            from agent_exec.apps.web.websocket import WebSocket

            self._ws = WebSocket
        self._listening: asyncio.Server | None = None

    async def start(self, listener: socket.socket) -> None:
        """Accept connections."""
        # What clients send wrong is answered to them; nothing of it is logged here.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        config = Config(
            self._call,
            interface="asgi3",
            lifespan="off",
            ws=self._ws,
            ws_max_size=LONGEST,
            ws_ping_interval=_PING,
            ws_ping_timeout=_PONG,
            ws_per_message_deflate=False,
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE,
            h11_max_incomplete_event_size=_HEAD,
        )
        config.load()
        connection = partial(Connection, config=config, server_state=self._state, app_state={})
        self._listening = await self._visitors.receive(listener, connection)

    async def _call(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "websocket":
            scope, send = {**scope, "method": "GET"}, _refusing(send)
        try:
            await self._app(scope, receive, send)
        except OSError:
            return  # the client has gone
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)
            raise

    def close(self) -> None:
        """Accept no more connections."""
        if self._listening is not None:
            self._listening.close()

    async def hang_up(self) -> None:
        """Let answers be finished, for a moment; then end every connection."""
        self.close()
        for connection in tuple(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=_GRACE)
        for task in tuple(self._state.tasks):
            task.cancel()
        for connection in tuple(self._state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)


def _refusing(send: "Send") -> "Send":
    """Return a `send` for a websocket that takes an answer of HTTP as well, which refuses it."""

    async def sent(message: "Message") -> None:
        kind = message["type"]
        await send({**message, "type": f"websocket.{kind}"} if kind.startswith("http.") else message)

    return sent


def bind(address: tuple[Any, ...], family: int = socket.AF_INET) -> socket.socket:
    """Return a listening socket; raise OSError if the address cannot be had."""
    # The protocol is named, or the event loop would not see that it is TCP, and leave Nagle's delay on.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except BaseException:
        listener.close()
        raise
    listener.setblocking(False)
    return listener
