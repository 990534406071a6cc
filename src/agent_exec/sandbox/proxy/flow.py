"""One direction between two sockets that have been joined."""

import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sandbox.proxy.framing import Frame


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
