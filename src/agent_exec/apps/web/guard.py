"""The guard before every request to a server of ours: Host, Origin, token, and how much a request may be.

A page in a browser can reach our port, under any name that resolves here or
from its own address; so Host and Origin are checked, and no other origin is
ever allowed. All else needs the token.
"""

import asyncio
import hmac
from ipaddress import ip_address
from typing import TYPE_CHECKING

from agent_exec.apps.web.server import TRANSPORT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from starlette.types import ASGIApp, Receive, Scope, Send

    from agent_exec.apps.web.visitors import Visitors

LARGEST = 4 << 20
"""The maximum size of a request's body in bytes."""

PATIENCE = 30.0
"""Seconds within which the body of a request must have come."""

ORIGIN = b"origin"
"""The field by which a browser says which page has made a request."""

_DEFAULT_PORT = "80"


class Guard:
    """Admits a request, or answers it; `render` makes the answer from a status and a message.

    The server answers to the names in `hosts`, on any port or on `port` only;
    with `any_address`, to every IP address as well, since DNS cannot make a
    browser send one.
    """

    def __init__(
        self,
        visitors: "Visitors",
        render: "Callable[[int, str], ASGIApp]",
        hosts: "Collection[str]",
        *,
        port: int | None = None,
        any_address: bool = False,
    ) -> None:
        self.visitors = visitors
        self._render = render
        self._hosts = {host.lower() for host in hosts}
        self._port = None if port is None else str(port)
        shown = "" if self._port in (None, _DEFAULT_PORT) else f":{port}"  # as browsers write it
        self.names = tuple(f"{host}{shown}" for host in hosts)
        self._any_address = any_address

    async def admit(
        self,
        scope: "Scope",
        receive: "Receive",
        send: "Send",
        *,
        token: bool | None,
        without: str = "",
        own_page: bool = False,
    ) -> bool:
        """True if a request may pass; answer it otherwise.

        `token` says whether it carries the secret, and is None if it needs none:
        then its connection stays a stranger's, of which one request is parsed.
        `without` is what a client that lacks it reads. With `own_page`, only a
        page of ours may ask.
        """
        refused = self._refusal(scope, token, without, own_page)
        if refused is not None:
            await self.refuse(*refused, scope, receive, send)
        return refused is None

    async def refuse(
        self, status: int, message: str, scope: "Scope", receive: "Receive", send: "Send"
    ) -> None:
        """Answer once the rest of the request has come: a client cut off while it sends reads nothing."""
        await self.drain(scope, receive)
        await self._render(status, message)(scope, receive, send)

    async def drain(self, scope: "Scope", receive: "Receive") -> None:
        """Drop the rest of a request that is refused, as far as that is soon done."""
        waits = b"100-continue" in [value.lower() for field, value in scope["headers"] if field == b"expect"]
        if scope["type"] == "http" and not waits:
            length = None if fields(scope, "transfer-encoding") else declared(scope)
            left = 4 * LARGEST
            try:
                async with asyncio.timeout(PATIENCE / 10):
                    while left > 0 and not await self.visitors.discard(scope["state"][TRANSPORT], length):
                        piece = await receive()
                        left -= len(piece.get("body", b""))
                        if not piece.get("more_body", False):
                            break
            except TimeoutError:
                pass

    async def body(self, scope: "Scope", receive: "Receive", send: "Send") -> bytes | None:
        """Return the whole body of a request; None if it was answered, or the client has gone.

        A websocket has none, and is refused.
        """
        if scope["type"] == "websocket":
            await self._render(400, "there is no WebSocket at this path; use HTTP")(scope, receive, send)
            return None
        body = bytearray()
        fits = more = declared(scope) <= LARGEST
        try:
            async with asyncio.timeout(PATIENCE):
                while fits and more:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    body += message.get("body", b"")
                    fits, more = len(body) <= LARGEST, message.get("more_body", False)
        except TimeoutError:
            said = f"a request must have come within {PATIENCE:.0f} s"
            await self._render(408, said)(scope, receive, send)
            return None
        if fits:
            return bytes(body)
        said = f"a request may have {LARGEST} bytes, not more; write large data to a file first"
        await self.refuse(413, said, scope, receive, send)
        return None

    def _refusal(
        self, scope: "Scope", token: bool | None, without: str, own_page: bool
    ) -> tuple[int, str] | None:
        hosts, origins = fields(scope, "host"), fields(scope, "origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 403, f"This server is called {' or '.join(self.names)}; use the address that it printed."
        if (origins or own_page) and [one.lower() for one in origins] != [f"http://{hosts[0].lower()}"]:
            return 403, "This server speaks to its own pages only."
        if token is None:
            return None
        if not token:
            return 401, without
        if not self.visitors.know(scope["state"][TRANSPORT]):
            return 503, "Too many connections are open. Close some, then try again."
        return None

    def _is_ours(self, field: str) -> bool:
        """True if a Host field names this server."""
        host, port = _split(field)
        if self._port is not None and port != self._port:
            return False
        if host in self._hosts:
            return True
        try:
            return self._any_address and bool(ip_address(host))
        except ValueError:
            return False


def same(given: str, wanted: str) -> bool:
    """True if two texts are equal, compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def fields(scope: "Scope", name: str) -> list[str]:
    """Return all values of a header, whose name is in lower case."""
    wanted = name.encode()
    return [value.decode("latin-1") for field, value in scope["headers"] if field == wanted]


def declared(scope: "Scope") -> int:
    """Return the declared length of a body, 0 without one; the parser has checked that it is a number."""
    said = fields(scope, "content-length")
    return int(said[0][:16]) if said else 0


def host_of(field: str) -> str:
    """Return the host of a Host field, without its port, as an address has it."""
    host = _split(field)[0]
    return f"[{host}]" if ":" in host else host


def _split(field: str) -> tuple[str, str]:
    """Return host and port of a Host field, the host in lower case without brackets; "" if invalid."""
    host, colon, port = field.rpartition(":")
    if not colon or "]" in port:
        host, port = field, ""
    if port and not (port.isascii() and port.isdecimal()):
        return "", ""
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1].lower(), port or _DEFAULT_PORT
    return "" if ":" in host else host.lower(), port or _DEFAULT_PORT
