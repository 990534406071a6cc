"""The clients of a server over HTTP: each has a toolset of its own, which ends with it.

A client that shakes hands (until 2025-11-25) has a session of the protocol.
Later ones send requests that stand alone: those that say the same name, of
themselves and in the path, are one client.
"""

import asyncio
import sys
from base64 import b64decode
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any

from agent_exec.apps.mcp.connection import CLIENT_INFO, HANDSHAKE, MODERN, VERSION, Connection, unsupported
from agent_exec.apps.mcp.rpc import HEADER_MISMATCH, INVALID_REQUEST, RpcError
from agent_exec.apps.mcp.server import Server
from agent_exec.apps.mcp.transport.http_exchange import Stream, somehow
from agent_exec.model.errors import AgentExecError
from agent_exec.model.jsonline import dump

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from agent_exec.apps.mcp.rpc import Message
    from agent_exec.apps.mcp.transport.http_exchange import Exchange
    from agent_exec.tools.tool import Toolset

MOST = 64
"""How many clients there may be."""

GONE_AFTER = 60.0
"""Seconds after which a client that listened, and does no more, has gone."""

_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"
_NO_SESSION = "there is no such session; begin a new one"
_NAMED = {"tools/call": "name", "resources/read": "uri"}
"""The parameter that the header Mcp-Name repeats, for each method that has one."""


class Client:
    """One client: its toolset as a server of the protocol, and its requests."""

    def __init__(self, patience: float) -> None:
        self.session = token_hex(16)
        self.ended = False
        self._ready = asyncio.Event()
        self._failed: AgentExecError | None = None
        self._server: Server | None = None
        self._connections: set[Connection] = set()
        self._standing: Stream | None = None
        """What takes messages that belong to no request."""
        self._stirred = asyncio.Event()
        """That something has changed which decides how long to wait."""
        self._serving = 0
        self._patience = patience
        self._last = monotonic()

    async def serve(self, exchange: "Exchange", answer: "Callable[[Exchange], Awaitable[None]]") -> None:
        """Have one of its requests answered, once it is ready."""
        self._serving += 1
        try:
            await self._ready.wait()
            refused = exchange.unacceptable()
            if self._failed is not None:
                await exchange.refuse(500, f"{self._failed.code}: {self._failed.message}")
            elif self._server is None or self.ended:
                await exchange.refuse(404, _NO_SESSION)
            elif refused:
                await exchange.refuse(*refused)
            else:
                await answer(exchange)
        finally:
            self._serving -= 1
            self._last = monotonic()
            self._stirred.set()

    async def greet(self, exchange: "Exchange") -> None:
        """Begin a session; it ends at once if that is not to be."""
        stream = Stream()
        await self._receive(self._connect(modern=False), exchange.message(), stream)
        answer = await anext(stream, None)
        if answer is None or "result" not in answer:
            self.end()
            await exchange.answer(answer, 400)
        else:
            await exchange.answer(answer, headers=self._named())

    async def go_on(self, exchange: "Exchange") -> None:
        """Serve a request of a session; one may end it, one may listen for as long as the client is there."""
        if (exchange.field(_VERSION) or HANDSHAKE[-1]) not in HANDSHAKE:
            raise unsupported(exchange.field(_VERSION))
        if exchange.method == "POST":
            message, stream = exchange.message(), Stream()
            (connection,) = self._connections
            await self._receive(connection, message, stream)
            if "method" in message and "id" in message:
                await exchange.stream(stream, self._named())
            else:
                await exchange.answer(None, 202)
        elif exchange.method == "DELETE":
            await exchange.answer(None, 200)
            self.end()
        elif exchange.method != "GET":
            await exchange.refuse(405, "a session takes POST, GET and DELETE")
        elif self._standing is not None:
            await exchange.refuse(409, "this session listens already; there is one stream of events for each")
        else:
            self._standing = Stream()
            self._patience = min(self._patience, GONE_AFTER)  # we shall hear when it goes
            try:
                await exchange.stream(self._standing, self._named())
            finally:
                self._standing = None

    async def alone(self, exchange: "Exchange") -> None:
        """Serve a request that stands alone; hanging up cancels it."""
        if exchange.method != "POST":
            await exchange.refuse(405, f"{MODERN} takes POST only")
            return
        message = exchange.message()
        if "method" not in message:
            raise RpcError(INVALID_REQUEST, f"{MODERN} asks clients nothing; send a request")
        if "id" not in message:
            if exchange.field(_VERSION) != MODERN:
                raise unsupported(exchange.field(_VERSION))
            await exchange.answer(None, 202)  # there is none that would change anything
            return
        _check_headers(exchange, message)
        connection, stream = self._connect(modern=True), Stream()
        try:
            await self._receive(connection, message, stream)
            await exchange.stream(stream)
        finally:
            connection.close()
            self._connections.discard(connection)

    async def live(self, open_toolset: "Callable[[], Toolset]") -> None:
        """Open a toolset, wait until the client has ended or has been idle for too long, close it."""
        toolset = None
        try:
            toolset = await somehow(open_toolset)
            self._server = Server(toolset)
            self._ready.set()
            await self._over()
        except AgentExecError as error:
            self._failed = error
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)  # on stderr
            self._failed = AgentExecError(f"an error of agent-exec's own: {error!r}; report it")
        finally:
            self.ended = True
            self._ready.set()
            for connection in tuple(self._connections):
                connection.close()
            self._tell(None)
            if toolset is not None:
                await somehow(toolset.close)

    def end(self) -> None:
        """Have it end soon."""
        self.ended = True
        self._stirred.set()

    async def _over(self) -> None:
        """Wait until it has ended, or has had no request for too long."""
        while not self.ended:
            self._stirred.clear()
            left = None if self._serving else self._patience - (monotonic() - self._last)
            if left is not None and left <= 0:
                return
            try:
                async with asyncio.timeout(left):
                    await self._stirred.wait()
            except TimeoutError:
                continue

    def _connect(self, *, modern: bool) -> Connection:
        assert self._server is not None
        connection = Connection(self._server, self._tell, modern=modern)
        self._connections.add(connection)
        return connection

    async def _receive(self, connection: Connection, message: "Message", stream: Stream) -> None:
        await somehow(lambda: connection.receive(message, stream.send))

    def _tell(self, message: "Message | None") -> None:
        standing = self._standing
        if standing is not None:
            standing.send(message)

    def _named(self) -> list[tuple[bytes, bytes]]:
        return [(_SESSION.encode(), self.session.encode())]


