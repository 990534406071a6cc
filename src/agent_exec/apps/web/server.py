"""Serves an ASGI application on a socket: uvicorn's parsers of HTTP and websockets, without its main loop."""

import logging
import os
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from uvicorn import Config
from uvicorn.server import ServerState

from agent_exec.apps.web.connection import Connection

if TYPE_CHECKING:
    import asyncio

    from starlette.types import ASGIApp, Receive, Scope, Send

    from agent_exec.apps.web.visitors import Visitors

LONGEST = 1 << 20
"""The maximum size of a websocket message in bytes, such as a text that was pasted."""

_HEAD = 64 << 10
_KEEP_ALIVE = 60
_PING, _PONG = 30, 15
"""Seconds between pings to a websocket, and seconds within which the pong must have come."""
_GRACE = 2.0


class Server:
    """The connections of one application."""

    def __init__(self, app: "ASGIApp", visitors: "Visitors", *, websockets: bool = False) -> None:
        self._app = app
        self._visitors = visitors
        self._state = ServerState()
        self._ws: Any = "websockets-sansio" if websockets else "none"
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
        with anyio.move_on_after(_GRACE):
            while self._state.tasks:
                await anyio.sleep(0.01)
        for task in tuple(self._state.tasks):
            task.cancel()
        for connection in tuple(self._state.connections):
            connection.transport.abort()
        await anyio.sleep(0)


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
