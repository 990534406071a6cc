"""The life of a server over HTTP: many clients, until somebody asks it to end."""

import asyncio
import faulthandler
import gc
import logging
import os
import socket
import sys
from errno import EADDRNOTAVAIL
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING

import anyio
from uvicorn import Config
from uvicorn.server import ServerState

from agent_exec.apps.mcp.threads import somehow
from agent_exec.apps.mcp.transport.http_clients import Clients
from agent_exec.apps.mcp.transport.http_connection import Connection
from agent_exec.apps.mcp.transport.http_gate import PATH, Gate
from agent_exec.apps.mcp.transport.http_token import token_of_file
from agent_exec.apps.signals import listen_for_signals
from agent_exec.apps.usage import UsageError
from agent_exec.apps.visitors import Visitors

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from agent_exec.apps.mcp.transport.http_options import Where
    from agent_exec.tools.tool import Toolset

MOST = 256
"""How many connections of clients with the token there may be."""

END_PATIENCE = 10.0
"""Seconds after a signal within which all must have ended; then the process is ended as it is."""

_HEAD = 64 << 10
_KEEP_ALIVE = 60
_GRACE = 2.0


def run(open_toolset: "Callable[[], Toolset]", where: "Where") -> int:
    """Serve until a signal comes; give the exit status, 128 more than the signal.

    Refuses with a UsageError what cannot be served. A thread of a call that
    was given up may outlive this; end the process.
    """
    listener = _bind(where)
    token = token_of_file(where.token_file)
    return anyio.run(_run, open_toolset, where, listener, token)


async def _run(
    open_toolset: "Callable[[], Toolset]", where: "Where", listener: socket.socket, token: str
) -> int:
    asked = anyio.Event()
    caught: list[int] = []

    def end(number: int) -> None:
        if caught:
            os._exit(128 + number)  # asked twice: what still runs is ended by its keepers
        caught.append(number)
        asked.set()
        # What hangs meanwhile is told, and does not keep us: this needs neither our loop nor Python.
        faulthandler.dump_traceback_later(END_PATIENCE, exit=True, file=2)

    listen_for_signals(asyncio.get_running_loop(), end)
    spare = [await somehow(open_toolset)]  # now, so that what is wrong is told at once

    def opened() -> "Toolset":
        return spare.pop() if spare else open_toolset()

    gc.freeze()  # what is loaded stays; collections need not look at it
    gc.enable()  # which a call of the program has no time for
    try:
        async with anyio.create_task_group() as group:
            clients = Clients(group, opened, where.idle)
            visitors = Visitors(MOST)
            gate = Gate(clients.serve, token, _names(where), visitors, any_address=where.remote)
            state = ServerState()
            server = await _listen(gate, visitors, state, listener)
            _say_ready(where, listener)
            await asked.wait()
            server.close()
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            for toolset in spare:
                await somehow(toolset.close)
    with anyio.CancelScope(shield=True):
        await _hang_up(state)
    return 128 + caught[0]


async def _listen(
    gate: Gate, visitors: Visitors, state: ServerState, listener: socket.socket
) -> asyncio.Server:
    """Accept connections: by the server's own parser, without the life around it, which is ours."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what clients do wrong is theirs to hear

    async def app(scope: "Scope", receive: "Receive", send: "Send") -> None:
        try:
            await gate(scope, receive, send)
        except OSError:
            return  # the client has gone
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)
            raise

    config = Config(
        app,
        interface="asgi3",
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        h11_max_incomplete_event_size=_HEAD,
    )
    config.load()
    connection = partial(Connection, config=config, server_state=state, app_state={})
    return await visitors.receive(listener, connection)


async def _hang_up(state: ServerState) -> None:
    """Let answers be finished, for a moment; then end every connection."""
    for connection in tuple(state.connections):
        connection.shutdown()
    with anyio.move_on_after(_GRACE):
        while state.tasks:
            await anyio.sleep(0.01)
    for task in tuple(state.tasks):
        task.cancel()
    for connection in tuple(state.connections):
        connection.transport.abort()
    await anyio.sleep(0)


def _bind(where: "Where") -> socket.socket:
    """Give the socket that clients come to; other machines only if that was asked for twice."""
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
    # The protocol is named, or the event loop would not see that it is TCP, and leave Nagle's delay on.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        elsewhere = error.errno == EADDRNOTAVAIL
        remedy = "name a --host of this machine" if elsewhere else "name another --port, or 0 for any"
        raise UsageError(
            f"{where.host}:{where.port} cannot be used ({error.strerror}); {remedy}", "mcp"
        ) from None
    listener.setblocking(False)
    return listener


def _names(where: "Where") -> list[str]:
    return [where.host, *([socket.gethostname(), socket.getfqdn()] if where.remote else [])]


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
