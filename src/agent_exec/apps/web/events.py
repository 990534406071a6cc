"""Sends server-sent events: one writer for every stream of ours over HTTP."""

import asyncio
from typing import TYPE_CHECKING, Any

from agent_exec.model.jsonline import dump

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from starlette.types import Receive, Send

    Event = tuple[str, dict[str, Any], str]
    """Its name, its data, and the cursor behind it; an empty cursor is left out."""

KIND = "text/event-stream"

PING_EVERY = 15.0
"""Seconds of silence before a comment is sent, so that no proxy takes the stream for dead."""

_HEAD = [
    (b"content-type", KIND.encode()),  # always UTF-8: a charset adds nothing, and some clients compare
    (b"cache-control", b"no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_PING = b": ping\n\n"


async def send_events(
    events: "AsyncIterator[Event]",
    receive: "Receive",
    send: "Send",
    *,
    headers: "Sequence[tuple[bytes, bytes]]" = (),
    alone: "Callable[[Event], Awaitable[bool]] | None" = None,
) -> None:
    """Send events until there are no more, or the client hangs up.

    With `alone`, the head waits for the first event or the first ping:
    `alone` may answer that event in another way, and returns True then.
    """

    async def begin() -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [*_HEAD, *headers]})

    gone = asyncio.ensure_future(_gone(receive))
    following: asyncio.Future[Event | None] | None = None
    begun = alone is None
    try:
        if begun:
            await begin()
        more = True
        while more:
            if following is None:
                following = asyncio.ensure_future(anext(events, None))
            await asyncio.wait((following, gone), timeout=PING_EVERY, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            body = _PING
            if following.done():
                event, following = following.result(), None
                if event is not None and alone is not None and not begun and await alone(event):
                    return
                more, body = event is not None, _text(event)
            if not begun:
                await begin()
                begun = True
            await send({"type": "http.response.body", "body": body, "more_body": more})
    finally:
        gone.cancel()
        if following is not None:
            following.cancel()
            await asyncio.wait((following,))
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


def _text(event: "Event | None") -> bytes:
    if event is None:
        return b""
    name, data, cursor = event
    head = f"id: {cursor}\n" if cursor else ""
    return f"event: {name}\n{head}data: {dump(data)}\n\n".encode("utf-8", "replace")


async def _gone(receive: "Receive") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
