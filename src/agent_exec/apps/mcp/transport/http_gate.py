"""What stands before the protocol over HTTP: the guard, the one path, and a body of bounded size."""

from typing import TYPE_CHECKING, Any

from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError
from starlette.responses import Response

from agent_exec.apps.web.guard import fields, same
from agent_exec.model.jsonline import escaped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Message, Receive, Scope, Send

    from agent_exec.apps.web.guard import Guard

    Inner = Callable[[Scope, Receive, Send, str, bytes], Awaitable[None]]

PATH = "/mcp"
_LONGEST_NAME = 64
_HINTS = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}


class Gate:
    """Passes on requests with the name after the path and the whole body; answers all others itself."""

    def __init__(self, inner: "Inner", token: str, guard: "Guard") -> None:
        self._inner = inner
        self._token = token
        self._guard = guard

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        send = _escaping(send)
        if not await self._guard.admit(
            scope,
            receive,
            send,
            token=self._has_token(scope),
            without="send the header `Authorization: Bearer TOKEN` with the server's token",
        ):
            return
        name = _name(scope["path"])
        if name is None:
            await self._guard.refuse(404, f"the protocol is at {PATH}, or {PATH}/NAME", scope, receive, send)
            return
        body = await self._guard.body(scope, receive, send)
        if body is not None:
            await self._inner(scope, _again(body, receive), send, name, body)

    def _has_token(self, scope: "Scope") -> bool:
        given = fields(scope, "authorization")
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        return same(token.strip(), self._token) and scheme.lower() == "bearer"


def refusal(status: int, message: str) -> Response:
    """Return an answer that refuses a request, as an error of JSON-RPC."""
    body = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=INVALID_REQUEST, message=message))
    headers = {"connection": "close", "cache-control": "no-store", **_HINTS.get(status, {})}
    return Response(
        body.model_dump_json(by_alias=True, exclude_unset=True), status, headers, "application/json"
    )


def _name(path: str) -> str | None:
    """Return the name after the path of the protocol, "" without one; None for any other path."""
    rest = path[len(PATH) :]
    plain = rest[1:].replace("-", "").replace("_", "").replace(".", "")
    if not path.startswith(PATH) or (
        rest not in ("", "/")
        and not (rest[0] == "/" and plain.isalnum() and plain.isascii() and len(rest) <= _LONGEST_NAME)
    ):
        return None
    return rest.lstrip("/")


def _again(body: bytes, receive: "Receive") -> "Receive":
    """Return a `receive` that gives the body once more, and then what comes after it."""
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def taken() -> "Message":
        return messages.pop() if messages else await receive()

    return taken


def _escaping(send: "Send") -> "Send":
    """Return a `send` for JSON, or events of JSON, that escapes control characters, as over stdio.

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
