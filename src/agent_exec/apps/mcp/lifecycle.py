"""The life of a server: it ends when its client hangs up or somebody asks it to, and ends all with it."""

import asyncio
import gc
from typing import TYPE_CHECKING

import anyio

from agent_exec.apps.mcp.server import build
from agent_exec.apps.mcp.threads import somehow
from agent_exec.apps.mcp.transport.stdio import serve
from agent_exec.apps.signals import listen_for_signals

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.apps.mcp.transport.stdio_fds import Wire
    from agent_exec.tools.tool import Toolset


def run(open_toolset: "Callable[[], Toolset]", wire: "Wire") -> int:
    """Open a toolset, serve one client, close it; give the exit status, 128 more than the signal if one came.

    A thread of a call that was given up may outlive this; end the process.
    """
    return anyio.run(_run, open_toolset, wire)


async def _run(open_toolset: "Callable[[], Toolset]", wire: "Wire") -> int:
    hung_up = anyio.CancelScope()
    caught: list[int] = []

    def end(number: int) -> None:
        caught.append(number)
        hung_up.cancel()

    listen_for_signals(asyncio.get_running_loop(), end)  # first: what is opened is closed, whenever one comes
    toolset = open_toolset()
    gc.freeze()  # what is loaded stays; collections need not look at it
    gc.enable()  # which a call of the program has no time for
    try:
        await serve(build(toolset), wire, hung_up)
    finally:
        with anyio.CancelScope(shield=True):
            await somehow(toolset.close)
    return 128 + caught[0] if caught else 0
