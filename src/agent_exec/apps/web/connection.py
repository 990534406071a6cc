"""One connection over HTTP: with a deadline for each head, and for a client that does not read."""

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from agent_exec.apps.web.visitors import pass_on

if TYPE_CHECKING:
    import asyncio

    from h11 import Request

TRANSPORT = "agent_exec.transport"
"""The key in a request's state of the transport of its connection."""

HEAD_PATIENCE = 15.0
"""Seconds within which the head of a request must have come."""

READ_PATIENCE = 60.0
"""Seconds after which a client that reads nothing of its answer is disconnected."""


class Connection(H11Protocol):
    """A connection that ends when its client is too slow; requests have its transport in their state.

    Private names of uvicorn are used, hence the upper bound of its version.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._upgraded = False

    def connection_made(self, transport: "asyncio.Transport") -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        self.app_state = {TRANSPORT: transport}
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Parse some bytes."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        self._stop_clocks()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: "Request") -> None:
        """Leave the connection to a websocket; before the token was checked, only its head is passed on."""
        before = self.transport.get_protocol()
        super().handle_websocket_upgrade(event)
        self._stop_clocks()
        self._upgraded = True
        pass_on(self.transport, before)

    def pause_writing(self) -> None:
        """Wait for the client to read; not for ever."""
        super().pause_writing()
        self._wait_for_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Continue."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    def _watch(self) -> None:
        """Run the clock while a head is to come; more bytes of it do not set it back."""
        if self._upgraded:
            return
        waits = self.cycle is None or self.cycle.response_complete
        if not waits and self._head is not None:
            self._head.cancel()
            self._head = None
        elif waits and self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(HEAD_PATIENCE, self.transport.abort)

    def on_response_complete(self) -> None:
        """Be ready for the next request."""
        if self._head is not None:
            self._head.cancel()
            self._head = None
        super().on_response_complete()

    def _stop_clocks(self) -> None:
        for timer in (self._head, self._reading):
            if timer is not None:
                timer.cancel()
        self._head = self._reading = None

    def _wait_for_reader(self, size: int) -> None:
        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left < size:
                self._wait_for_reader(left)
            else:
                self.transport.abort()

        self._reading = self.loop.call_later(READ_PATIENCE, look)
