"""The proxy for its owner: it serves a listening socket in a thread of its own, until it is closed.

Its own loop: streams of asyncio take three times the processor time for a
tunnel, and thirty times the memory for a connection.
"""

import errno
import os
import socket
import sys
from collections import deque
from selectors import EVENT_READ, DefaultSelector
from threading import Event, Lock, Thread, current_thread
from time import monotonic
from weakref import WeakSet

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.hosts import Rules
from agent_exec.sandbox.proxy.addresses import lookup
from agent_exec.sandbox.proxy.connection import Connection
from agent_exec.sandbox.proxy.log import Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Resolve = Callable[[str, int], Sequence[str]]

USER = "agent-exec"
LOCAL = "localhost,127.0.0.1,::1"
MAX_TOKEN = 255
BUFFER = 65536
ACCEPTS = 64
LOOKUPS = 16
TICK = 0.5
PAUSE = 0.1
SETTLING = 2.0
ROUNDS = 1000
FEWEST = 8
"""How many connections a proxy may have, however few descriptors are left by others of this process."""

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Limits:
    """The bounds of a proxy: how many, how long, how large."""

    connections = 256
    head_bytes = 32768
    head_seconds = 10.0
    dial_seconds = 8.0
    connect_seconds = 20.0
    keep_seconds = 30.0
    idle_seconds = 600.0

    def __init__(self, **changed: float) -> None:
        self.__dict__.update(changed)


