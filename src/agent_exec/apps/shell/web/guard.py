"""Who may speak to the server: whoever has its token, comes from its own pages, and calls it by its name."""

import hmac
import secrets
from typing import TYPE_CHECKING

from aiohttp import web

from agent_exec.apps.visitors import Visitors

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler

MOST = 64
"""How many connections of browsers with the token there may be; a tab that is loading has six at most."""

_BITS = 192
_USUAL = 80
_LOST = (
    "This page needs the whole address that agent-exec printed when it was started, with its token. "
    "Open that one.\n"
)


class Guard:
    """Holds the secrets of one server, and refuses what lacks them.

    The token is in the address that is printed. The pages are for who has it
    or, from then on, a cookie. A browser sends cookies to every port of this
    machine, so the cookie is another secret than the token and opens no app:
    that takes both.
    """

    def __init__(self, port: int) -> None:
        self.visitors = Visitors(MOST)
        self.token = secrets.token_urlsafe(_BITS // 8)
        self._pass = secrets.token_urlsafe(_BITS // 8)
        self._cookie = f"agent_exec_{port}"
        place = "" if port == _USUAL else f":{port}"  # as browsers do
        self._hosts = (f"127.0.0.1{place}", f"localhost{place}")
        self.address = f"http://{self._hosts[0]}/?token={self.token}"
        sockets = " ".join(f"ws://{host}" for host in self._hosts)
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

    def protect(self, application: web.Application) -> None:
        """Have every request to an application checked first, and every answer marked."""
        application.middlewares.append(self._check)
        application.on_response_prepare.append(self._mark)

    @web.middleware
    async def _check(self, request: web.Request, handler: "Handler") -> web.StreamResponse:
        refused = self._refusal(request)
        if refused is not None:
            status, text = refused
            answer = web.Response(status=status, text=text)
            answer.force_close()
            return answer
        response = await handler(request)
        if "token" in request.query and not response.prepared:
            response.set_cookie(self._cookie, self._pass, httponly=True, samesite="Strict", path="/")
        return response

    def _refusal(self, request: web.Request) -> tuple[int, str] | None:
        """Give the status and the text for a request that is refused."""
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 403, f"This server is called {' or '.join(self._hosts)}, and by no other name.\n"
        if request.method not in ("GET", "HEAD"):
            return 405, "This server only shows; nothing can be sent to it.\n"
        page = request.path == "/"
        file = request.path.startswith("/static/")
        origins = request.headers.getall("Origin", [])
        if (origins or not (page or file)) and origins != [f"http://{hosts[0].lower()}"]:
            return 403, "This server speaks to its own pages only.\n"
        tokens = request.query.getall("token", [])
        token = len(tokens) == 1 and _same(tokens[0], self.token)
        cookie = _same(request.cookies.get(self._cookie, ""), self._pass)
        entering = page and tokens
        known = token if entering else cookie and (page or file or token)
        if not known:
            return 401, _LOST
        transport = request.transport
        if transport is None or not self.visitors.know(transport):
            return 503, "Too many connections are open. Close some tabs, then try again.\n"
        return None

    async def _mark(self, _request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(self._headers)


def _same(given: str, wanted: str) -> bool:
    """Compare in a time that tells nothing of what is wanted."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
