"""The clients of a server over HTTP: each has a toolset of its own, which ends with it.

A client that shakes hands (until 2025-11-25) has a session of the protocol.
Later ones send requests that stand alone: those that say the same name, of
themselves and in the path, are one client.
"""

import json
import sys
from math import inf
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CLIENT_INFO_META_KEY, INVALID_REQUEST, ErrorData, JSONRPCError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import Response

from agent_exec.apps.mcp.server import build
from agent_exec.apps.mcp.threads import in_thread, somehow
from agent_exec.apps.web.guard import LARGEST
from agent_exec.model.errors import AgentExecError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from anyio.abc import TaskGroup
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from agent_exec.tools.tool import Toolset

MOST = 64
"""How many clients there may be."""

GONE_AFTER = 60.0
"""Seconds after which a client that listened, and does no more, has gone."""

_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"
_NO_SESSION = "there is no such session; begin a new one"
_HINTS = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}


class Client:
    """One client: its toolset as a server of the protocol, and its requests."""

    def __init__(self, patience: float) -> None:
        self.manager: StreamableHTTPSessionManager | None = None
        self.failed: AgentExecError | None = None
        self.ready = anyio.Event()
        self.ended = False
        self._stirred = anyio.Event()
        """That something has changed which decides how long to wait."""
        self._requests: set[anyio.CancelScope] = set()
        self._patience = patience
        self._last = anyio.current_time()

    async def serve(
        self,
        scope: "Scope",
        receive: "Receive",
        send: "Send",
        began: "Callable[[Message], object]" = lambda _: None,
    ) -> None:
        """Serve one of its requests; `began` gets the head of an answer that is not an error."""

        async def watched(message: "Message") -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                began(message)
            await send(message)

        request = anyio.CancelScope()
        self._requests.add(request)
        try:
            with request:
                await self.ready.wait()
                if self.failed is not None:
                    await refusal(500, f"{self.failed.code}: {self.failed.message}")(scope, receive, send)
                elif self.manager is None or self.ended:
                    await refusal(404, _NO_SESSION)(scope, receive, send)
                else:
                    await self.manager.handle_request(scope, receive, watched)
        finally:
            self._requests.discard(request)
            self._last = anyio.current_time()
            self._stirred.set()

    async def go_on(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve a request of a session; one may end it, one may listen for as long as the client is there."""
        heads: list[Message] = []

        def began(head: "Message") -> None:
            heads.append(head)
            if scope["method"] == "GET":
                self.listened()

        await self.serve(scope, receive, send, began)
        if heads and scope["method"] == "DELETE":
            self.end()

    def listened(self) -> None:
        """Note that it listens, so that we hear when it goes."""
        self._patience = min(self._patience, GONE_AFTER)
        self._stirred.set()

    def end(self) -> None:
        """Have it end soon."""
        self.ended = True
        self._stirred.set()

    async def live(self, open_toolset: "Callable[[], Toolset]") -> None:
        """Open a toolset, wait until the client has ended or has been idle for too long, close it."""
        toolset = None
        try:
            toolset = await in_thread(open_toolset)
            self.manager = StreamableHTTPSessionManager(
                build(toolset), session_idle_timeout=None, max_sessions=1, max_request_body_size=LARGEST
            )
            async with self.manager.run():
                self.ready.set()
                try:
                    await self._over()
                finally:
                    self.ended = True
                    for request in tuple(self._requests):
                        request.cancel()
        except AgentExecError as error:
            self.failed = error
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)  # for whoever reads stderr
            self.failed = AgentExecError(f"an error of agent-exec's own: {error!r}; report it")
        finally:
            self.ended = True
            self.ready.set()
            if toolset is not None:
                with anyio.CancelScope(shield=True):
                    await somehow(toolset.close)

    async def _over(self) -> None:
        """Wait until it has ended, or has had no request for too long."""
        while not self.ended:
            self._stirred = anyio.Event()
            left = inf if self._requests else self._patience - (anyio.current_time() - self._last)
            if left <= 0:
                return
            with anyio.move_on_after(left):
                await self._stirred.wait()


class Clients:
    """All of them."""

    def __init__(self, group: "TaskGroup", open_toolset: "Callable[[], Toolset]", patience: float) -> None:
        self._group = group
        self._open = open_toolset
        self._patience = patience
        self._known: dict[Hashable, Client] = {}
        self._number = 0

    async def serve(self, scope: "Scope", receive: "Receive", send: "Send", name: str, body: bytes) -> None:
        """Have a request served by the client that it is of."""
        fields = dict(scope["headers"])
        session, version = fields.get(_SESSION), fields.get(_VERSION, b"").decode("latin-1")
        serve: ASGIApp
        if session is not None:
            client = self._known.get(("session", session))
            serve = refusal(404, _NO_SESSION) if client is None else client.go_on
        elif version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            client = self._client(("name", name, _says_it_is(body)))
            serve = _too_many() if client is None else client.serve
        elif scope["method"] == "POST" and _message(body).get("method") == "initialize":
            serve = self._greet
        else:
            serve = refusal(400, "a session begins with `initialize`; what follows names its Mcp-Session-Id")
        await serve(scope, receive, send)

    async def _greet(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Begin a session, under the name that it is given."""
        self._number += 1
        opening = ("opening", self._number)
        client = self._client(opening)
        if client is None:
            await _too_many()(scope, receive, send)
            return

        def named(head: "Message") -> None:
            session = dict(head["headers"]).get(_SESSION)
            if session is not None:
                self._known["session", session] = self._known.pop(opening)

        try:
            await client.serve(scope, receive, send, named)
        finally:
            if opening in self._known:
                client.end()

    def _client(self, key: "Hashable") -> Client | None:
        """Return the client of this key, a new one if there is none; nothing if there are too many."""
        found = self._known.get(key)
        if found is not None and not found.ended:
            return found
        if len(self._known) >= MOST:
            return None
        self._known[key] = client = Client(self._patience)
        self._group.start_soon(self._live, client)
        return client

    async def _live(self, client: Client) -> None:
        try:
            await client.live(self._open)
        finally:
            for key in [key for key, one in self._known.items() if one is client]:
                del self._known[key]


def refusal(status: int, message: str) -> Response:
    """Return an answer that refuses a request, as an error of JSON-RPC."""
    body = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=INVALID_REQUEST, message=message))
    headers = {"connection": "close", "cache-control": "no-store", **_HINTS.get(status, {})}
    return Response(
        body.model_dump_json(by_alias=True, exclude_unset=True), status, headers, "application/json"
    )


def _too_many() -> Response:
    return refusal(
        503, f"there are {MOST} clients already; end one of them, or wait until one has been idle for long"
    )


def _message(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _says_it_is(body: bytes) -> str:
    """Return what a client says of itself in a request that stands alone."""
    found: Any = _message(body)
    for key in ("params", "_meta", CLIENT_INFO_META_KEY):
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        return ""
    return json.dumps([found.get("name"), found.get("version")])
