"""Several applications on one server: each has the paths that begin with its name, one has all others."""

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from agent_exec.apps.web.serving import App


class Mounts:
    """The applications by the first part of their paths, and the one for all other paths."""

    def __init__(self, mounted: "Mapping[str, App]", rest: "App") -> None:
        self._mounted = mounted
        self._rest = rest

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        app = self._mounted.get(scope["path"].split("/")[1], self._rest)
        await app(scope, receive, send)

    async def close(self) -> None:
        """End all that they run."""
        await asyncio.gather(*(app.close() for app in (*self._mounted.values(), self._rest)))
