"""The proxy's one thread: every connection's readiness and clocks, and the lookups beside it."""

import errno
import os
import socket
import sys
from collections import deque
from selectors import EVENT_READ, DefaultSelector
from threading import Event, Lock, Thread, current_thread
from time import monotonic
from weakref import WeakSet

from agent_exec.model.value import Value
from agent_exec.sandbox.proxy.connection import Connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.sandbox.proxy.log import Log
    from agent_exec.sandbox.proxy.rules import Rules

    Resolve = Callable[[str, int], Sequence[str]]

BUFFER = 65536
ACCEPTS = 64
LOOKUPS = 16
TICK = 0.5
PAUSE = 0.1
SETTLING = 2.0
ROUNDS = 1000
FEWEST = 8
"""How many connections a proxy may have, however few descriptors are left by others of this process."""


class Limits(Value):
    """The bounds of a proxy: how many, how long, how large."""

    __slots__ = (
        "connect_seconds",
        "connections",
        "dial_seconds",
        "head_bytes",
        "head_seconds",
        "idle_seconds",
        "keep_seconds",
    )

    def __init__(
        self,
        *,
        connections: int = 256,
        head_bytes: int = 32768,
        head_seconds: float = 10.0,
        dial_seconds: float = 8.0,
        connect_seconds: float = 20.0,
        keep_seconds: float = 30.0,
        idle_seconds: float = 600.0,
    ) -> None:
        self.connections = connections
        self.head_bytes = head_bytes
        self.head_seconds = head_seconds
        self.dial_seconds = dial_seconds
        self.connect_seconds = connect_seconds
        self.keep_seconds = keep_seconds
        self.idle_seconds = idle_seconds


