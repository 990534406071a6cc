"""One HTTP request and its answer: an object of JSON, or a stream of events that any thread sends."""

import asyncio
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from agent_exec.apps.mcp.rpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    RpcError,
    parse,
    write,
)
from agent_exec.apps.web.events import KIND as EVENTS
from agent_exec.apps.web.events import send_events
from agent_exec.apps.web.guard import fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from agent_exec.apps.mcp.rpc import Message
    from agent_exec.apps.web.events import Event

_MOST = 1024
"""How many messages may wait for a client; beyond that, all but answers are dropped."""

_JSON = "application/json"
_HINTS = {
    401: [(b"www-authenticate", b"Bearer")],
    405: [(b"allow", b"GET, POST, DELETE")],
    503: [(b"retry-after", b"1")],
}
_STATUS = {
    **dict.fromkeys(
        (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, HEADER_MISMATCH, UNSUPPORTED_VERSION), 400
    ),
    METHOD_NOT_FOUND: 404,
}

Value = TypeVar("Value")


class Stream:
    """The messages of one answer, read as they come: the last has no method; None is an end without it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[Message | None] = asyncio.Queue()
        self._over = False

    def send(self, message: "Message | None") -> None:
        """Send a message, from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._put, message)
        except RuntimeError:  # the loop has ended
            return

    def _put(self, message: "Message | None") -> None:
        if _is_last(message) or self._waiting.qsize() < _MOST:
            self._waiting.put_nowait(message)

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> "Message":
        message = None if self._over else await self._waiting.get()
        self._over = _is_last(message)
        if message is None:
            raise StopAsyncIteration
        return message


def _is_last(message: "Message | None") -> bool:
    """True if nothing follows a message in its stream."""
    return message is None or "method" not in message


class Exchange:
    """One request of a client that may ask, and its answer."""

    def __init__(self, scope: "Scope", receive: "Receive", send: "Send", body: bytes = b"") -> None:
        self.method: str = scope["method"]
        self._scope = scope
        self._receive = receive
        self._send = send
        self._body = body

    def field(self, name: str) -> str | None:
        """Return a field of the head; raise RpcError if it is there twice."""
        found = fields(self._scope, name)
        if len(found) > 1:
            raise RpcError(HEADER_MISMATCH, f"the header {name} is there twice; send it once")
        return found[0] if found else None

    def message(self) -> "Message":
        """Return the message in the body; raise RpcError for all else."""
        return parse(self._body)

    def unacceptable(self) -> tuple[int, str] | None:
        """Return the status and message of a refusal if we do not speak what the client does."""
        kinds = [
            kind.partition(";")[0].strip().lower() for kind in (self.field("accept") or "*/*").split(",")
        ]
        wanted = (EVENTS,) if self.method == "GET" else (_JSON, EVENTS)
        for one in wanted:
            if not {"*/*", f"{one.partition('/')[0]}/*", one} & {*kinds}:
                return 406, f"the header Accept must name {' and '.join(wanted)}"
        if (
            self.method == "POST"
            and (self.field("content-type") or _JSON).partition(";")[0].strip().lower() != _JSON
        ):
            return 415, f"a message is sent as {_JSON}"
        return None

    async def refuse(self, status: int, message: str) -> None:
        """Answer with an error of JSON-RPC, and hang up."""
        headers = [(b"connection", b"close"), (b"cache-control", b"no-store"), *_HINTS.get(status, ())]
        await self.answer(RpcError(INVALID_REQUEST, message).answer(None), status, headers)

    async def answer(
        self,
        message: "Message | None",
        status: int | None = None,
        headers: "list[tuple[bytes, bytes]] | None" = None,
    ) -> None:
        """Answer with a message; without one, the body is empty."""
        body = b"" if message is None else write(message)
        if status is None:
            status = _STATUS.get(message["error"]["code"], 200) if message and "error" in message else 200
        length = (b"content-length", str(len(body)).encode())
        head = [(b"content-type", _JSON.encode()), length, *(headers or ())]
        await self._send({"type": "http.response.start", "status": status, "headers": head})
        await self._send({"type": "http.response.body", "body": body})

    async def stream(self, stream: Stream, headers: "list[tuple[bytes, bytes]] | None" = None) -> None:
        """Answer with messages until the last, or until the client hangs up.

        Without headers, an answer that comes first is sent alone.
        """

        async def alone(event: "Event") -> bool:
            if _is_last(event[1]):
                await self.answer(event[1])
                return True
            return False

        events = (("message", message, "") async for message in stream)
        await send_events(
            events, self._receive, self._send, headers=headers or (), alone=alone if headers is None else None
        )


def refusal(status: int, message: str) -> "ASGIApp":
    """Return an application that refuses a request, as an error of JSON-RPC."""

    async def refuse(scope: "Scope", receive: "Receive", send: "Send") -> None:
        await Exchange(scope, receive, send).refuse(status, message)

    return refuse


async def somehow(call: "Callable[[], Value]") -> Value:
    """Have something done in a thread, or at once if there is none; wait for its end, even if cancelled."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    found: list[Value] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(call())
        except BaseException as error:
            failed.append(error)
        loop.call_soon_threadsafe(done.set)

    try:
        Thread(target=work, daemon=True).start()
    except RuntimeError:
        work()
    cancelled = False
    while not done.is_set():
        try:
            await done.wait()
        except asyncio.CancelledError:
            cancelled = True
    task = asyncio.current_task()
    if cancelled and task is not None:
        task.cancel()
    if failed:
        raise failed[0]
    return found[0]