class Proxy:
    """All connections of one box; `take`, `close` and `alive` are for any thread, all else for its own."""

    def __init__(
        self, listener: socket.socket, rules: Rules, token: bytes, limits: Limits, resolve: "Resolve"
    ) -> None:
        self.rules = rules
        self.token = token
        self.log = Log()
        self.limits = limits
        self.buffer = memoryview(bytearray(BUFFER))
        self.now = monotonic()
        self._listener = listener
        self._resolve = resolve
        self._connections: set[Connection] = set()
        self._settlers: list[Event] = []
        self._masks: dict[socket.socket, int] = {}
        self._accept_at = self._sweep_at = 0.0
        self._stopped = False
        self._lock = Lock()
        self._found: deque[tuple[Connection, list[str] | OSError]] = deque()
        self._asked: deque[tuple[str, int, Connection]] = deque()
        self._lookups = 0
        self._tick = min(TICK, limits.head_seconds / 4, limits.idle_seconds / 4, limits.dial_seconds / 4)
        self._selector = DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        for end in (self._wake, self._waker, listener):
            end.setblocking(False)
        self.watch(self._wake, EVENT_READ, None)
        _proxies.add(self)
        self._thread = Thread(target=self._run, name="agent-exec-proxy", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """True while it serves; then connections are refused."""
        return self._thread.is_alive()

    def take(self) -> list[dict[str, object]]:
        """Return the decisions since the last call, as they are reported.

        Requests sent so far are decided, and open connections are ended: no client is left.
        """
        done = Event()
        with self._lock:
            if self._stopped:
                done.set()
            else:
                self._settlers.append(done)
                self._ring()
        done.wait(SETTLING)
        return [decision.to_json() for decision in self.log.take()]

    def close(self) -> None:
        """End every connection and the thread; harmless when repeated, and from any thread."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._ring()
        if current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        """Serve until stopped; nothing is served afterwards, whatever happens."""
        try:
            while not self._stopped:
                self._serve(self._tick if self._connections or self._accept_at > self.now else None)
                if self._settlers:
                    self._settle()
                if self.now >= self._sweep_at:
                    self._sweep_at = self.now + self._tick
                    for connection in [late for late in self._connections if late.deadline <= self.now]:
                        connection.resume(None)
        finally:
            self._end()

    def forget_all(self) -> None:
        """Close everything without a word: in a forked copy, it belongs to the original."""
        for end in (self._listener, self._waker, *self._masks):
            end.close()
        self._selector.close()

    def watch(self, end: socket.socket, mask: int, connection: Connection | None) -> None:
        """Watch a socket for these events; for none before it is closed."""
        known = self._masks.get(end, 0)
        if mask == known:
            return
        if not mask:
            del self._masks[end]
            self._selector.unregister(end)
            return
        (self._selector.modify if known else self._selector.register)(end, mask, connection)
        self._masks[end] = mask

    def forget(self, client: socket.socket, connection: Connection) -> None:
        """Close a client's socket, and make room for the next."""
        self.watch(client, 0, connection)
        client.close()
        self._connections.discard(connection)

    def resolve(self, name: str, port: int, connection: Connection) -> None:
        """Look a name up beside the loop; the connection is resumed with the answer."""
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
                self._found.append((connection, OSError(str(error))))
                self._ring()

    def _answer(self, name: str, port: int, connection: Connection) -> None:
        answers: list[str] | OSError
        try:
            answers = list(self._resolve(name, port))
        except OSError as error:
            answers = error
        except Exception as error:
            answers = OSError(f"{type(error).__name__} in the resolver")
        with self._lock:
            self._found.append((connection, answers))
            if not self._stopped:
                self._ring()

    def _ring(self) -> None:
        try:
            self._waker.send(b"\0")
        except OSError:
            pass  # full: it wakes anyway

    def _serve(self, seconds: float | None) -> int:
        """Wait so long, and handle the events; return how many."""
        self.watch(self._listener, EVENT_READ * self._has_room(), None)
        events = self._selector.select(seconds)
        self.now = monotonic()
        for key, mask in events:
            end = key.fileobj
            if end is self._listener:
                self._accept()
            elif end is self._wake:
                self._wake_up()
            # An event before it may have closed it.
            elif isinstance(end, socket.socket) and self._masks.get(end, 0):
                key.data.resume((end, mask))
        return len(events)

    def _settle(self) -> None:
        """Read what clients that are gone have sent, and end every connection."""
        with self._lock:
            settlers, self._settlers = self._settlers, []
        for _ in range(ROUNDS):
            if self._serve(0):
                continue
            if not self._connections:
                break
            for connection in list(self._connections):
                connection.abort()
        for done in settlers:
            done.set()

    def _accept(self) -> None:
        for _ in range(ACCEPTS):
            if not self._has_room():
                return
            try:
                client, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return
            except OSError as error:
                if error.errno not in {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}:
                    raise
                self._accept_at = self.now + PAUSE
                return
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections.add(Connection(self, client))

    def _has_room(self) -> bool:
        """True if one more can be served: a box must not take the descriptors of all others."""
        here = len(self._connections)
        if here >= self.limits.connections or self._accept_at > self.now:
            return False
        # Two descriptors for each: a quarter of all.
        return here < FEWEST or sum(len(proxy._connections) for proxy in _proxies) < _most_descriptors() // 8

    def _wake_up(self) -> None:
        try:
            self._wake.recv(4096)
        except BlockingIOError:
            pass
        while self._found:
            connection, answers = self._found.popleft()
            self._lookups -= 1
            if connection.phase == "resolving":
                connection.resume(answers)
        self._look_up()

    def _end(self) -> None:
        with self._lock:
            self._stopped = True
            self._waker.close()
            for done in self._settlers:
                done.set()
        try:
            # Even if others hold a copy of it: no client can connect any more.
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        for connection in list(self._connections):
            connection.abort()
        self._selector.close()
        self._wake.close()


def _most_descriptors() -> int:
    """Return how many descriptors this process may have."""
    if sys.platform == "win32":
        return 1 << 16
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 30 if most == resource.RLIM_INFINITY else most


_proxies: "WeakSet[Proxy]" = WeakSet()


def _forget_all() -> None:
    for proxy in tuple(_proxies):
        proxy.forget_all()
    _proxies.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def variables(port: int, token: str) -> dict[str, str]:
    """Return the variables that lead programs to the proxy at this port of their loopback."""
    user = f"{USER}:{token}@" if token else ""
    address = f"http://{user}127.0.0.1:{port}"
    names = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": LOCAL}
    return names | {name.lower(): value for name, value in names.items()} | {"NODE_USE_ENV_PROXY": "1"}


def serve(
    listener_fd: int,
    rules: "Iterable[str]",
    token: str,
    *,
    limits: Limits | None = None,
    resolve: "Resolve" = lookup,
) -> Proxy:
    """Serve a listening socket, which is the proxy's from now on, unless InvalidArgument is raised.

    Every client must present the token, unless it is empty. `resolve`
    returns the addresses of a name, and is called once for each request, in a
    thread of its own.
    """
    if len(token) > MAX_TOKEN or not _PLAIN.issuperset(token):
        raise InvalidArgument(f"a token is at most {MAX_TOKEN} letters, digits and any of -._~")
    allowed = Rules(rules)
    try:
        listener = socket.socket(fileno=listener_fd)
    except OSError as error:
        raise InvalidArgument(f"the proxy needs a listening socket: {error.strerror}") from None
    if (
        listener.type != socket.SOCK_STREAM
        or listener.family not in {socket.AF_INET, socket.AF_INET6}
        or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    ):
        listener.detach()
        raise InvalidArgument("the proxy needs a listening TCP socket")
    listener.set_inheritable(False)
    return Proxy(listener, allowed, token.encode("ascii"), limits or Limits(), resolve)