class Clients:
    """All of them."""

    def __init__(self, open_toolset: "Callable[[], Toolset]", patience: float, first: "Toolset") -> None:
        self._open = open_toolset
        self._spare = [first]
        self._patience = patience
        self._known: dict[Hashable, Client] = {}
        self._living: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, open_toolset: "Callable[[], Toolset]", patience: float) -> "Clients":
        """Return them; the first toolset is opened now, so that errors are reported at once."""
        return cls(open_toolset, patience, await somehow(open_toolset))

    async def serve(self, exchange: "Exchange", name: str) -> None:
        """Have a request served by the client that it is of."""
        try:
            session, version = exchange.field(_SESSION), exchange.field(_VERSION)
            if session is not None:
                client = self._known.get(("session", session))
                if client is None:
                    await exchange.refuse(404, _NO_SESSION)
                else:
                    await client.serve(exchange, client.go_on)
            elif version and version not in HANDSHAKE:
                client = self._client(("name", name, _says_it_is(exchange)))
                await (client.serve(exchange, client.alone) if client else _too_many(exchange))
            elif exchange.method == "POST" and exchange.message().get("method") == "initialize":
                client = self._client(None)
                await (client.serve(exchange, client.greet) if client else _too_many(exchange))
            else:
                said = "a session begins with `initialize`; what follows names its Mcp-Session-Id"
                await exchange.refuse(400, said)
        except RpcError as error:
            await exchange.answer(error.answer(error.of), 400)

    async def close(self) -> None:
        """End them all, and wait until nothing of theirs is left."""
        for task in self._living:
            task.cancel()
        await asyncio.gather(*self._living, return_exceptions=True)
        for toolset in self._spare:
            await somehow(toolset.close)

    def _opened(self) -> "Toolset":
        return self._spare.pop() if self._spare else self._open()

    def _client(self, key: "Hashable | None") -> Client | None:
        """Return the client of this key, a new one if there is none; nothing if there are too many."""
        found = self._known.get(key)
        if found is not None and not found.ended:
            return found
        if len(self._known) >= MOST:
            return None
        client = Client(self._patience)
        key = ("session", client.session) if key is None else key
        self._known[key] = client
        task = asyncio.create_task(self._live(key, client))
        self._living.add(task)
        task.add_done_callback(self._living.discard)
        return client

    async def _live(self, key: "Hashable", client: Client) -> None:
        try:
            await client.live(self._opened)
        finally:
            if self._known.get(key) is client:
                del self._known[key]


async def _too_many(exchange: "Exchange") -> None:
    said = f"there are {MOST} clients already; end one of them, or wait until one has been idle for long"
    await exchange.refuse(503, said)


def _check_headers(exchange: "Exchange", message: "Message") -> None:
    """Raise RpcError if the head of a request that stands alone says something else than its body."""
    params = message.get("params") or {}
    meta = params.get("_meta")
    named = params.get(_NAMED.get(message["method"], ""))
    said = {
        _VERSION: meta.get(VERSION) if isinstance(meta, dict) else None,
        "mcp-method": message["method"],
        **({} if named is None else {"mcp-name": named}),
    }
    for name, value in said.items():
        if value is None or _decoded(exchange.field(name)) != value:
            raise RpcError(
                HEADER_MISMATCH, f"the header {name} must say what the message says", of=message["id"]
            )


def _decoded(value: str | None) -> str | None:
    """Return the value of a field, which may be written as `=?base64?…?=`; None if it is written wrongly."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return None


def _says_it_is(exchange: "Exchange") -> str:
    """Return what a client says of itself in a request that stands alone."""
    try:
        found: Any = exchange.message()
    except RpcError:
        return ""
    for key in ("params", "_meta", CLIENT_INFO):
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        return ""
    return dump(
        [value if isinstance(value, str) else None for value in (found.get("name"), found.get("version"))]
    )
