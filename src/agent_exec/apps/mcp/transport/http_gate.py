"""What stands before the protocol over HTTP: who asks, from where, for what, and how much.

A page in a browser can reach our port, under a name that leads here or from
its own address; so the name of the host and the origin are looked at, and
nothing is ever allowed to other origins. All else needs the token.
"""

import hmac
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from anyio import fail_after, move_on_after
from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError
from starlette.responses import Response

from agent_exec.apps.mcp.transport.http_connection import TRANSPORT
from agent_exec.model.jsonline import escaped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from starlette.types import Message, Receive, Scope, Send

    from agent_exec.apps.visitors import Visitors

    Inner = Callable[[Scope, Receive, Send, str, bytes], Awaitable[None]]

LARGEST = 4 << 20
"""The most bytes that a request may have."""

PATIENCE = 30.0
"""Seconds within which a request must have come."""

PATH = "/mcp"
_LOCAL = ("localhost", "127.0.0.1", "::1")
_LONGEST_NAME = 64


class Gate:
    """Lets in who may, with the name after the path and the whole body; answers the others itself."""

    def __init__(
        self,
        inner: "Inner",
        token: str,
        hosts: "Collection[str]",
        visitors: "Visitors",
        *,
        any_address: bool,
    ) -> None:
        self._inner = inner
        self._token = token.encode()
        self._hosts = {*_LOCAL, *(host.lower() for host in hosts)}
        self._visitors = visitors
        self._any_address = any_address

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        send = _escaping(send)
        refused = self._refusal(scope)
        if refused is not None:
            await self._refuse(refused, scope, receive, send)
            return
        try:
            if _declared(scope) > LARGEST:
                raise _TooLarge
            with fail_after(PATIENCE):
                body = await _body(receive)
        except TimeoutError:
            await refusal(408, f"a request must have come within {PATIENCE:.0f} s")(scope, receive, send)
            return
        except _TooLarge:
            message = f"a request may have {LARGEST} bytes, not more; write large things to a file first"
            await self._refuse(refusal(413, message), scope, receive, send)
            return
        if body is None:
            return  # the client has gone
        name = scope["path"][len(PATH) :].lstrip("/")
        await self._inner(scope, _again(body, receive), send, name, body)

    def _refusal(self, scope: "Scope") -> Response | None:
        given = _fields(scope, b"host"), _fields(scope, b"origin"), _fields(scope, b"authorization")
        hosts, origins, tokens = given
        if len(hosts) != 1 or not self._known(hosts[0]):
            return refusal(403, "this server is not called so; use the address that it printed")
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return refusal(403, "pages of other origins are not served")
        if len(tokens) != 1 or not self._allowed(tokens[0]):
            answer = refusal(401, "send the header `Authorization: Bearer TOKEN` with the server's token")
            answer.headers["www-authenticate"] = "Bearer"
            return answer
        if not self._visitors.know(scope["state"][TRANSPORT]):
            answer = refusal(503, "too many connections are open; close some, or try again")
            answer.headers["retry-after"] = "1"
            return answer
        path = scope["path"]
        rest = path[len(PATH) :]
        plain = rest[1:].replace("-", "").replace("_", "").replace(".", "")
        if not path.startswith(PATH) or (
            rest not in ("", "/")
            and not (rest[0] == "/" and plain.isalnum() and plain.isascii() and len(rest) <= _LONGEST_NAME)
        ):
            return refusal(404, f"the protocol is at {PATH}, or {PATH}/NAME")
        return None

    async def _refuse(self, answer: Response, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer once the rest of the request has come: a client cut off while it sends reads nothing."""
        if b"100-continue" not in [value.lower() for field, value in scope["headers"] if field == b"expect"]:
            length = None if _fields(scope, b"transfer-encoding") else _declared(scope)
            left = 4 * LARGEST
            with move_on_after(PATIENCE / 10):
                while left > 0 and not await self._visitors.discard(scope["state"][TRANSPORT], length):
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        break
        await answer(scope, receive, send)

    def _known(self, field: str) -> bool:
        """Whether a field `host` names us; by an address nobody can be led here who did not want to come."""
        host = _host(field)
        if host in self._hosts:
            return True
        if not self._any_address:
            return False
        try:
            ip_address(host)
        except ValueError:
            return False
        return True

    def _allowed(self, field: str) -> bool:
        scheme, _, token = field.partition(" ")
        given = token.strip().encode("latin-1", "replace")
        return hmac.compare_digest(given, self._token) and scheme.lower() == "bearer"


class _TooLarge(Exception):
    """More than a request may have."""


def refusal(status: int, message: str) -> Response:
    """Give an answer that says no, in the words of the protocol."""
    body = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=INVALID_REQUEST, message=message))
    return Response(
        body.model_dump_json(by_alias=True, exclude_unset=True),
        status,
        {"connection": "close", "cache-control": "no-store"},
        "application/json",
    )


def _fields(scope: "Scope", name: bytes) -> list[str]:
    return [value.decode("latin-1") for field, value in scope["headers"] if field == name]


def _host(field: str) -> str:
    """Give the host of `host:port`, in lower case and without brackets; nothing for what is neither."""
    host, colon, port = field.rpartition(":")
    if not colon or "]" in port:
        host, port = field, ""
    if port and not (port.isascii() and port.isdecimal()):
        return ""
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1].lower()
    return "" if ":" in host else host.lower()


def _declared(scope: "Scope") -> int:
    """Give how long the body is to be, as far as that was said; the server has seen that it is a number."""
    said = _fields(scope, b"content-length")
    return int(said[0][:16]) if said else 0


async def _body(receive: "Receive") -> bytes | None:
    """Take the whole body; nothing if the client goes before it has come."""
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > LARGEST:
            raise _TooLarge
        if not message.get("more_body", False):
            return b"".join(pieces)


def _again(body: bytes, receive: "Receive") -> "Receive":
    """Give a way to take the body once more, and then what comes after it."""
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def taken() -> "Message":
        return messages.pop() if messages else await receive()

    return taken


def _escaping(send: "Send") -> "Send":
    """Return a way to send JSON, or events of JSON, with what a terminal obeys escaped, as over stdio.

    Both are sent in pieces of whole text. The head of an answer that says
    how long it is waits for the body, which escapes make longer.
    """
    heads: list[Message] = []

    async def sent(message: "Message") -> None:
        if message["type"] == "http.response.start" and any(
            name.lower() == b"content-length" for name, _ in message["headers"]
        ):
            heads.append(message)
            return
        body = message.get("body", b"")
        if not body.isascii() or b"\x7f" in body:
            body = escaped(body.decode(errors="replace")).encode()
            message = {**message, "body": body}
        if heads:
            head = heads.pop()
            length = str(len(body)).encode()
            fields = [
                (name, length if name.lower() == b"content-length" else value)
                for name, value in head["headers"]
            ]
            await send({**head, "headers": fields})
        await send(message)

    return sent
