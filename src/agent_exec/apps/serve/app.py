"""The application: each request is admitted, matched with an operation, carried out, and answered."""

import asyncio
from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve import approval_operations, files, job_operations, preview, session_operations
from agent_exec.apps.serve.openapi import document
from agent_exec.apps.serve.operation import Exchange, Request, current, find
from agent_exec.apps.serve.pages import is_page, send_page
from agent_exec.apps.serve.problems import KIND, HttpError, of_answer, of_error, problem
from agent_exec.apps.serve.streams import ended, job_events, job_output
from agent_exec.apps.serve.terminals import follow, parse_cursor
from agent_exec.apps.serve.tokens import scope_of
from agent_exec.apps.web.events import KIND as EVENTS
from agent_exec.apps.web.events import send_events
from agent_exec.apps.web.guard import fields, host_of
from agent_exec.apps.web.listening import bearer
from agent_exec.engine.awaiting import in_thread
from agent_exec.faces.answers import of_the_system
from agent_exec.model.errors import AgentExecError
from agent_exec.model.jsonline import dump

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from agent_exec.apps.serve.keys import Keys
    from agent_exec.apps.serve.operation import Operation
    from agent_exec.apps.serve.service import Service
    from agent_exec.apps.serve.tokens import Scope as Allowed
    from agent_exec.apps.web.events import Event
    from agent_exec.apps.web.guard import Guard

OPERATIONS = (
    *job_operations.OPERATIONS,
    *session_operations.OPERATIONS,
    *files.OPERATIONS,
    *approval_operations.OPERATIONS,
    *preview.OPERATIONS,
)
WITHOUT = "send the header `Authorization: Bearer TOKEN` with the server's token, or one that it made"
DOCUMENT = "/openapi.json"

_JSON = "application/json"
_CODES = {400: "invalid_argument", 401: "unauthorized", 403: "forbidden", 408: "timed_out", 413: "too_large"}
_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]


class Api:
    """The HTTP interface of a service, behind a guard; `token` is the server's own."""

    def __init__(self, service: "Service", keys: "Keys", guard: "Guard", token: str) -> None:
        self._service = service
        self._keys = keys
        self._guard = guard
        self._token = token
        self._document: dict[str, Any] | None = None

    async def close(self) -> None:
        """End all sessions and one-shot commands; jobs go on."""
        await in_thread(self._service.close, lambda: None)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        if is_page(scope):
            if await self._guard.admit(scope, receive, send, token=None):
                await send_page(scope, send)
            return
        allowed = scope_of(self._token, bearer(scope))
        if not await self._guard.admit(scope, receive, send, token=allowed is not None, without=WITHOUT):
            return
        assert allowed is not None
        exchange = Exchange(scope, receive, send, allowed) if _reads_itself(scope) else None
        body = b"" if exchange else await self._guard.body(scope, receive, send)
        if body is None:
            return
        try:
            if scope["path"] == DOCUMENT and scope["method"] == "GET":
                await _answer(send, 200, self._openapi())
                return
            operation, variables = _match(scope)
            if body and (kind := _kind(scope)) != _JSON:
                raise HttpError("not_json", f"the body must be sent as {_JSON}; got {kind or 'nothing'}")
            given = operation.given(variables, scope["query_string"].decode("latin-1"), body)
            if "job" in given:
                given["job"] = self._service.job(given["job"])
            if why := allowed.refusal(operation, given):
                raise HttpError("forbidden", why)
            if operation.raw is not None and exchange is not None:
                told = await operation.raw(self._service, given, exchange)
                if told is not None:
                    await _answer(send, 200, told)
                return
            if operation.streams and EVENTS in "".join(fields(scope, "accept")):
                events = await self._events(operation, given, scope, allowed)
                await send_events(ended(events), receive, send)
                return
            status, answer, again = await self._perform(operation, given, scope, receive)
            answer = allowed.shown(answer)
        except (AgentExecError, HttpError) as error:
            status, answer = of_error(error)
            again = False
        except OSError as error:
            status, answer = of_error(of_the_system(error))
            again = False
        if exchange is not None and not exchange.received:
            await self._guard.drain(scope, receive)
        await _answer(send, status, answer, again=again)

    def _openapi(self) -> "dict[str, Any]":
        if self._document is None:
            self._document = document(OPERATIONS)
        return self._document

    async def _events(
        self, operation: "Operation", given: "dict[str, Any]", scope: "Scope", allowed: "Allowed"
    ) -> "AsyncGenerator[Event, None]":
        seen = "".join(fields(scope, "last-event-id")[-1:])
        if operation.streams == approval_operations.STREAM:
            return approval_operations.approval_events(present=allowed.answers)
        if operation.streams == "events":
            return job_events(self._service, {**given, **({"since": seen} if seen else {})})
        if operation.streams == "session":
            return await follow(given["session"], parse_cursor(seen) if seen else given.get("from", 0))
        return job_output(self._service, given["job"], seen or given.get("cursor"), given.get("attempt"))

    async def _perform(
        self, operation: "Operation", given: "dict[str, Any]", scope: "Scope", receive: "Receive"
    ) -> "tuple[int, dict[str, Any], bool]":
        """Carry a request out in a thread; return status and answer, and whether it had been before.

        A client that hangs up ends the waiting, never what it has started.
        """
        keys = fields(scope, "idempotency-key")
        if len(keys) > 1:
            raise HttpError("invalid_argument", "the header Idempotency-Key is there twice; send it once")
        host = host_of(fields(scope, "host")[0])
        request = Request(lambda _job: None, host)

        def act() -> "tuple[dict[str, Any], bool]":
            current.set(request)  # of this thread, which ends with it
            if not (keys and operation.starts):
                return operation.act(self._service, given, request), False

            def begin(asked: "dict[str, Any]", begun: "Any") -> "dict[str, Any]":
                request.on_begin = begun
                return operation.act(self._service, asked, request)

            return self._keys.once(keys[0], operation.name, given, begin)

        watching = asyncio.ensure_future(_hang_up(receive, request))
        try:
            answer, again = await in_thread(act, request.set)
        finally:
            watching.cancel()
        if not answer["ok"]:
            return *of_answer(answer), again
        return 200, answer, again