class Loop:
    """All connections of one proxy; everything but `stop` belongs to the thread that runs it."""

    def __init__(
        self,
        listener: socket.socket,
        rules: "Rules",
        token: bytes,
        log: "Log",
        limits: Limits,
        resolve: "Resolve",
    ) -> None:
        self.rules = rules
        self.token = token
        self.log = log
        self.limits = limits
        self.buffer = memoryview(bytearray(BUFFER))
        self.now = monotonic()
        self._listener = listener
        self._resolve = resolve
        self._connections: set[Connection] = set()
        self._settlers: list[Event] = []
        self._masks: dict[socket.socket, int] = {}
        self._accept_at: float | None = None
        self._sweep_at = 0.0
        self._stopped = False
        self._lock = Lock()
        self._found: deque[tuple[Connection, list[str] | OSError, Thread]] = deque()
        self._asked: deque[tuple[str, int, Connection]] = deque()
        self._lookups = 0
        self._tick = min(TICK, limits.head_seconds / 4, limits.idle_seconds / 4, limits.dial_seconds / 4)
        self._selector = DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        for end in (self._wake, self._waker, listener):
            end.setblocking(False)
        self._selector.register(self._wake, EVENT_READ)
        self._selector.register(listener, EVENT_READ)
        _loops.add(self)

    def run(self) -> None:
        """Serve until stopped; whatever happens, nobody is served afterwards."""
        try:
            while not self._stopped:
                self._turn()
        finally:
            self._end()

    def stop(self) -> None:
        """Have it end; from any thread, harmless when repeated."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._ring()

    def settle(self) -> None:
        """Have all that clients have asked so far decided, and their connections ended; from any thread.

        For the moment when nobody is left who could be served.
        """
        done = Event()
        with self._lock:
            if self._stopped:
                return
            self._settlers.append(done)
            self._ring()
        done.wait(SETTLING)

    def forget_all(self) -> None:
        """Close everything without a word: in a forked copy, it belongs to the original."""
        for end in (self._listener, self._wake, self._waker, *self._masks):
            end.close()
        self._selector.close()

    def watch(self, end: socket.socket, mask: int, connection: Connection) -> None:
        """Watch an end of a connection for these events, or for none."""
        known = self._masks.get(end, 0)
        if mask == known:
            return
        if not mask:
            self.unwatch(end)
            return
        if known:
            self._selector.modify(end, mask, connection)
        else:
            self._selector.register(end, mask, connection)
        self._masks[end] = mask

    def unwatch(self, end: socket.socket) -> None:
        """Stop watching an end; to be called before it is closed."""
        if self._masks.pop(end, 0):
            self._selector.unregister(end)

    def forget(self, client: socket.socket, connection: Connection) -> None:
        """Close a client's end, and make room for the next."""
        self.unwatch(client)
        client.close()
        self._connections.discard(connection)
        if self._accept_at is not None:
            self._accept_at = self.now

    def resolve(self, name: str, port: int, connection: Connection) -> None:
        """Have a name looked up beside the loop; the answer goes to `connection.resolved`."""
        self._asked.append((name, port, connection))
        self._look_up()

    def _look_up(self) -> None:
        while self._asked and self._lookups < LOOKUPS:
            name, port, connection = self._asked.popleft()
            if connection.phase != "resolving":
                continue
            self._lookups += 1
            # Nothing can interrupt the system's resolver: a thread that waits for it is left behind.
            thread = Thread(
                target=self._answer, args=(name, port, connection), name="agent-exec-lookup", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                self._lookups -= 1
                connection.resolved(OSError(str(error)))

    def _answer(self, name: str, port: int, connection: Connection) -> None:
        answers: list[str] | OSError
        try:
            answers = list(self._resolve(name, port))
        except OSError as error:
            answers = error
        except Exception as error:
            answers = OSError(f"{type(error).__name__} in the resolver")
        with self._lock:
            self._found.append((connection, answers, current_thread()))
            if not self._stopped:
                self._ring()

    def _ring(self) -> None:
        try:
            self._waker.send(b"\0")
        except OSError:
            pass  # full: it will wake anyway

    def _turn(self) -> None:
        busy = self._connections or self._accept_at is not None
        self._serve(self._tick if busy else None)
        if self._settlers:
            self._settle()
        self._expire()

    def _serve(self, seconds: float | None) -> int:
        """Wait so long, and do what there is to do; give how much that was."""
        events = self._selector.select(seconds)
        self.now = monotonic()
        for key, mask in events:
            end = key.fileobj
            if end is self._listener:
                self._accept()
            elif end is self._wake:
                self._hear()
            # Who comes before may have closed it.
            elif isinstance(end, socket.socket) and self._masks.get(end, 0):
                key.data.ready(end, mask)
        return len(events)

    def _settle(self) -> None:
        """Hear what was said by who is gone, and end every connection."""
        with self._lock:
            settlers, self._settlers = self._settlers, []
        for _ in range(ROUNDS):
            self._listen_again()
            if self._serve(0):
                continue
            if not self._connections:
                break
            for connection in list(self._connections):
                connection.abort()
        for done in settlers:
            done.set()

    def _listen_again(self) -> None:
        if self._accept_at is not None:
            self._accept_at = None
            self._selector.register(self._listener, EVENT_READ)

    def _expire(self) -> None:
        if self.now >= self._sweep_at:
            self._sweep_at = self.now + self._tick
            for connection in [late for late in self._connections if late.deadline <= self.now]:
                connection.expire()
        if self._accept_at is not None and self._accept_at <= self.now and self._has_room():
            self._listen_again()

    def _accept(self) -> None:
        for _ in range(ACCEPTS):
            if not self._has_room():
                self._pause()
                return
            try:
                client, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return
            except OSError as error:
                if error.errno not in {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}:
                    raise
                self._pause()
                return
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections.add(Connection(self, client))

    def _has_room(self) -> bool:
        """True if one more can be served: a box must not take the descriptors of all others."""
        here = len(self._connections)
        if here < FEWEST or here >= self.limits.connections:
            return here < self.limits.connections
        served = sum(len(loop._connections) for loop in _loops)
        return served < _most_descriptors() // 8  # two for each: a quarter

    def _pause(self) -> None:
        """Let clients wait outside until there is room."""
        self._selector.unregister(self._listener)
        self._accept_at = self.now + PAUSE

    def _hear(self) -> None:
        try:
            self._wake.recv(4096)
        except BlockingIOError:
            pass
        while self._found:
            connection, answers, thread = self._found.popleft()
            thread.join()  # it has nothing more to do
            self._lookups -= 1
            connection.resolved(answers)
        self._look_up()

    def _end(self) -> None:
        with self._lock:
            self._stopped = True
            self._waker.close()
            for done in self._settlers:
                done.set()
        try:
            # Whoever else holds a copy of it: nobody can connect any more.
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        for connection in list(self._connections):
            connection.abort()
        for _, _, thread in self._found:
            thread.join()
        self._selector.close()
        self._wake.close()


def _most_descriptors() -> int:
    """Give how many descriptors this process may have."""
    if sys.platform == "win32":
        return 1 << 16
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 30 if most == resource.RLIM_INFINITY else most


_loops: "WeakSet[Loop]" = WeakSet()


def _forget_all() -> None:
    for loop in tuple(_loops):
        loop.forget_all()
    _loops.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
