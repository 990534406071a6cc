"""Two sockets that have been joined: a tunnel, or one exchange of plain HTTP."""

import socket
from selectors import EVENT_READ, EVENT_WRITE

from agent_exec.sandbox.proxy.http import CONNECTED, Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sandbox.proxy.framing import Frame
    from agent_exec.sandbox.proxy.hello import Hello
    from agent_exec.sandbox.proxy.http import Asked


class Flow:
    """One direction: reads from `source` only when all that was read has gone to `sink`.

    Without a frame the end of the source becomes the end of the sink. With
    one the flow ends where the frame does, and the sink stays open. A flow
    that is `optional` ends quietly when its sink takes no more.
    """

    __slots__ = ("_frame", "_optional", "sink", "source", "taken", "waiting")

    def __init__(
        self,
        source: socket.socket,
        sink: socket.socket,
        first: bytes = b"",
        frame: "Frame | None" = None,
        *,
        optional: bool = False,
    ) -> None:
        self._optional = optional
        self._frame = frame
        self.source = source
        self.sink = sink
        self.taken = frame is not None and frame.done
        self.waiting = memoryview(first)

    @property
    def reading(self) -> bool:
        """True if the source is to be read."""
        return not (self.taken or self.waiting)

    @property
    def done(self) -> bool:
        """True if all has been passed on."""
        return self.taken and not self.waiting

    def pull(self, buffer: memoryview) -> None:
        """Read once from the source and pass on what the sink takes at once."""
        try:
            count = self.source.recv_into(buffer)
        except BlockingIOError:
            return
        frame = self._frame
        if not count:
            if frame is not None:
                frame.eof()
            self.taken = True
        elif frame is None:
            sent = self._send(buffer[:count])
            if sent < count:
                self.waiting = memoryview(bytes(buffer[sent:count]))
        else:
            self.waiting = memoryview(frame.feed(bytes(buffer[:count])))
            self.taken = frame.done
        if frame is not None and frame.free:
            self._frame = None  # the rest is passed on as it comes
        self.push()

    def push(self) -> None:
        """Pass on what waits, then the end."""
        if self.waiting:
            self.waiting = self.waiting[self._send(self.waiting) :] or memoryview(b"")
        if self.done and self._frame is None:
            try:
                self.sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it is gone already, as its next reading tells

    def _send(self, data: memoryview) -> int:
        try:
            return self.sink.send(data)
        except BlockingIOError:
            return 0
        except (BrokenPipeError, ConnectionResetError):
            if not self._optional:
                raise
            self.taken = True
            return len(data)


class Relay:
    """Moves bytes both ways until it is `over`."""

    __slots__ = ("_body", "_client", "_down", "_response", "_up")

    def __init__(
        self,
        asked: "Asked",
        client: socket.socket,
        upstream: socket.socket,
        rest: bytes,
        limit: int,
        hello: "Hello",
    ) -> None:
        body = self._body = asked.body
        self._client = client
        self._response: Response | None = None
        if body is None:
            self._up = Flow(client, upstream, hello.feed(rest), None if hello.free else hello)
            self._down = Flow(upstream, client, CONNECTED)
        else:
            if body.done:
                body.rest, rest = rest, b""
            else:
                rest = body.feed(rest)
            self._response = Response(asked, limit)
            # A host may answer before it has read all, and hang up: its answer counts.
            self._up = Flow(client, upstream, asked.first + rest, body, optional=True)
            self._down = Flow(upstream, client, frame=self._response)
        self._up.push()
        self._down.push()

    def move(self, end: socket.socket, events: int, buffer: memoryview) -> None:
        """Do what a socket is ready for."""
        here, there = (self._up, self._down) if end is self._client else (self._down, self._up)
        if events & EVENT_WRITE and there.waiting:
            there.push()
        if events & EVENT_READ and here.reading:
            here.pull(buffer)

    @property
    def masks(self) -> tuple[int, int]:
        """The events to watch the client and the upstream for."""
        up, down = self._up, self._down
        return (
            EVENT_READ * up.reading | EVENT_WRITE * bool(down.waiting),
            EVENT_READ * down.reading | EVENT_WRITE * bool(up.waiting),
        )

    @property
    def over(self) -> bool:
        """True if nothing more is to be moved."""
        return self._down.done and (self._response is not None or self._up.done)

    @property
    def heard(self) -> bool:
        """True if the client may have read something of the other end."""
        return self._response is None or self._response.body is not None

    @property
    def rest(self) -> bytes | None:
        """What the client has sent beyond an exchange after which it may ask again; otherwise None."""
        response, body = self._response, self._body
        return (
            body.rest if response is not None and response.keep and body is not None and body.done else None
        )
