"""A terminal of a session that a server has or reaches: read, typed into, resized, handed over."""

from agent_exec.model.errors import Broken, InvalidState, Unsupported
from agent_exec.model.jsonline import dump, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Self

    from websockets.sync.client import ClientConnection


_LARGEST = 64 << 20
"""The maximum size of a message in bytes; a screen with all its colours is far smaller."""
_PATIENCE = 30.0


class RemoteTerminal:
    """A connection to the terminal of a session; one thread reads while others write. Close it.

    Each message is bytes, which are output, or an object with a `type`: `snapshot` (reset the
    screen, then draw `data`), `resize`, `writer`, `refused`, `end`.
    """

    def __init__(self, socket: "Any", session: str) -> None:
        self._socket = socket
        self.session = session
        """The id of the session."""
        self.offset = 0
        """The offset in the output right behind what was read; attach again with it to go on from here."""
        self.writer: str | None = None
        """Which viewer has the keyboard: "you", "other", or None if the agent has it."""
        self.end: dict[str, Any] | None = None
        """How the session has ended, once that was read."""
        self.hello: dict[str, Any] = {}
        """What the session is."""
        try:
            first = self.read(_PATIENCE)
            if not isinstance(first, dict) or first.get("type") != "hello":
                raise Broken("the server did not answer as a terminal does; see that it is of this version")
            self.hello = first
        except BaseException:
            self.close()
            raise

    def read(self, timeout: float | None = None) -> "bytes | dict[str, Any] | None":
        """Return the next message; None if none comes within so many seconds.

        Raise InvalidState after the last one, and Broken if the connection was cut.
        """
        from websockets.exceptions import ConnectionClosed

        if self.end is not None:
            raise InvalidState(f"session {self.session} has ended, and all that it printed was read")
        try:
            found = self._socket.recv(timeout)
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            why = (error.rcvd.reason if error.rcvd else "") or "the connection was cut"
            raise Broken(
                f"session {self.session}: {why}; attach again with offset={self.offset}", offset=self.offset
            ) from None
        if isinstance(found, bytes):
            self.offset += len(found)
            return found
        message: dict[str, Any] = load(found)
        self._note(message)
        return message

    async def aread(self, timeout: float | None = None) -> "bytes | dict[str, Any] | None":
        """Read as `read` does, and await the message, under asyncio or trio.

        If the task is cancelled, the connection is closed: attach again from `offset`.
        """
        from agent_exec.engine.awaiting import in_thread

        return await in_thread(lambda: self.read(timeout), self.close)

    def __iter__(self) -> "Iterator[bytes | dict[str, Any]]":
        """Yield messages; that of the session's end is the last."""
        while self.end is None:
            message = self.read()
            if message is not None:
                yield message

    def write(self, data: bytes | str) -> None:
        """Type something; a viewer that has not taken the keyboard gets a message `refused`."""
        self._send(data.encode() if isinstance(data, str) else bytes(data))

    def take(self) -> None:
        """Ask for the keyboard; a message `writer` comes when it is granted, or its holder is asked."""
        self._send({"type": "take"})

    def give(self) -> None:
        """Pass the keyboard on to the viewer that asks for it, or back to the agent."""
        self._send({"type": "give"})

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the terminal; only for the viewer that has the keyboard."""
        self._send({"type": "resize", "rows": rows, "columns": columns})

    def pause(self) -> None:
        """Have nothing sent until `resume`."""
        self._send({"type": "pause"})

    def resume(self) -> None:
        """Have output sent again."""
        self._send({"type": "resume"})

    def kill(self) -> None:
        """End the session with all its processes."""
        self._send({"type": "kill"})

    def close(self) -> None:
        """Hang up; the session goes on, and the keyboard is the agent's again. Harmless when repeated."""
        self._socket.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, message: "bytes | dict[str, Any]") -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            self._socket.send(message if isinstance(message, bytes) else dump(message))
        except ConnectionClosed:
            raise Broken(
                f"session {self.session}: the connection is closed; attach again with offset={self.offset}",
                offset=self.offset,
            ) from None

    def _note(self, message: "dict[str, Any]") -> None:
        kind = message.get("type")
        if kind in ("hello", "snapshot"):
            self.offset = int(message["offset"])
        if kind in ("hello", "writer"):
            self.writer = message.get("writer")
        elif kind == "end":
            self.end = message
        elif kind == "error":
            from agent_exec.faces.remote import error_of

            raise error_of({**message, "detail": message.get("message")})


def dial(url: str, headers: "dict[str, str]", wire: "Callable[[], Any]") -> "ClientConnection":
    """Return a WebSocket over a connection that `wire` opens; raise the error that a refusal stands for."""
    try:
        from websockets.exceptions import InvalidHandshake, InvalidStatus
        from websockets.sync.client import connect
    except ImportError as error:
        raise Unsupported(
            f"terminals need the library websockets: install agent-exec[serve] ({error})"
        ) from None
    from agent_exec.faces.remote import error_of

    try:
        # Entered at once: without that, versions differ in what is returned.
        return connect(
            url,
            sock=wire(),
            additional_headers=headers,
            compression=None,
            proxy=None,
            open_timeout=_PATIENCE,
            max_size=_LARGEST,
        ).__enter__()
    except InvalidStatus as error:
        try:
            told = load((error.response.body or b"").decode())
            raise error_of({"code": told["code"], **told})
        except (ValueError, TypeError, LookupError):
            status = error.response.status_code
            raise Broken(f"this is no server of agent-exec: it answers {status} to {url}") from None
    except (OSError, InvalidHandshake) as error:
        why = str(error) or type(error).__name__
        raise Broken(f"the terminal at {url} does not answer: {why}; see that the server runs") from None
