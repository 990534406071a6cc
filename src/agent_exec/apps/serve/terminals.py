"""Terminals over WebSockets: each relays one viewer to the private socket of its session's server."""

import asyncio
from time import time
from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.shared_sessions import attach
from agent_exec.engine.awaiting import in_thread
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.jsonline import dump
from agent_exec.model.output import unfinished
from agent_exec.sessions.sharing.frames import Frames, frame, parse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.types import Receive, Send

    from agent_exec.apps.serve.operation import Exchange
    from agent_exec.apps.serve.service import Service
    from agent_exec.apps.web.events import Event
    from agent_exec.sessions.sharing.client import Conversation
    from agent_exec.sessions.sharing.frames import Message

PROTOCOL = "agent-exec"
"""The subprotocol that a client offers beside its token."""

_PIECE = 64 << 10
_LONGEST = 18
_LAST = ("end", "error")
_ENDED = (1000, "")
_LOST = (1011, "the server of the session has ended")
_EXPIRED = (1008, "the token has expired; use another")


async def show(_service: "Service", given: "dict[str, Any]", exchange: "Exchange") -> None:
    """Show a session to a viewer until one of both ends; raise an error, before that, if there is none."""
    allowed = exchange.allowed
    talk, hello = await in_thread(lambda: attach(**given, watch=allowed.read_only), lambda: None)
    try:
        await exchange.receive()  # the request itself
        offered = PROTOCOL if PROTOCOL in exchange.scope["subprotocols"] else None
        await exchange.send({"type": "websocket.accept", "subprotocol": offered})
        seconds = max(0.0, allowed.expires - time()) if allowed.expires else None
        await _Viewer(talk, hello, exchange.receive, exchange.send).relay(seconds)
    except OSError:
        return  # the viewer has gone
    finally:
        talk.close()


def parse_cursor(text: str) -> int:
    """Return the offset that a cursor stands for."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST):
        raise InvalidArgument(f"Last-Event-ID must be the id of an event of this stream; got {text[:99]!r}")
    return int(text)


async def follow(session: str, offset: int) -> "AsyncGenerator[Event, None]":
    """Return what a session prints from an offset on as events, and its end; raise HttpError without one."""
    talk, _ = await in_thread(lambda: attach(session, offset=offset, watch=True), lambda: None)
    return _events(talk, offset)


async def _events(talk: "Conversation", offset: int) -> "AsyncGenerator[Event, None]":
    held = b""  # the beginning of a character
    try:
        async for message in _messages(talk):
            if isinstance(message, bytes):
                data = held + message
                data, held = data[: len(data) - unfinished(data)], data[len(data) - unfinished(data) :]
                if data:
                    begin, offset = offset, offset + len(data)
                    yield (
                        "output",
                        {"from": begin, "to": offset, "text": data.decode(errors="replace")},
                        str(offset),
                    )
                continue
            kind = str(message.pop("type"))
            if kind == "snapshot":
                held, offset = b"", message["offset"]
            if kind in ("snapshot", "resize", "end"):
                yield kind, message, str(offset)
    finally:
        talk.close()


async def _messages(talk: "Conversation") -> "AsyncGenerator[Message, None]":
    """Return messages as they come; none is read before the one before it was used."""
    loop, frames = asyncio.get_running_loop(), Frames()
    talk.connection.setblocking(False)
    while True:
        try:
            data = await loop.sock_recv(talk.connection, _PIECE)
        except ConnectionError:
            return
        if not data:
            return
        for message in frames.feed(data):
            yield message


class _Viewer:
    """One WebSocket and the private connection that serves it; nothing is read that cannot be passed on."""

    def __init__(
        self, talk: "Conversation", hello: "dict[str, Any]", receive: "Receive", send: "Send"
    ) -> None:
        self._talk = talk
        self._hello = hello
        self._receive = receive
        self._send = send

    async def relay(self, seconds: float | None) -> None:
        """Relay until one side hangs up, or for so many seconds."""
        showing, typing = asyncio.ensure_future(self._show()), asyncio.ensure_future(self._type())
        both = (showing, typing)
        try:
            await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.wait(both)  # the event loop watches the connection until then
        if not typing.cancelled():
            typing.result()
            return  # the viewer has gone
        code, reason = _EXPIRED if showing.cancelled() else showing.result()
        await self._send({"type": "websocket.close", "code": code, "reason": reason})

    async def _show(self) -> tuple[int, str]:
        """Pass on what the session prints and says; return why that has ended."""
        ended = _LOST
        await self._pass_on(self._hello)
        async for message in _messages(self._talk):
            await self._pass_on(message)
            if isinstance(message, dict) and message.get("type") in _LAST:
                ended = _ENDED
        return ended

    async def _pass_on(self, message: "Message") -> None:
        kind, content = ("text", dump(message)) if isinstance(message, dict) else ("bytes", message)
        await self._send({"type": "websocket.send", kind: content})

    async def _type(self) -> None:
        """Pass on what the viewer sends, until it hangs up."""
        loop, lost = asyncio.get_running_loop(), False
        while (given := await self._receive())["type"] != "websocket.disconnect":
            text = given.get("text")
            try:
                message = given.get("bytes") or b"" if text is None else parse("j", text.encode())
            except InvalidArgument as error:
                await self._pass_on({"type": "refused", "code": error.code, "message": error.message})
                continue
            if not lost:
                try:
                    await loop.sock_sendall(self._talk.connection, frame(message))
                except ConnectionError:
                    lost = True  # what the session said last is still to be passed on
