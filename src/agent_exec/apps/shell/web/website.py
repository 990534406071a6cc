"""What the server shows: one page, the files it needs, and an app for each tab; nothing from elsewhere."""

import asyncio
import logging
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from agent_exec.apps.shell.web.tab import Tab, environment, size

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from agent_exec.apps.shell.web.guard import Guard

TABS = 4
"""How many apps run at once, each a process of its own."""

_PATIENCE = 3.0
"""How long a tab waits for the place of one that is being closed, as when a page is loaded again."""

_MESSAGE = 1024 * 1024
"""The longest message of a browser, such as a text that was pasted."""

_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".ttf": "font/ttf",
}
_GOING = 1001
_FULL = f"{TABS} tabs are open, which is the most. Close one, then start again."
_FAILED = "The shell could not go on. The reason is told where agent-exec was started."
_ENDED = "The shell has ended."
_GONE = "agent-exec was ended. Start it again, and open its new address."


class Site:
    """The pages and apps of one server; `tell` hears of apps that fail."""

    def __init__(
        self, argv: "Sequence[str]", env: "Mapping[str, str]", tell: "Callable[[str], object]"
    ) -> None:
        self._argv = argv
        self._env = env
        self._tell = tell
        self._places = asyncio.Semaphore(TABS)
        self._tabs: set[Tab] = set()
        self._closing = False
        self._files = _files()

    @asynccontextmanager
    async def open(self, listener: "socket.socket", guard: "Guard") -> "AsyncIterator[None]":
        """Be open on a socket, for whoever passes the guard; at the end, end every app and wait for that."""
        application = web.Application(client_max_size=1024)
        guard.protect(application)
        application.router.add_get("/", self._file)
        application.router.add_get("/static/{name}", self._file)
        application.router.add_get("/ws", self._tab, allow_head=False)
        application.on_shutdown.append(self._close)
        silent = logging.getLogger(__name__)
        silent.disabled = True  # who sends nonsense is answered; nobody here needs to read of it
        runner = web.AppRunner(
            application, access_log=None, logger=silent, keepalive_timeout=15, shutdown_timeout=5
        )
        await runner.setup()
        assert runner.server is not None
        server = await guard.visitors.receive(listener, runner.server)
        try:
            yield
        finally:
            server.close()
            await runner.cleanup()

    async def _file(self, request: web.Request) -> web.StreamResponse:
        """Give one of the known files; there is no way from a name to any other."""
        path = self._files.get(request.match_info.get("name", "page.html"))
        if path is None:
            raise web.HTTPNotFound
        return web.FileResponse(path, headers={"Content-Type": _KINDS[path.suffix]})

    async def _tab(self, request: web.Request) -> web.WebSocketResponse:
        """Serve an app to a tab until one of them ends."""
        try:
            width, height = size(request.query.get("width", 80), request.query.get("height", 24))
        except ValueError:
            raise web.HTTPBadRequest(text="width and height are whole numbers.\n") from None
        socket = web.WebSocketResponse(heartbeat=30, max_msg_size=_MESSAGE, compress=False, timeout=_PATIENCE)
        await socket.prepare(request)
        told = await self._show(socket, {**environment(width, height), **self._env})
        await socket.close(code=_GOING, message=told.encode())
        return socket

    async def _show(self, socket: web.WebSocketResponse, env: "Mapping[str, str]") -> str:
        """Run an app for a tab, if there is a place for it; give what the tab is told at its end."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._places.acquire()
        except TimeoutError:
            return _FULL
        try:
            failure = await self._run(socket, env)
        except Exception as error:
            failure = repr(error)
        finally:
            self._places.release()
        if failure:
            self._tell(failure)
        return _GONE if self._closing else _FAILED if failure else _ENDED

    async def _run(self, socket: web.WebSocketResponse, env: "Mapping[str, str]") -> str:
        """Run an app until one of them ends; give what went wrong, once nothing of it is left."""
        tab = Tab(self._argv, env, socket)
        self._tabs.add(tab)
        try:
            return "" if self._closing else await tab.show()
        finally:
            await tab.close()
            self._tabs.discard(tab)

    async def _close(self, _application: web.Application) -> None:
        """End every app, and wait for that."""
        self._closing = True
        await asyncio.gather(*(tab.close() for tab in self._tabs))


def _files() -> "dict[str, Path]":
    """Give the files that are served, by name: our page, and Textual's terminal with its font."""
    ours = Path(__file__).parent / "page"
    theirs = Path(str(files("textual_serve"))) / "static"
    return {name: ours / name for name in ("page.html", "page.css", "page.js")} | {
        "textual.js": theirs / "js" / "textual.js",
        "xterm.css": theirs / "css" / "xterm.css",
        "mono.ttf": theirs / "fonts" / "RobotoMono-VariableFont_wght.ttf",
        "mono-italic.ttf": theirs / "fonts" / "RobotoMono-Italic-VariableFont_wght.ttf",
    }
