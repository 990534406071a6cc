"""One direction of a connection: bytes from one socket to another, in order, none kept but one buffer."""

import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sandbox.proxy.framing import Frame


class Flow:
    """Takes from `source` only when all that was taken has gone to `sink`.

    Without a frame the end of the source becomes the end of the sink. With
    one the flow ends where the frame does, and the sink stays open. A flow
    that is `optional` ends quietly when its sink takes no more.
    """

    __slots__ = ("_optional", "_waiting", "frame", "sink", "source", "taken")

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
        self.source = source
        self.sink = sink
        self.frame = frame
        self.taken = frame is not None and frame.done
        self._waiting = memoryview(first)

    @property
    def waiting(self) -> bool:
        """Whether the sink has to take something first."""
        return bool(self._waiting)

    @property
    def reading(self) -> bool:
        """Whether the source is to be read."""
        return not (self.taken or self._waiting)

    @property
    def done(self) -> bool:
        """Whether all has been passed on."""
        return self.taken and not self._waiting

    def pull(self, buffer: memoryview) -> None:
        """Take once from the source and pass on what the sink takes at once."""
        try:
            count = self.source.recv_into(buffer)
        except BlockingIOError:
            return
        if not count:
            self._end()
            return
        if self.frame is None:
            sent = self._send(buffer[:count])
            if sent < count:
                self._waiting = memoryview(bytes(buffer[sent:count]))
        else:
            self._waiting = memoryview(self.frame.feed(bytes(buffer[:count])))
            self.taken = self.frame.done
            self._release()
            self.push()

    def push(self) -> None:
        """Pass on what waits."""
        if self._waiting:
            self._waiting = self._waiting[self._send(self._waiting) :]
            if not self._waiting:
                self._waiting = memoryview(b"")  # lets go of what was sent
                self._close()

    def _end(self) -> None:
        if self.frame is not None:
            self.frame.eof()
            self._release()
        self.taken = True
        self._close()

    def _release(self) -> None:
        """Let go of a frame that has nothing more to look at: the rest is passed on as it comes."""
        if self.frame is not None and self.frame.free:
            self.frame = None

    def _close(self) -> None:
        if self.done and self.frame is None:
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
