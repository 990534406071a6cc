"""A tab of the browser and the app that it shows: a process of its own, which ends when the tab does.

The app speaks as Textual's web driver does: a prelude, then packets of a
letter, a length and a payload.
"""

import asyncio
import json
import os
import threading
from typing import TYPE_CHECKING, Any

from starlette.websockets import WebSocketDisconnect

from agent_exec.engine.engine import Engine
from agent_exec.model.command import Command, Limits
from agent_exec.model.errors import InputClosed
from agent_exec.model.output import Tail
from agent_exec.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.websockets import WebSocket

    from agent_exec.engine.run import Run

GRACE = 2.0
"""How long an app that was asked to end may take, before it is ended by force."""

_AHEAD = 1024 * 1024
"""How much may be drawn and not yet shown; then the app has to wait for the browser."""

_WIDEST, _HIGHEST = 1000, 500
_PRELUDE = b"__GANGLION__\n"
_HEAD = 5
_LONGEST_PRELUDE = 65536
_LONGEST_PACKET = 16 * 1024 * 1024


class Packets:
    """Cuts what an app prints into packets, independent of how the pipe has cut it."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.started = False
        """True if the app has begun to draw."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return what was drawn, as far as its packets are complete; raise ValueError for other output."""
        buffer = self._buffer
        buffer += chunk
        if not self.started:
            before, prelude, rest = buffer.partition(_PRELUDE)
            if not prelude:
                if len(before) > _LONGEST_PRELUDE:
                    raise ValueError("what was started is not an app that can be served")
                return []
            buffer[:] = rest
            self.started = True
        drawn = []
        place = 0
        while len(buffer) - place >= _HEAD:
            size = int.from_bytes(buffer[place + 1 : place + _HEAD], "big")
            if size > _LONGEST_PACKET:
                raise ValueError("the app sent something that is not a packet")
            start, end = place + _HEAD, place + _HEAD + size
            if len(buffer) < end:
                break
            if buffer[place : place + 1] == b"D":
                drawn.append(bytes(buffer[start:end]))
            place = end
        del buffer[:place]
        return drawn


class Tab:
    """Runs the app, and passes on what is typed and drawn; nothing of it is left once it is closed.

    The app is run by an engine: if this process ends in any way, a keeper
    ends the app and all that the app has started.
    """

    def __init__(self, argv: "Sequence[str]", env: "Mapping[str, str]", socket: "WebSocket") -> None:
        self._socket = socket
        self._loop = asyncio.get_running_loop()
        self._packets = Packets()
        self._room = threading.Condition()
        self._drawn: list[bytes] = []
        self._ahead = 0
        self._fresh = asyncio.Event()
        self._over = False
        self._closing: asyncio.Task[None] | None = None
        self._engine = Engine(1)  # its own, for its thread waits when this browser is slow
        self._command = Command(
            argv,
            env=env,
            interactive=True,
            limits=Limits(grace=GRACE),
            keep=Tail(16384),
            on_output=self._heard,
        )

    async def show(self) -> str:
        """Run the app until it ends or the tab is closed; return the error message, if it failed."""
        run = self._engine.start(self._command)
        ended = asyncio.wrap_future(run.future)
        work: list[asyncio.Future[Any]] = [
            asyncio.create_task(self._draw()),
            asyncio.create_task(self._listen(run)),
            ended,
        ]
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            alone = ended.done()
            for task in work[:2]:
                task.cancel()
            await self.close()
        await asyncio.wait(work)
        for task in work:
            failure = None if task.cancelled() else task.exception()
            if failure is not None and not isinstance(failure, WebSocketDisconnect | InputClosed):
                return str(failure) or repr(failure)
        if alone and (ended.result().exit_code or not self._packets.started):
            return run.stderr.decode("utf-8", "replace").strip() or "it ended before it drew anything"
        return ""

    async def close(self) -> None:
        """End the app and all it runs, and wait for that; idempotent."""
        if self._closing is None:
            with self._room:
                self._over = True
                self._room.notify_all()
            self._closing = asyncio.create_task(asyncio.to_thread(self._engine.close))
        await asyncio.shield(self._closing)

    def _heard(self, stream: str, chunk: bytes) -> None:
        """Queue what the app printed, in the engine's thread; wait while the browser is too far behind."""
        drawn = [] if stream != "stdout" or self._over else self._packets.feed(chunk)
        if not drawn:
            return
        with self._room:
            self._drawn += drawn
            self._ahead += sum(map(len, drawn))
            self._loop.call_soon_threadsafe(self._fresh.set)
            while self._ahead > _AHEAD and not self._over:
                self._room.wait()

    async def _draw(self) -> None:
        """Send what is drawn to the browser, as much at a time as has come together."""
        while True:
            await self._fresh.wait()
            self._fresh.clear()
            with self._room:
                drawn = b"".join(self._drawn)
                self._drawn.clear()
            if drawn:
                await self._socket.send_bytes(drawn)
            with self._room:
                self._ahead -= len(drawn)
                self._room.notify_all()

    async def _listen(self, run: "Run") -> None:
        """Pass on what happens in the browser, until it hangs up or sends an invalid message."""
        while True:
            text = (await self._socket.receive()).get("text")
            if text is None:
                return
            try:
                message = json.loads(text)
                if message[0] == "ping":
                    await self._socket.send_text(json.dumps(["pong", str(message[1])]))
                    continue
                packet = _packet(message)
            except (ValueError, LookupError, TypeError, RecursionError):
                return
            run.write(packet)


def _packet(message: Any) -> bytes:
    """Return the packet for a message of the browser; raise one of several errors if it is invalid."""
    match message:
        case ["stdin", str(typed)]:
            kind, text = b"D", typed
        case ["resize", {"width": int(width), "height": int(height)}]:
            columns, rows = size(width, height)
            kind, text = b"M", json.dumps({"type": "resize", "width": columns, "height": rows})
        case ["focus" | "blur" as change]:
            kind, text = b"M", json.dumps({"type": change})
        case _:
            raise ValueError(message)
    payload = text.encode("utf-8", "replace")
    return kind + len(payload).to_bytes(4, "big") + payload


def size(width: object, height: object) -> tuple[int, int]:
    """Return columns and rows within bounds; raise ValueError unless both are whole numbers."""
    return max(1, min(_WIDEST, int(str(width)))), max(1, min(_HIGHEST, int(str(height))))


def environment(width: int, height: int) -> dict[str, str]:
    """Return the variables of an app: ours, and what makes it draw for a browser."""
    found = dict(os.environ)
    found.pop("COLORFGBG", None)  # it describes another terminal, that of the server
    return found | {
        "TEXTUAL_DRIVER": "agent_exec.apps.shell.web.driver:Driver",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "TERM_PROGRAM": "agent-exec",
        "TERM_PROGRAM_VERSION": __version__,
        "COLUMNS": str(width),
        "ROWS": str(height),
    }
