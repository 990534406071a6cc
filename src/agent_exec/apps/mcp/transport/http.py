"""The MCP server over HTTP: one path behind the guard, many clients, until a signal asks it to end."""

from typing import TYPE_CHECKING

from agent_exec.apps.mcp.transport.http_clients import Clients
from agent_exec.apps.mcp.transport.http_exchange import Exchange, refusal
from agent_exec.apps.web.guard import Guard
from agent_exec.apps.web.listening import announce, bears, listen, names, url_of
from agent_exec.apps.web.serving import serve
from agent_exec.apps.web.token_file import token_of_file
from agent_exec.apps.web.visitors import Visitors

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from agent_exec.apps.web.listening import Where
    from agent_exec.tools.tool import Toolset

PATH = "/mcp"
_LONGEST_NAME = 64

MOST = 256
"""How many connections of clients with the token there may be."""


def run(open_toolset: "Callable[[], Toolset]", where: "Where") -> int:
    """Serve until a signal comes; return the exit status, 128 more than the signal.

    Raise UsageError for what cannot be served. A thread of a call that was
    given up may outlive this; end the process.
    """
    listener = listen(where, "mcp")
    token = token_of_file(where.token_file)

    visitors = Visitors(MOST)

    async def opened() -> Gate:
        return await open_gate(open_toolset, where, visitors, token)

    def ready() -> None:
        announce("the Model Context Protocol", url_of(listener, PATH), where)

    return 128 + serve(listener, visitors, opened, ready)


async def open_gate(
    open_toolset: "Callable[[], Toolset]", where: "Where", visitors: Visitors, token: str
) -> "Gate":
    """Return the protocol as an application; its first toolset is opened now."""
    guard = Guard(visitors, refusal, names(where), any_address=where.remote)
    return Gate(await Clients.open(open_toolset, where.idle), token, guard)


class Gate:
    """Passes on requests with the name after the path and the whole body; answers all others itself."""

    def __init__(self, clients: Clients, token: str, guard: Guard) -> None:
        self._clients = clients
        self._token = token
        self._guard = guard

    async def close(self) -> None:
        """End all clients with their toolsets."""
        await self._clients.close()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if not await self._guard.admit(
            scope,
            receive,
            send,
            token=bears(scope, self._token),
            without="send the header `Authorization: Bearer TOKEN` with the server's token",
        ):
            return
        name = _name(scope["path"])
        if name is None:
            await self._guard.refuse(404, f"the protocol is at {PATH}, or {PATH}/NAME", scope, receive, send)
            return
        body = await self._guard.body(scope, receive, send)
        if body is not None:
            await self._clients.serve(Exchange(scope, receive, send, body), name)


def _name(path: str) -> str | None:
    """Return the name after the path of the protocol, "" without one; None for any other path."""
    rest = path[len(PATH) :]
    plain = rest[1:].replace("-", "").replace("_", "").replace(".", "")
    if not path.startswith(PATH) or (
        rest not in ("", "/")
        and not (rest[0] == "/" and plain.isalnum() and plain.isascii() and len(rest) <= _LONGEST_NAME)
    ):
        return None
    return rest.lstrip("/")
