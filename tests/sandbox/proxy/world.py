"""Real sockets on loopback: origins that answer, clients that talk, and a proxy between them."""

import base64
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from agent_exec.sandbox.proxy.log import Decision
from agent_exec.sandbox.proxy.server import Limits, Proxy, serve, variables
from agent_exec.sandbox.report.report import refused_hosts
from support import wait_until

TOKEN = "s3cret"
AUTH = f"Proxy-Authorization: Basic {base64.b64encode(f'agent-exec:{TOKEN}'.encode()).decode()}\r\n"
SECONDS = 20.0


class Origin:
    """A server whose every connection is served by a function in a thread of its own."""

    def __init__(self, serve_one: Callable[[socket.socket], None]) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self.listener.getsockname()[1]
        self.accepted = 0
        self._serve_one = serve_one
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept)
        self._acceptor.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            client.settimeout(SECONDS)
            thread = threading.Thread(target=self._one, args=(client,))
            thread.start()
            self._open.append(client)
            self._threads.append(thread)  # which can be waited for only now

    def _one(self, client: socket.socket) -> None:
        try:
            self._serve_one(client)
        except OSError:
            pass
        finally:
            client.close()

    def wait_until_served(self) -> None:
        """Wait until every connection has been served."""
        wait_until(lambda: len(self._threads) == self.accepted)
        for thread in self._threads:
            thread.join(SECONDS)

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self.listener.close()
        for client in self._open:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self._threads:
            thread.join()


@contextmanager
def origin(serve_one: Callable[[socket.socket], None]) -> Iterator[Origin]:
    server = Origin(serve_one)
    try:
        yield server
    finally:
        server.close()


def echo(client: socket.socket) -> None:
    """Send back all that comes, and the end after the end."""
    while data := client.recv(65536):
        client.sendall(data)


def read_request(client: socket.socket) -> bytes:
    """Read one request as the origin sees it: its head, and its body by length or in chunks."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(65536)
        if not more:
            return data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lower = head.lower()
    if b"content-length: " in lower:
        length = int(lower.split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += client.recv(65536)
    elif b"transfer-encoding: chunked" in lower:
        while not body.endswith(b"0\r\n\r\n"):
            body += client.recv(65536)
    return head + b"\r\n\r\n" + body


def mirror(client: socket.socket) -> None:
    """Answer a request with the request itself."""
    request = read_request(client)
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(request) + request)


class Served:
    """A proxy on loopback and the ways to it."""

    def __init__(
        self, proxy: Proxy, port: int, told: list[Decision], token: str, rules: Sequence[str]
    ) -> None:
        self.proxy = proxy
        self.rules = rules
        self.port = port
        self.told = told
        self.env = variables(port, token)

    def denials(self) -> list[dict[str, Any]]:
        """Return the denials as they are reported."""
        return refused_hosts(self.rules, [one.to_json() for one in self.told])

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def ask(self, data: bytes) -> bytes:
        """Send something and return all that is answered until the end."""
        with self.connect() as client:
            client.sendall(data)
            return read_all(client)

    def tunnel(self, host: str, port: int, rest: str = AUTH) -> tuple[socket.socket, bytes]:
        """Ask for a tunnel and return it with the head of the answer."""
        client = self.connect()
        client.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{rest}\r\n".encode())
        return client, read_head(client)

    def opened(self, host: str, port: int) -> socket.socket:
        client, head = self.tunnel(host, port)
        assert head.startswith(b"HTTP/1.1 200 "), head
        return client

    def get(self, host: str, port: int, more: str = "") -> bytes:
        """Ask for a page by plain HTTP, once."""
        return self.ask(
            f"GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Connection: close\r\n{AUTH}{more}\r\n".encode()
        )


def read_head(client: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        more = client.recv(1)
        if not more:
            break
        data += more
    return data


def read_exactly(client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = client.recv(min(65536, count - len(data)))
        if not more:
            break
        data += more
    return data


def read_all(client: socket.socket) -> bytes:
    pieces = []
    while data := client.recv(65536):
        pieces.append(data)
    return b"".join(pieces)


def nowhere(name: str, port: int) -> Sequence[str]:
    raise AssertionError(f"{name}:{port} was not to be resolved")


@contextmanager
def served(
    *rules: str,
    resolve: Callable[[str, int], Sequence[str]] = nowhere,
    token: str = TOKEN,
    limits: Limits | None = None,
) -> Iterator[Served]:
    """A proxy with these rules; names lead where `resolve` says."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    port = listener.getsockname()[1]
    told: list[Decision] = []
    with closing(serve(listener.detach(), rules, token, limits=limits, resolve=resolve)) as proxy:
        add = proxy.log.add

        def tell(decision: Decision) -> None:
            told.append(decision)
            add(decision)

        proxy.log.add = tell  # type: ignore[method-assign]
        yield Served(proxy, port, told, token, rules)
