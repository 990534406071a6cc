"""A websocket that ends when its client is too slow: uvicorn's, with our deadlines."""

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from agent_exec.apps.web.server import ReadClock

if TYPE_CHECKING:
    import asyncio


class WebSocket(WebSocketsSansIOProtocol):
    """A websocket whose application waits as soon as the client does not read what was sent.

    A client that reads need not answer pings meanwhile: they come after what it has to read.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._has_read = False

    def connection_made(self, transport: "asyncio.BaseTransport") -> None:
        """Wait for the client whenever something is left to send."""
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(0)
        self._reading = ReadClock(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._reading.stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to read, for a bounded time."""
        super().pause_writing()
        self._reading.start()

    def resume_writing(self) -> None:
        """Continue."""
        self._reading.stop()
        self._has_read = True
        super().resume_writing()

    def keepalive_timeout(self) -> None:
        """Hang up on a client that has not answered a ping, unless it is busy with what was sent before."""
        if self.writable.is_set() and not self._has_read:
            super().keepalive_timeout()
        else:
            self._has_read = False
            self.pong_timer = self.loop.call_later(self.ping_timeout or 0.0, self.keepalive_timeout)
