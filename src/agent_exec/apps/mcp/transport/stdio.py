"""A server for one client over stdio: a message on each line, in both directions.

The SDK's own transport is not used: it waits for a line in a thread that
cannot be interrupted, so that no signal would end the server; and it does not
answer a line that is not a message.
"""

import asyncio
import gc
import json
from typing import TYPE_CHECKING, Any

from anyio import (
    BrokenResourceError,
    CancelScope,
    CapacityLimiter,
    create_memory_object_stream,
    create_task_group,
    current_time,
    sleep,
)
from anyio import run as run_loop
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)

from agent_exec.apps.mcp.server import build
from agent_exec.apps.mcp.threads import in_thread, somehow
from agent_exec.apps.signals import listen_for_signals
from agent_exec.model.errors import Busy
from agent_exec.model.jsonline import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel import Server

    from agent_exec.apps.mcp.transport.stdio_fds import Wire
    from agent_exec.tools.tool import Toolset

LONGEST = 64 << 20
"""The most bytes that a message may have."""

_LATER = 0.05
"""How long to wait before another thread is asked for."""

_PATIENCE = 1.0
"""How long a client that has hung up may take to read what was said before."""


def run(open_toolset: "Callable[[], Toolset]", wire: "Wire") -> int:
    """Open a toolset, serve one client, close it; return the exit status, 128 and the signal if one came.

    A thread of a cancelled call may outlive this; end the process.
    """
    return run_loop(_run, open_toolset, wire)


async def _run(open_toolset: "Callable[[], Toolset]", wire: "Wire") -> int:
    hung_up = CancelScope()
    caught: list[int] = []

    def end(number: int) -> None:
        caught.append(number)
        hung_up.cancel()

    listen_for_signals(asyncio.get_running_loop(), end)  # first: what is opened is closed, whenever one comes
    toolset = open_toolset()
    gc.freeze()  # what is loaded stays; collections need not look at it
    gc.enable()  # which a call of the program has no time for
    try:
        await _serve(build(toolset), wire, hung_up)
    finally:
        with CancelScope(shield=True):
            await somehow(toolset.close)
    return 128 + caught[0] if caught else 0


async def _serve(server: "Server[Any]", wire: "Wire", hung_up: CancelScope) -> None:
    """Serve the client until it hangs up, or until `hung_up` is cancelled, which is the same."""
    heard, read = create_memory_object_stream[SessionMessage | Exception](0)
    write, said = create_memory_object_stream[SessionMessage](0)
    async with create_task_group() as group:
        group.start_soon(_listen, wire, heard, write.clone(), hung_up)
        group.start_soon(_speak, wire, said, hung_up)
        await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.deadline = current_time() + _PATIENCE


async def _listen(
    wire: "Wire",
    heard: "MemoryObjectSendStream[SessionMessage | Exception]",
    write: "MemoryObjectSendStream[SessionMessage]",
    hung_up: CancelScope,
) -> None:
    """Pass on what the client says; what is no message is answered here."""
    lines = Lines()
    alone = CapacityLimiter(1)
    async with heard, write:
        with hung_up:
            try:
                while chunk := await _heard(wire, alone):
                    for line in lines.take(chunk):
                        message = _message(line)
                        if isinstance(message, JSONRPCError):
                            await write.send(SessionMessage(message))
                        elif message is not None:
                            await heard.send(message)
            except BrokenResourceError:
                return  # nobody serves any more, or nobody writes


async def _heard(wire: "Wire", alone: CapacityLimiter) -> bytes:
    """Wait for what the client says next, and before that for a thread to wait in."""
    while True:
        try:
            return await in_thread(wire.read, abandon=True, limiter=alone)
        except Busy:
            await sleep(_LATER)


async def _speak(
    wire: "Wire", said: "MemoryObjectReceiveStream[SessionMessage]", hung_up: CancelScope
) -> None:
    """Write what is said; a client that has gone has hung up."""
    alone = CapacityLimiter(1)
    async with said:
        async for message in said:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            line = escaped(text).encode() + b"\n"
            try:
                await in_thread(wire.write, line, abandon=True, limiter=alone)
            except Busy:
                wire.write(line)
            except OSError:
                hung_up.cancel()
                return


class Lines:
    """Splits chunks into lines; of a line that is too long, only the beginning is kept."""

    __slots__ = ("_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def take(self, chunk: bytes) -> "Iterator[bytes]":
        """Return the lines that end in this chunk."""
        first, *others = chunk.split(b"\n")
        for piece in others:
            self._keep(first)
            yield b"".join(self._pieces)
            self._pieces, self._size = [], 0
            first = piece
        self._keep(first)

    def _keep(self, piece: bytes) -> None:
        if self._size <= LONGEST:
            self._pieces.append(piece)
            self._size += len(piece)


def _message(line: bytes) -> SessionMessage | JSONRPCError | None:
    """Return the message on a line, or the answer to what is none; nothing for a line with nothing on it."""
    if not line.strip():
        return None
    if len(line) > LONGEST:
        return _refusal(INVALID_REQUEST, f"a message may have {LONGEST} bytes, not more")
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        message = None
    # An id that is none makes a notification of a request, whose sender would wait for ever.
    if message is not None and not (isinstance(message, JSONRPCNotification) and b'"id"' in line):
        return SessionMessage(message)
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return _refusal(PARSE_ERROR, "this line is no JSON")
    if message is not None and "id" not in found:
        return SessionMessage(message)
    asked = _id(found.get("id")) if isinstance(found, dict) else None
    if asked is None or "method" in found:
        return _refusal(INVALID_REQUEST, "this line is no message of JSON-RPC 2.0", asked)
    # An answer to a question of ours, under our number: whoever waits for it hears that it makes no sense.
    return SessionMessage(_refusal(INVALID_REQUEST, "this is no answer of JSON-RPC 2.0", asked))


def _id(value: object) -> int | str | None:
    """Return the id of a request, if it is valid."""
    if isinstance(value, str):
        return None if any("\ud800" <= letter <= "\udfff" for letter in value) else value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _refusal(code: int, message: str, of: int | str | None = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=of, error=ErrorData(code=code, message=message))