async def _hang_up(receive: "Receive", request: Request) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    request.set()


def _match(scope: "Scope") -> "tuple[Operation, dict[str, str]]":
    """Return the operation that a request is for, and the fields in its path."""
    found = find(OPERATIONS, scope["path"])
    if not found:
        raise HttpError("no_such_path", f"there is nothing at {scope['path']!r}; {DOCUMENT} lists all paths")
    method = scope["method"]
    if method not in found:
        allowed = ", ".join(sorted(found))
        raise HttpError("method_not_allowed", f"{scope['path']} takes {allowed}; got {method}", allow=allowed)
    return found[method]


def _reads_itself(scope: "Scope") -> bool:
    """True if a request is left to its operation, body and all."""
    found = find(OPERATIONS, scope["path"]).get(scope["method"])
    if found is None or found[0].raw is None:
        return False
    return bool(found[0].websocket == (scope["type"] == "websocket"))


def _kind(scope: "Scope") -> str:
    """Return the type of a request's body, without its parameters."""
    return "".join(fields(scope, "content-type")).partition(";")[0].strip().lower()


async def _answer(
    send: "Send", status: int, answer: "dict[str, Any]", *, again: bool = False, last: bool = False
) -> None:
    """Send an answer; `again` if the request had been carried out before, `last` to hang up after it."""
    body = f"{dump(answer)}\n".encode("utf-8", "surrogateescape")
    kind = _JSON if status == 200 else KIND
    head = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(body)).encode()),
        *_HEADERS,
        *([(b"idempotent-replayed", b"true")] if again else []),
        *([(b"allow", str(answer["details"]["allow"]).encode())] if status == 405 else []),
        *([(b"www-authenticate", b"Bearer")] if status == 401 else []),
        *([(b"connection", b"close")] if last else []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def refusal(status: int, message: str) -> "ASGIApp":
    """Return an application that refuses a request before it is read."""

    async def refuse(_scope: "Scope", _receive: "Receive", send: "Send") -> None:
        _, told = problem(_CODES.get(status, "full"), message, retryable=status in (408, 503))
        await _answer(send, status, told, last=True)

    return refuse
