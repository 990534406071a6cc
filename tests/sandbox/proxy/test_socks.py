"""SOCKS5 through the proxy, and older SOCKS refused."""

import socket

import pytest

from sandbox.proxy.world import TOKEN, Served, echo, origin, read_all, read_exactly, served

GRANTED = b"\x05\x00\x00\x01" + bytes(6)


def login(user: bytes, password: bytes) -> bytes:
    return b"\x05\x01\x02\x01" + bytes((len(user),)) + user + bytes((len(password),)) + password


def request(host: bytes, port: int, *, kind: int = 3, command: int = 1) -> bytes:
    length = bytes((len(host),)) if kind == 3 else b""
    return bytes((5, command, 0, kind)) + length + host + port.to_bytes(2, "big")


def asked(proxy: Served, data: bytes) -> bytes:
    """Log in with the token and ask; give the answer to the request and what follows."""
    return proxy.ask(login(b"agent-exec", TOKEN.encode()) + data).removeprefix(b"\x05\x02\x01\x00")


@pytest.mark.parametrize("credentials", [(b"agent-exec", b"s3cret"), (b"s3cret", b""), (b"s3cret", b"x")])
@pytest.mark.parametrize("slowly", [False, True])
def test_a_tunnel(credentials: tuple[bytes, bytes], slowly: bool) -> None:
    with origin(echo) as server, served(f"127.0.0.1:{server.port}") as proxy, proxy.connect() as client:
        data = login(*credentials) + request(b"127.0.0.1", server.port) + b"hello"
        for at in range(0, len(data), 1 if slowly else len(data)):
            client.sendall(data[at : at + (1 if slowly else len(data))])
        assert read_exactly(client, 4 + 10 + 5) == b"\x05\x02\x01\x00" + GRANTED + b"hello"
        assert proxy.told[0].protocol == "socks5"
        assert proxy.told[0].allowed


def test_without_a_token_no_login_is_needed() -> None:
    with origin(echo) as server, served(f"127.0.0.1:{server.port}", token="") as proxy:
        with proxy.connect() as client:
            client.sendall(
                b"\x05\x01\x00" + request(socket.inet_aton("127.0.0.1"), server.port, kind=1) + b"hi"
            )
            assert read_exactly(client, 2 + 10 + 2) == b"\x05\x00" + GRANTED + b"hi"
        with proxy.connect() as client:
            client.sendall(login(b"any", b"body") + request(b"127.0.0.1", server.port))
            assert read_exactly(client, 14) == b"\x05\x02\x01\x00" + GRANTED


def test_without_the_token_nobody_is_served() -> None:
    with origin(echo) as server, served(f"127.0.0.1:{server.port}") as proxy:
        assert proxy.ask(b"\x05\x01\x00" + request(b"127.0.0.1", server.port)) == b"\x05\xff"
        assert proxy.ask(login(b"agent-exec", b"wrong")) == b"\x05\x02\x01\x01"
        assert proxy.ask(login(b"", b"")) == b"\x05\x02\x01\x01"
        assert server.accepted == 0
        assert [decision.reason for decision in proxy.told] == ["no token was presented"] + [
            "the token is wrong"
        ] * 2


@pytest.mark.parametrize(
    ("host", "port", "kind"),
    [
        (b"evil.com\0.allowed.com", 443, 3),
        (b"allowed.com\0", 443, 3),
        (b"allowed.com@evil.com", 443, 3),
        (b"evilallowed.com", 443, 3),
        (b"allowed.com.evil.com", 443, 3),
        (b"allowed.com:443", 443, 3),
        (b"allowed.com", 22, 3),
        (b"allowed.com", 0, 3),
        (b"", 443, 3),
        (b"\xff", 443, 3),
        ("allowed。com".encode(), 443, 3),
        (b"::1", 443, 3),
        (b"[::1]", 443, 3),
        (b"127.1", 443, 3),
        (bytes(4), 443, 1),
        (b"\x7f\0\0\1", 443, 1),
        (bytes(15) + b"\1", 443, 4),
        (bytes(10) + b"\xff\xff\x7f\0\0\1", 443, 4),
    ],
)
def test_what_is_not_allowed(host: bytes, port: int, kind: int) -> None:
    with served("allowed.com", "*.allowed.com") as proxy:
        assert asked(proxy, request(host, port, kind=kind)) == b"\x05\x02\x00\x01" + bytes(6)
        assert not proxy.told[0].allowed


@pytest.mark.parametrize("command", [0, 2, 3])
def test_only_connections_are_served(command: int) -> None:
    with served("allowed.com") as proxy:
        assert asked(proxy, request(b"allowed.com", 443, command=command))[1] == 7


def test_unknown_addresses_and_failures_have_their_codes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with served(f"127.0.0.1:{port}", "gone.com", resolve=lambda *_: []) as proxy:
        assert asked(proxy, request(b"x", 1, kind=9))[1] == 8
        assert asked(proxy, request(b"127.0.0.1", port))[1] == 5
        assert asked(proxy, request(b"gone.com", 443))[1] == 4


def test_a_mapped_address_is_the_address_in_the_rules() -> None:
    with origin(echo) as server, served(f"127.0.0.1:{server.port}") as proxy, proxy.connect() as client:
        mapped = bytes(10) + b"\xff\xff\x7f\0\0\1"
        client.sendall(login(b"x", TOKEN.encode()) + request(mapped, server.port, kind=4))
        assert read_exactly(client, 14).endswith(GRANTED)


@pytest.mark.parametrize(
    "data",
    [b"\x04\x01\x01\xbb\x7f\x00\x00\x01me\0", b"\x04\x01\x01\xbb\x00\x00\x00\x01me\0allowed.com\0"],
)
def test_older_socks_is_refused_plainly(data: bytes) -> None:
    with served("allowed.com", token="") as proxy:
        assert proxy.ask(data) == b"\x00\x5b" + bytes(6)
        assert proxy.told[0].protocol == "socks4"
        assert "socks5h" in str(proxy.told[0].reason)


def test_other_protocols_are_refused_at_once() -> None:
    with served("allowed.com") as proxy:
        assert proxy.ask(b"\x16\x03\x01\x02\x00\x01").startswith(b"HTTP/1.1 400 ")
        with proxy.connect() as client:
            client.sendall(b"\x05\x00")
            assert read_all(client) == b"\x05\xff"
