"""A server for one client over stdio: a message on each line, in both directions."""

import gc
from _queue import SimpleQueue
from collections import deque
from threading import Condition, Thread
from time import sleep

from agent_exec.apps.mcp.connection import Connection
from agent_exec.apps.mcp.rpc import INVALID_REQUEST, RpcError, parse, write
from agent_exec.apps.mcp.server import Server
from agent_exec.apps.signals import catch_signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_exec.apps.mcp.rpc import Message
    from agent_exec.apps.mcp.transport.stdio_fds import Wire
    from agent_exec.tools.tool import Toolset

LONGEST = 65 << 20
"""The most bytes that a message may have, and that may wait until the client reads them."""

_LATER = 0.05
"""How long to wait before another thread is asked for."""

_PATIENCE = 1.0
"""How long a client that has hung up may take to read what was said before."""


def run(open_toolset: "Callable[[], Toolset]", wire: "Wire") -> int:
    """Open a toolset, serve one client, close it; return the exit status, 128 and the signal if one came.

    Threads may outlive this, of calls that were cancelled, and the one that
    reads; end the process.
    """
    ends: SimpleQueue[int] = SimpleQueue()  # which a signal handler may use
    catch_signals(ends.put)  # first: what is opened is closed, whenever one comes
    toolset = open_toolset()
    gc.freeze()  # what is loaded stays; collections need not look at it
    gc.enable()  # which a call of the program has no time for
    try:
        writer = Writer(wire, lambda: ends.put(0))
        connection = Connection(Server(toolset), writer.send)
        _start(writer.run)
        _start(lambda: _listen(wire, connection, writer.send, lambda: ends.put(0)))
        number = ends.get()
        connection.close()
        writer.drain(_PATIENCE)
    finally:
        toolset.close()
    return 128 + number if number else 0


def _start(work: "Callable[[], object]") -> None:
    """Have something done in a thread, as soon as the machine has one to give."""
    while True:
        try:
            return Thread(target=work, daemon=True).start()
        except RuntimeError:
            sleep(_LATER)


def _listen(
    wire: "Wire",
    connection: Connection,
    send: "Callable[[Message | None], object]",
    hung_up: "Callable[[], object]",
) -> None:
    """Pass on what the client says, until it hangs up; invalid messages are answered here."""
    lines = Lines()
    try:
        while chunk := wire.read():
            for line in lines.take(chunk):
                try:
                    if len(line) > LONGEST:
                        raise RpcError(INVALID_REQUEST, f"a message may have {LONGEST} bytes, not more")
                    if line.strip():
                        connection.receive(parse(line))
                except RpcError as error:
                    send(error.answer(error.of))
    finally:
        hung_up()


class Writer:
    """Writes messages in a thread of its own, so that a client that does not read blocks no other thread.

    Only when very much waits for the client, `send` waits too.
    """

    def __init__(self, wire: "Wire", gone: "Callable[[], object]") -> None:
        self._wire = wire
        self._gone = gone
        self._open = True
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._changed = Condition()

    def send(self, message: "Message | None") -> None:
        """Have a message written, nothing for None; drop it if the client is gone."""
        if message is None:
            return
        line = write(message) + b"\n"
        with self._changed:
            self._changed.wait_for(lambda: self._size < LONGEST)
            if self._open:
                self._lines.append(line)
                self._size += len(line)
                self._changed.notify_all()

    def run(self) -> None:
        """Write, until the client is gone."""
        while self._open:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                line = self._lines.popleft()
            try:
                self._wire.write(line)
            except OSError:
                self._open = False
                self._gone()
            with self._changed:
                self._size = self._size - len(line) if self._open else 0
                self._changed.notify_all()

    def drain(self, seconds: float) -> None:
        """Wait until all is written, for so many seconds at most."""
        with self._changed:
            self._changed.wait_for(lambda: not self._size, seconds)


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
