"""The MCP server over HTTP: one path behind the guard, many clients, until a signal asks it to end."""

import asyncio
import faulthandler
import gc
import socket
import sys
from errno import EADDRNOTAVAIL
from ipaddress import ip_address
from typing import TYPE_CHECKING

from agent_exec.apps.mcp.transport.http_clients import Clients
from agent_exec.apps.mcp.transport.http_exchange import Exchange, refusal, somehow
from agent_exec.apps.parse import UsageError
from agent_exec.apps.signals import first_signal
from agent_exec.apps.web.guard import Guard, fields, same
from agent_exec.apps.web.server import Server, bind
from agent_exec.apps.web.token_file import token_of_file
from agent_exec.apps.web.visitors import Visitors

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from agent_exec.apps.mcp.main import Where
    from agent_exec.tools.tool import Toolset

PATH = "/mcp"
_LONGEST_NAME = 64

MOST = 256
"""How many connections of clients with the token there may be."""

END_PATIENCE = 10.0
"""Seconds after a signal within which all must have ended; then the process is ended as it is."""

_LOCAL = ("127.0.0.1", "localhost", "::1")


def run(open_toolset: "Callable[[], Toolset]", where: "Where") -> int:
    """Serve until a signal comes; return the exit status, 128 more than the signal.

    Raise UsageError for what cannot be served. A thread of a call that was
    given up may outlive this; end the process.
    """
    listener = _bind(where)
    token = token_of_file(where.token_file)
    return asyncio.run(_run(open_toolset, where, listener, token))


async def _run(
    open_toolset: "Callable[[], Toolset]", where: "Where", listener: socket.socket, token: str
) -> int:
    asked = first_signal(asyncio.get_running_loop())
    # Ends a process that hangs after that, with a traceback: it needs neither our loop nor Python.
    asked.add_done_callback(lambda _: faulthandler.dump_traceback_later(END_PATIENCE, exit=True, file=2))
    spare = [await somehow(open_toolset)]  # now, so that errors are reported at once

    def opened() -> "Toolset":
        return spare.pop() if spare else open_toolset()

    gc.freeze()  # what is loaded stays; collections need not look at it
    gc.enable()  # which a call of the program has no time for
    visitors = Visitors(MOST)
    guard = Guard(visitors, refusal, _names(where), any_address=where.remote)
    clients = Clients(opened, where.idle)
    server = Server(Gate(clients, token, guard), visitors)
    try:
        await server.start(listener)
        _say_ready(where, listener)
        await asked
        server.close()
        await clients.close()
    finally:
        for toolset in spare:
            await somehow(toolset.close)
    await server.hang_up()
    return 128 + asked.result()


def _bind(where: "Where") -> socket.socket:
    """Return the listening socket; other machines reach it only with --allow-remote."""
    try:
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--host takes an address or a name of this machine: {error}", "mcp") from None
    family, _, _, _, address = found[0]
    local = all(ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in found)
    if not local and not where.remote:
        raise UsageError(
            f"{where.host} lets other machines run commands here, and nothing is encrypted: "
            "say --allow-remote as well if you mean it",
            "mcp",
        )
    try:
        return bind(address, family)
    except OSError as error:
        elsewhere = error.errno == EADDRNOTAVAIL
        remedy = "name a --host of this machine" if elsewhere else "name another --port, or 0 for any"
        raise UsageError(
            f"{where.host}:{where.port} cannot be used ({error.strerror}); {remedy}", "mcp"
        ) from None


def _names(where: "Where") -> tuple[str, ...]:
    named = (where.host, *((socket.gethostname(), socket.getfqdn()) if where.remote else ()))
    return tuple(dict.fromkeys((*_LOCAL, *named)))


def _say_ready(where: "Where", listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{port}{PATH}"
    lines = [f"serves the Model Context Protocol at {url}"]
    if where.remote:
        lines.append(
            "WARNING: other machines can reach it, and anyone on the way can read all of it, the token too"
        )
    lines.append(
        f"every request needs the header `Authorization: Bearer TOKEN`; TOKEN is in {where.token_file}"
    )
    sys.stderr.write("".join(f"agent-exec: {line}\n" for line in lines))
    sys.stderr.flush()


class Gate:
    """Passes on requests with the name after the path and the whole body; answers all others itself."""

    def __init__(self, clients: Clients, token: str, guard: Guard) -> None:
        self._clients = clients
        self._token = token
        self._guard = guard

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if not await self._guard.admit(
            scope,
            receive,
            send,
            token=self._has_token(scope),
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

    def _has_token(self, scope: "Scope") -> bool:
        given = fields(scope, "authorization")
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        return same(token.strip(), self._token) and scheme.lower() == "bearer"


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
