"""The pages of the server: one page, the files it needs, and an app for each tab; nothing from elsewhere."""

import asyncio
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import QueryParams
from starlette.responses import FileResponse, PlainTextResponse
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from agent_exec.apps.shell.web.tab import Tab, environment, size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

TABS = 4
"""How many apps run at once, each a process of its own."""

_PATIENCE = 3.0
"""Seconds that a tab waits for the place of one that is being closed, as when a page is reloaded."""

_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".ttf": "font/ttf",
}
_GOING = 1001
_FULL = f"{TABS} tabs are open, which is the most. Close one, then start again."
_FAILED = "The shell could not go on. The reason is printed where agent-exec was started."
_ENDED = "The shell has ended."
_GONE = "agent-exec was ended. Start it again, and open its new address."


class Site:
    """The pages and apps of one server; `report` is called with the errors of apps.

    `protect` returns an application that admits requests to another one.
    """

    def __init__(
        self,
        argv: "Sequence[str]",
        env: "Mapping[str, str]",
        report: "Callable[[str], object]",
        protect: "Callable[[ASGIApp], ASGIApp]",
    ) -> None:
        self._protected = protect(self._serve)
        self._argv = argv
        self._env = env
        self._report = report
        self._places = asyncio.Semaphore(TABS)
        self._tabs: set[Tab] = set()
        self._closing = False
        self._files = _files()
        self._shown: set[asyncio.Task[None] | None] = set()

    async def close(self) -> None:
        """End every app, and wait until each tab has its message."""
        self._closing = True
        await asyncio.gather(*(tab.close() for tab in self._tabs))
        if shown := {task for task in self._shown if task is not None}:
            await asyncio.wait(shown, timeout=_PATIENCE)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        await self._protected(scope, receive, send)

    async def _serve(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one of the known files, or a tab; no path leads to any other file."""
        path = scope["path"]
        name = "page.html" if path == "/" else path.removeprefix("/static/")
        if scope["type"] == "websocket" and path == "/ws":
            await self._tab(WebSocket(scope, receive, send))
        elif scope["type"] == "http" and name != path and name in self._files:
            file = self._files[name]
            await FileResponse(file, media_type=_KINDS[file.suffix])(scope, receive, send)
        else:
            await PlainTextResponse("Not Found\n", 404)(scope, receive, send)

    async def _tab(self, socket: WebSocket) -> None:
        """Serve an app to a tab until one of them ends."""
        query = QueryParams(socket.scope["query_string"])
        try:
            width, height = size(query.get("width", 80), query.get("height", 24))
        except ValueError:
            await socket.send_denial_response(PlainTextResponse("width and height are whole numbers.\n", 400))
            return
        task = asyncio.current_task()
        self._shown.add(task)
        try:
            await socket.accept()
            message = await self._show(socket, {**environment(width, height), **self._env})
            if socket.client_state is not WebSocketState.DISCONNECTED:
                await socket.close(_GOING, message)
        except (WebSocketDisconnect, RuntimeError):
            return  # the browser has gone
        finally:
            self._shown.discard(task)

    async def _show(self, socket: WebSocket, env: "Mapping[str, str]") -> str:
        """Run an app for a tab, if there is a place for it; return the message for the tab at its end."""
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
            self._report(failure)
        return _GONE if self._closing else _FAILED if failure else _ENDED

    async def _run(self, socket: WebSocket, env: "Mapping[str, str]") -> str:
        """Run an app until it or the tab ends; return the error message, once nothing of the app is left."""
        tab = Tab(self._argv, env, socket)
        self._tabs.add(tab)
        try:
            return "" if self._closing else await tab.show()
        finally:
            await tab.close()
            self._tabs.discard(tab)


def _files() -> "dict[str, Path]":
    """Return the files that are served, by name: our page, and Textual's terminal with its font."""
    ours = Path(__file__).parent / "page"
    theirs = Path(str(files("textual_serve"))) / "static"
    return {name: ours / name for name in ("page.html", "page.css", "page.js")} | {
        "textual.js": theirs / "js" / "textual.js",
        "xterm.css": theirs / "css" / "xterm.css",
        "mono.ttf": theirs / "fonts" / "RobotoMono-VariableFont_wght.ttf",
        "mono-italic.ttf": theirs / "fonts" / "RobotoMono-Italic-VariableFont_wght.ttf",
    }
