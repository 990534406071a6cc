"""Two ends that have been joined: a tunnel, or one exchange of plain HTTP."""

from selectors import EVENT_READ, EVENT_WRITE

from agent_exec.sandbox.proxy.flow import Flow
from agent_exec.sandbox.proxy.http import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from agent_exec.sandbox.proxy.asked import Asked
    from agent_exec.sandbox.proxy.hello import Hello


class Relay:
    """Moves bytes both ways until it is `over`."""

    __slots__ = ("_body", "_client", "_down", "_response", "_up")

    def __init__(
        self,
        asked: "Asked",
        client: "socket.socket",
        upstream: "socket.socket",
        rest: bytes,
        limit: int,
        hello: "Hello",
    ) -> None:
        body = self._body = asked.body
        self._client = client
        self._response: Response | None = None
        if body is None:
            self._up = Flow(client, upstream, hello.feed(rest), None if hello.free else hello)
            self._down = Flow(upstream, client, asked.opening)
        else:
            if body.done:
                body.rest, rest = rest, b""
            else:
                rest = body.feed(rest)
            self._response = Response(asked.method, keep=asked.keep, limit=limit)
            # A host may answer before it has heard all, and hang up: its answer counts.
            self._up = Flow(client, upstream, asked.first + rest, body, optional=True)
            self._down = Flow(upstream, client, frame=self._response)

    def begin(self) -> None:
        """Send what is known from the start."""
        self._up.push()
        self._down.push()

    def move(self, end: "socket.socket", events: int, buffer: memoryview) -> None:
        """Do what an end is ready for."""
        here, there = (self._up, self._down) if end is self._client else (self._down, self._up)
        if events & EVENT_WRITE and there.waiting:
            there.push()
        if events & EVENT_READ and here.reading:
            here.pull(buffer)

    @property
    def masks(self) -> tuple[int, int]:
        """What to watch the client and the other end for."""
        up, down = self._up, self._down
        return (
            EVENT_READ * up.reading | EVENT_WRITE * down.waiting,
            EVENT_READ * down.reading | EVENT_WRITE * up.waiting,
        )

    @property
    def over(self) -> bool:
        """Whether nothing more is to be moved."""
        return self._down.done and (self._response is not None or self._up.done)

    @property
    def heard(self) -> bool:
        """Whether the client has heard anything of the other end."""
        return self._response is None or self._response.begun

    @property
    def exchanged(self) -> bool:
        """Whether it was an exchange after which the client may ask again."""
        response, body = self._response, self._body
        return response is not None and response.keep and body is not None and body.done

    @property
    def is_tunnel(self) -> bool:
        """Whether it was no exchange but a tunnel."""
        return self._response is None

    @property
    def rest(self) -> bytes:
        """What the client has sent beyond its request."""
        return self._body.rest if self._body is not None else b""
