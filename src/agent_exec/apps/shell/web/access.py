"""The secrets of a server of the shell: a token in its address, and a cookie for its pages."""

import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse

from agent_exec.apps.web.guard import Guard, fields, same
from agent_exec.apps.web.visitors import Visitors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST = 64
"""How many connections of browsers with the token there may be; a tab that is loading has six at most."""

_BITS = 192
_LOST = (
    "This page needs the whole address that agent-exec printed when it was started, with its token. "
    "Open that one."
)


class Access:
    """Admits requests that bear the secrets of one server, and marks every answer.

    The token is in the address that is printed. It opens the page, which sets
    a cookie for the pages from then on. A browser sends cookies to every port
    of this machine, so the cookie is another secret than the token and opens
    no app: that takes both.
    """

    def __init__(self, port: int) -> None:
        self.visitors = Visitors(MOST)
        self.token = secrets.token_urlsafe(_BITS // 8)
        self._pass = secrets.token_urlsafe(_BITS // 8)
        self._cookie = f"agent_exec_{port}"
        self._enter = {"Set-Cookie": f"{self._cookie}={self._pass}; HttpOnly; Path=/; SameSite=Strict"}
        self._guard = Guard(self.visitors, _refusal, ("127.0.0.1", "localhost"), port=port)
        self.address = f"http://{self._guard.names[0]}/?token={self.token}"
        sockets = " ".join(f"ws://{name}" for name in self._guard.names)
        self._headers = {
            "Cache-Control": "no-store",
            "Content-Security-Policy": (
                "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
                f"img-src 'self' data:; connect-src 'self' {sockets}; "
                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            ),
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Permissions-Policy": "camera=(), clipboard-read=(), geolocation=(), microphone=()",
            "Referrer-Policy": "no-referrer",
            "Server": "agent-exec",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }

    def protect(self, app: "ASGIApp") -> "ASGIApp":
        """Return `app` with every request checked first, and our headers in every answer."""

        async def guarded(scope: "Scope", receive: "Receive", send: "Send") -> None:
            path, query = scope["path"], parse_qs(scope["query_string"].decode("latin-1"), True)
            page, file = path == "/", path.startswith("/static/")
            given = query.get("token", [])
            token = len(given) == 1 and same(given[0], self.token)
            entering = page and bool(given)
            known = token if entering else self._has_cookie(scope) and (page or file or token)
            marked = _adding(self._headers, send)
            if not await self._guard.admit(
                scope, receive, marked, token=known, without=_LOST, own_page=not (page or file)
            ):
                return
            if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
                await self._guard.refuse(405, "This server only shows pages.", scope, receive, marked)
                return
            await app(scope, receive, _adding(self._enter, marked) if entering else marked)

        return guarded

    def _has_cookie(self, scope: "Scope") -> bool:
        try:
            found = SimpleCookie("; ".join(fields(scope, "cookie"))).get(self._cookie)
        except CookieError:
            return False
        return same("" if found is None else found.value, self._pass)


def _adding(headers: "Mapping[str, str]", send: "Send") -> "Send":
    """Return a `send` that sets these headers in the head of an answer."""
    ours = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    names = {name for name, _ in ours}

    async def sent(message: "Message") -> None:
        if message["type"].endswith((".start", ".accept")):
            theirs = [pair for pair in message.get("headers", ()) if pair[0] not in names]
            message = {**message, "headers": [*theirs, *ours]}
        await send(message)

    return sent


def _refusal(status: int, message: str) -> "Response":
    return PlainTextResponse(f"{message}\n", status, {"connection": "close"})
