"""Connections without a token: few, short, and never in the way of those with one; at both doors."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from agent_exec.apps.web.visitors import Visitors
from apps.mcp.talking_http import FAKE_HTTP
from apps.mcp.talking_http import served as over_mcp
from apps.shell.webclient import STAND_IN, serving
from support import wait_until

Ask = Callable[[], int]
Door = Callable[[Path], AbstractContextManager[tuple[int, Ask]]]


def answered(port: int, head: str) -> int:
    """Send a request over a connection of its own; return the status of the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
        wire.sendall(f"{head}\r\n\r\n".encode())
        return int(wire.recv(100).split(b" ")[1])


def silent(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def hung_up(wire: socket.socket) -> bool:
    wire.setblocking(False)
    try:
        return wire.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def mcp_head(token: str) -> str:
    return f"GET /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}"


@contextmanager
def mcp_door(tmp_path: Path) -> Iterator[tuple[int, Ask]]:
    with over_mcp(*FAKE_HTTP, tmp_path) as server:
        yield server.port, lambda: answered(server.port, mcp_head(server.token))


@contextmanager
def web_door(_: Path) -> Iterator[tuple[int, Ask]]:
    with serving(STAND_IN) as server:
        head = f"GET /?token={server.token} HTTP/1.1\r\nhost: {server.host}"
        yield server.port, lambda: answered(server.port, head)


DOORS = pytest.mark.parametrize(
    ("door", "served"), [(mcp_door, 400), (web_door, 200)], ids=["mcp", "web shell"]
)


@DOORS
def test_connections_without_the_token_do_not_block_clients(tmp_path: Path, door: Door, served: int) -> None:
    with door(tmp_path) as (port, ask), ExitStack() as stack:
        held = [stack.enter_context(silent(port)) for _ in range(256)]
        for _ in range(20):
            assert ask() == served
            held += [stack.enter_context(silent(port)) for _ in range(16)]
        wait_until(lambda: sum(map(hung_up, held)) == len(held) - 64)
        assert all(map(hung_up, held[:-64])), "the oldest go first"


@DOORS
def test_a_client_is_served_before_a_crowd_displaces_it(tmp_path: Path, door: Door, served: int) -> None:
    """All come in one moment; what one of them has sent by then is read."""
    with door(tmp_path) as (port, ask), ExitStack() as stack:
        for _ in range(5):
            for _ in range(100):
                wire = stack.enter_context(socket.socket())
                wire.setblocking(False)
                wire.connect_ex(("127.0.0.1", port))
            assert ask() == served


def test_a_stranger_is_not_waited_for(tmp_path: Path) -> None:
    env = {"FAKE_HTTP": "visitors.PATIENCE=0.3"}
    with over_mcp(*FAKE_HTTP, tmp_path, env=env) as server:
        known = stay(server.port, server.token)
        with known, silent(server.port) as quiet, silent(server.port) as slow:
            slow.sendall(b"GET / HT")
            for wire in (quiet, slow):
                assert wire.recv(1) == b""
            assert not hung_up(known)
            assert answered(server.port, mcp_head(server.token)) == 400


def stay(port: int, token: str) -> socket.socket:
    """Return a connection that has shown the token, and whose request has not come to its end."""
    wire = silent(port)
    head = mcp_head(token).replace("GET", "POST")
    wire.sendall(f"{head}\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n".encode())
    assert b" 100 " in wire.recv(100)
    return wire


def test_known_clients_have_so_many_places(tmp_path: Path) -> None:
    env = {"FAKE_HTTP": "http.MOST=3"}
    with over_mcp(*FAKE_HTTP, tmp_path, env=env) as server, ExitStack() as stack:
        known = [stack.enter_context(stay(server.port, server.token)) for _ in range(3)]
        assert answered(server.port, mcp_head(server.token)) == 503
        assert answered(server.port, mcp_head("wrong")) == 401
        known[0].close()
        wait_until(lambda: answered(server.port, mcp_head(server.token)) == 400)


def mcp_listener() -> socket.socket:
    from agent_exec.apps.web.listening import Where, listen

    return listen(Where("", port=0), "mcp")


def web_listener() -> socket.socket:
    from agent_exec.apps.shell.web.server import listen

    return listen(0)


@pytest.mark.parametrize("listen", [mcp_listener, web_listener])
def test_answers_are_sent_at_once(listen: Callable[[], socket.socket]) -> None:
    """Without this option the second part of an answer waits until the client has acknowledged the first."""

    found: list[int] = []

    class Server(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            wire = transport.get_extra_info("socket")
            found.append(wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    async def look() -> None:
        with listen() as listener:
            server = await Visitors(1).receive(listener, Server)
            with silent(listener.getsockname()[1]) as wire:
                assert await asyncio.to_thread(wire.recv, 1) == b""
            server.close()

    asyncio.run(look())
    assert found == [1]


def test_a_stranger_is_parsed_up_to_its_head_only() -> None:
    """A body in tiny chunks costs a parser seconds; the rest is passed on, in order, once the token was shown."""

    class Server(asyncio.Protocol):
        def __init__(self) -> None:
            self.heard = b""
            self.lost = False
            made.append(self)

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.heard += data

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.lost = True

    made: list[Server] = []
    chunks = b"1\r\na\r\n" * 50_000

    async def talk(end: bytes, *, admitted: bool) -> None:
        head = b"POST / HTTP/1.1" + end[: len(end) // 2] + b"Host: a" + end
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
            listener.bind(("127.0.0.1", 0))
            listener.setblocking(False)
            visitors = Visitors(1)
            server = await visitors.receive(listener, Server)
            with silent(listener.getsockname()[1]) as wire:
                for at in range(len(head)):
                    wire.sendall(head[at : at + 1])
                sending = asyncio.create_task(asyncio.to_thread(wire.sendall, chunks + b"0\r\n\r\n"))
                await until(lambda: made and made[-1].heard)
                inner = made[-1]
                await until(lambda: inner.heard.endswith(end))
                await asyncio.sleep(0.05)  # time enough to be wrong
                assert inner.heard == head
                if admitted:
                    assert visitors.know(inner.transport)
                    await sending
                    await until(lambda: inner.heard.endswith(b"0\r\n\r\n"))
                    assert inner.heard == head + chunks + b"0\r\n\r\n"
                    assert not await visitors.discard(inner.transport, None)
                else:
                    assert await visitors.discard(inner.transport, None)
                    await sending
                    assert inner.heard == head
                inner.transport.abort()
                await until(lambda: inner.lost)
            server.close()

    for end in (b"\r\n\r\n", b"\n\n"):
        for admitted in (True, False):
            made.clear()
            asyncio.run(talk(end, admitted=admitted))


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def test_a_sender_can_read_the_refusal(tmp_path: Path) -> None:
    with over_mcp(*FAKE_HTTP, tmp_path) as server:
        for kind, body in (
            ("content-length: 3000000", b"x" * 3_000_000),
            ("transfer-encoding: chunked", b"5\r\nhello\r\n" * 200_000 + b"0\r\n\r\n"),
        ):
            with silent(server.port) as wire:
                wire.sendall(f"POST /mcp HTTP/1.1\r\nhost: localhost\r\n{kind}\r\n\r\n".encode())
                for at in range(0, len(body), 100_000):
                    wire.sendall(body[at : at + 100_000])
                assert b" 401 " in wire.recv(100)


@DOORS
def test_a_head_of_many_fields_is_not_parsed(tmp_path: Path, door: Door, served: int) -> None:
    with door(tmp_path) as (port, ask):
        for fields, status in ((5000, 431), (20, 403)):
            assert answered(port, "GET / HTTP/1.1\r\nhost: elsewhere" + "\r\nx: y" * fields) == status
        assert ask() == served
