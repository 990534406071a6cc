"""A blocking client of the private sockets: lists the sessions of all servers of this user, watches one."""

import socket
from time import monotonic

from agent_exec.model.errors import AgentExecError, Broken, InvalidArgument, Missing, StoreFailed
from agent_exec.sessions.sharing import place
from agent_exec.sessions.sharing.frames import HEADER, frame, header, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

    from agent_exec.sessions.sharing.frames import Message

PATIENCE = 2.0
"""How many seconds all servers together have to say which sessions they have."""


class Conversation:
    """One connection to a server, after `attach` or for lists; for one thread at a time in each direction."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def send(self, message: "Message") -> None:
        """Send what is typed, as bytes, or an object; raise Broken if the server is gone."""
        try:
            self.connection.sendall(frame(message))
        except OSError as error:
            raise _lost(error) from None

    def receive(self) -> "Message | None":
        """Return the next message, None at the end of the conversation; raise Broken if that is cut off."""
        head = self._exactly(HEADER)
        if head is None:
            return None
        size, kind = header(head)
        payload = self._exactly(size) if size else b""
        if payload is None:
            raise _lost(None)
        return parse(kind, payload)

    def settimeout(self, seconds: float | None) -> None:
        """Let each wait for the server take at most so long; it raises Broken then."""
        self.connection.settimeout(seconds)

    def fileno(self) -> int:
        """Return the descriptor, to wait for."""
        return self.connection.fileno()

    def cut(self) -> None:
        """Have every wait for the server end, in any thread; harmless when repeated."""
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        """End the conversation; a lease of the keyboard ends with it."""
        self.connection.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> "Iterator[Message]":
        while (message := self.receive()) is not None:
            yield message

    def _exactly(self, size: int) -> bytes | None:
        """Return so many bytes; None if the conversation ends before the first."""
        data = bytearray()
        try:
            while len(data) < size:
                piece = self.connection.recv(min(size - len(data), 1 << 20))
                if not piece:
                    break
                data += piece
        except ConnectionResetError:
            pass
        except OSError as error:
            raise _lost(error) from None
        if 0 < len(data) < size:
            raise _lost(None)
        return bytes(data) if data else None


def connect(server: str, seconds: float | None = PATIENCE) -> Conversation:
    """Return a conversation with a server; raise Missing if it is gone."""
    connection = place.connect(server, seconds)
    if connection is None:
        raise Missing(f"there is no server {server!r} any more; list the sessions again", server=server)
    return Conversation(connection)


def attach(
    server: str,
    session: int,
    *,
    offset: int | None = None,
    size: tuple[int, int] | None = None,
    skip: int | None = None,
    name: str = "",
    watch: bool = False,
) -> tuple[Conversation, "dict[str, Any]"]:
    """Begin to watch a session; return the conversation and the server's hello.

    Without an `offset`, a snapshot of the screen comes first. `size` is rows
    and columns that the terminal takes on with the keyboard. With `watch`, the
    server refuses to be typed to. Raise Missing if there is no such session.
    """
    talk = connect(server)
    try:
        rows, columns = size or (None, None)
        talk.send(
            {
                "type": "attach",
                "session": session,
                "offset": offset,
                "rows": rows,
                "columns": columns,
                "skip": skip,
                "name": name,
                "watch": watch,
            }
        )
        hello = talk.receive()
        if not isinstance(hello, dict):
            raise _lost(None)
        if hello.get("type") == "error":
            kind = {"missing": Missing, "invalid_argument": InvalidArgument}.get(
                str(hello.get("code")), Broken
            )
            raise kind(str(hello.get("message")), server=server, session_id=session)
        talk.settimeout(None)
        return talk, hello
    except BaseException:
        talk.close()
        raise


def list_servers(seconds: float = PATIENCE) -> "list[dict[str, Any]]":
    """Return what each server of this user says: `server` and `sessions`, the oldest server first.

    A server that does not answer in time is left out; the socket of a dead one is removed.
    """
    deadline = monotonic() + seconds
    asked: list[Conversation] = []
    found: list[dict[str, Any]] = []
    try:
        for name in place.servers():
            try:
                connection = place.connect(name, max(0.01, deadline - monotonic()))
                if connection is not None:
                    asked.append(Conversation(connection))
                    asked[-1].send({"type": "list"})
            except (StoreFailed, Broken):
                continue
        for talk in asked:
            talk.settimeout(max(0.01, deadline - monotonic()))
            try:
                answer = talk.receive()
            except AgentExecError:
                continue
            if isinstance(answer, dict) and answer.get("type") == "sessions":
                found.append({"server": answer["server"], "sessions": answer["sessions"]})
    finally:
        for talk in asked:
            talk.close()
    return found


def _lost(error: OSError | None) -> Broken:
    why = "it has ended, or was killed" if error is None or error.strerror is None else error.strerror
    return Broken(f"the connection to the server is lost ({why}); list the sessions again")
