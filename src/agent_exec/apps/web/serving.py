"""The life of a server, the same for all that listen: from its socket to the signal that ends it."""

import asyncio
import faulthandler
import gc
import os
from typing import TYPE_CHECKING, Protocol

from agent_exec.apps.signals import first_signal
from agent_exec.apps.web.server import Server

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.types import Receive, Scope, Send

    from agent_exec.apps.web.visitors import Visitors

END_PATIENCE = 10.0
"""Seconds after a signal within which all must have ended; then the process is ended as it is."""


class App(Protocol):
    """What a server serves."""

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""

    async def close(self) -> None:
        """End all that it runs, and wait for that; clients are still connected."""


def serve(
    listener: "socket.socket",
    visitors: "Visitors",
    open_app: "Callable[[], Awaitable[App]]",
    ready: "Callable[[], object]",
    *,
    websockets: bool = False,
    beside: "Sequence[tuple[socket.socket, Visitors, App]]" = (),
) -> int:
    """Serve on a socket until a signal asks the process to end; return the number of the signal.

    `open_app` makes what is served, in the event loop; `ready` is called when
    clients can connect. A second signal ends the process at once. `beside`
    are other sockets, and what is served on them.
    """
    with listener:
        path = listener.getsockname()
        try:
            return asyncio.run(_serve(listener, visitors, open_app, ready, websockets, beside))
        finally:
            if isinstance(path, str):
                os.unlink(path)


async def _serve(
    listener: "socket.socket",
    visitors: "Visitors",
    open_app: "Callable[[], Awaitable[App]]",
    ready: "Callable[[], object]",
    websockets: bool,
    beside: "Sequence[tuple[socket.socket, Visitors, App]]",
) -> int:
    asked = first_signal(asyncio.get_running_loop())  # first: a signal at any time ends what is started
    # Ends a process that hangs after that, with a traceback: it needs neither our loop nor Python.
    asked.add_done_callback(lambda _: faulthandler.dump_traceback_later(END_PATIENCE, exit=True, file=2))
    app = await open_app()
    gc.freeze()  # what is loaded stays; collections need not look at it
    gc.enable()  # which a call of the program has no time for
    server = Server(app, visitors, websockets=websockets)
    others = [(Server(other, guests), place, other) for place, guests, other in beside]
    try:
        await server.start(listener)
        for one, place, _ in others:
            await one.start(place)
        ready()
        number = await asked
    finally:
        server.close()
        for one, _, other in others:
            one.close()
            await other.close()
        await app.close()
    for one in (server, *(one for one, _, _ in others)):
        await one.hang_up()
    return number
