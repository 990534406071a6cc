"""HTTP through the proxy: tunnels, plain requests, and what is refused and how."""

import re
import socket

import pytest

from sandbox.proxy.world import (
    AUTH,
    TOKEN,
    echo,
    mirror,
    origin,
    read_all,
    read_exactly,
    read_head,
    read_request,
    served,
)


def test_a_tunnel_carries_bytes_both_ways() -> None:
    with origin(echo) as server, served(f"127.0.0.1:{server.port}") as proxy:
        with proxy.opened("127.0.0.1", server.port) as client:
            client.sendall(b"\0hello\r\n\r\n")
            assert read_exactly(client, 10) == b"\0hello\r\n\r\n"
        (decision,) = proxy.told
        assert (decision.protocol, decision.host, decision.port) == ("connect", "127.0.0.1", server.port)
        assert (decision.allowed, decision.address) == (True, "127.0.0.1")
        assert decision.rule == f"127.0.0.1:{server.port}"
        assert proxy.denials() == []


def test_what_follows_the_head_at_once_belongs_to_the_tunnel() -> None:
    with origin(echo) as server, served(f"127.0.0.1:{server.port}") as proxy, proxy.connect() as client:
        head = f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\nHost: x\r\n{AUTH}\r\n"
        client.sendall(head.encode() + b"CONNECT evil.com:443 HTTP/1.1\r\n\r\n")
        assert read_head(client).startswith(b"HTTP/1.1 200 ")
        assert read_head(client) == b"CONNECT evil.com:443 HTTP/1.1\r\n\r\n"
        assert len(proxy.told) == 1


def test_a_name_is_resolved_once_and_what_was_looked_at_is_dialled() -> None:
    asked: list[tuple[str, int]] = []

    def rebinding(name: str, port: int) -> list[str]:
        asked.append((name, port))
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    with origin(echo) as server:
        rules = (f"allowed.com:{server.port}", f"127.0.0.1:{server.port}")
        with served(*rules, resolve=rebinding) as proxy:
            with proxy.opened("ALLOWED.com.", server.port) as client:
                client.sendall(b"x")
                assert client.recv(1) == b"x"
            assert asked == [("allowed.com", server.port)]
            assert proxy.told[0].given.startswith("ALLOWED.com.")
            assert (proxy.told[0].host, proxy.told[0].address) == ("allowed.com", "127.0.0.1")
            with proxy.tunnel("allowed.com", server.port)[0] as client:
                pass
            assert proxy.told[1].allowed is False


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
)
def test_a_name_that_leads_inside_is_refused(address: str) -> None:
    with origin(echo) as server, served(f"allowed.com:{server.port}", resolve=lambda *_: [address]) as proxy:
        with proxy.tunnel("allowed.com", server.port)[0] as client:
            pass
        client, head = proxy.tunnel("allowed.com", server.port)
        with client:
            assert head.startswith(b"HTTP/1.1 403 ")
            assert b"which no rule names" in read_all(client)
        assert server.accepted == 0
        (denial,) = proxy.denials()
        assert denial["host"] == "allowed.com"
        assert "the name leads to" in str(denial["rule"])


def test_the_next_address_is_dialled_when_one_does_not_answer() -> None:
    with origin(echo) as server:
        rules = (f"allowed.com:{server.port}", f"127.0.0.1:{server.port}", f"127.0.0.9:{server.port}")
        with served(*rules, resolve=lambda *_: ["127.0.0.9", "10.9.9.9", "127.0.0.1"]) as proxy:
            proxy.opened("allowed.com", server.port).close()
            assert proxy.told[0].address == "127.0.0.1"


def test_a_refusal_says_why_and_what_is_allowed() -> None:
    with served("allowed.com", "*.b.org:22") as proxy:
        client, head = proxy.tunnel("evil.test", 443)
        with client:
            assert head.startswith(b"HTTP/1.1 403 Forbidden (evil.test:443: not in allow-list)\r\n")
            assert read_all(client) == (
                b"agent-exec: evil.test:443: not in allow-list\nallowed: allowed.com, *.b.org:22\n"
            )
        assert proxy.denials() == [
            {
                "kind": "net.connect",
                "host": "evil.test",
                "port": 443,
                "evidence": "exact",
                "rule": "not in allow-list",
                "remedy": "allowed: allowed.com, *.b.org:22",
            }
        ]


def test_an_empty_list_allows_nothing() -> None:
    with origin(echo) as server, served() as proxy:
        for host in ("127.0.0.1", "localhost", "[::1]"):
            client, head = proxy.tunnel(host, server.port)
            client.close()
            assert head.startswith(b"HTTP/1.1 403 ")
        assert server.accepted == 0


@pytest.mark.parametrize(
    "target",
    [
        "evil.com\0.allowed.com:443",
        "allowed.com@evil.com:443",
        "allowed.com:443@evil.com:443",
        "allowed.com.evil.com:443",
        "evilallowed.com:443",
        "allowed.com%00:443",
        "allowed.com%2eevil.com:443",
        "allowed。com:443",
        "allowed.com/evil.com:443",
        "allowed.com\\evil.com:443",
        "allowed.com\t:443",
        "allowed.com:0443",
        "allowed.com:+443",
        "allowed.com:65979",
        "allowed.com:443 ",
        "allowed.com: 443",
        "allowed.com:",
        "allowed.com",
        "allowed.com:22",
        "http://allowed.com:443",
        "[::ffff:127.0.0.1]:443",
        "0:443",
        "127.1:443",
        "2130706433:443",
        ":443",
        "a.wild.org.evil.com:443",
        "wild.org:443",
    ],
)
def test_tricks_of_spelling_reach_no_host(target: str) -> None:
    with served("allowed.com", "*.wild.org") as proxy:
        answer = proxy.ask(f"CONNECT {target} HTTP/1.1\r\nHost: allowed.com\r\n{AUTH}\r\n".encode())
        assert re.match(rb"HTTP/1\.1 40[03] ", answer)
        (decision,) = proxy.told
        assert not decision.allowed
        assert decision.address is None


@pytest.mark.parametrize(
    "credentials",
    [
        "",
        "Proxy-Authorization: Basic eDp5\r\n",
        "Proxy-Authorization: Bearer s3cret\r\n",
        "Proxy-Authorization: Basic !!\r\n",
        AUTH + AUTH,
        "Authorization: Basic eDp5\r\n",
    ],
)
def test_without_the_token_no_request_is_served(credentials: str) -> None:
    with origin(echo) as server, served(f"127.0.0.1:{server.port}") as proxy:
        client, head = proxy.tunnel("127.0.0.1", server.port, credentials)
        client.close()
        assert head.startswith(b"HTTP/1.1 407 ")
        assert b"\r\nProxy-Authenticate: Basic " in head
        assert server.accepted == 0
        assert [decision.allowed for decision in proxy.told] == [False]
        # To ask without it first is how many clients begin: that alone is no denial.
        assert bool(proxy.denials()) == ("Proxy-" in credentials)


def test_a_plain_request_is_written_anew() -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        answer = proxy.get(
            "127.0.0.1",
            server.port,
            "Proxy-Connection: keep-alive\r\nKeep-Alive: 5\r\nTE: trailers\r\nX-Hop: 1\r\nConnection: x-hop\r\nX-Kept: v\r\n",
        )
        head, _, seen = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\nConnection: close")
        assert seen.split(b"\r\n")[:3] == [
            b"GET / HTTP/1.1",
            f"Host: 127.0.0.1:{server.port}".encode(),
            b"Connection: close",
        ]
        assert b"X-Kept: v" in seen
        for gone in (b"proxy-", b"keep-alive", b"te:", b"x-hop", TOKEN.encode()):
            assert gone not in seen.lower()
        assert proxy.told[0].protocol == "http"


def test_bodies_arrive_whole_by_length_and_in_chunks() -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        start = f"POST http://127.0.0.1:{server.port}/p?q=1 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n{AUTH}"
        body = bytes(range(256)) * 1000
        answer = proxy.ask(f"{start}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert answer.endswith(b"\r\n\r\n" + body)
        assert b"POST /p?q=1 HTTP/1.1\r\n" in answer
        answer = proxy.ask(
            f"{start}Transfer-Encoding: chunked\r\n\r\n".encode()
            + b"3\r\nabc\r\nA;e=1\r\n0123456789\r\n0\r\n\r\n"
        )
        assert answer.endswith(b"\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n")


def test_each_request_on_a_connection_is_decided_anew() -> None:
    with (
        origin(mirror) as server,
        origin(mirror) as other,
        served(f"127.0.0.1:{server.port}") as proxy,
        proxy.connect() as client,
    ):
        for index, port in enumerate((server.port, server.port, other.port)):
            request = f"GET http://127.0.0.1:{port}/{index} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{AUTH}\r\n"
            client.sendall(request.encode())
            head = read_head(client)
            if port == server.port:
                assert head.startswith(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n")
                length = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
                assert read_exactly(client, length).startswith(b"GET /%d " % index)
            else:
                assert head.startswith(b"HTTP/1.1 403 ")
                assert b"not in allow-list" in read_all(client)
        assert [decision.allowed for decision in proxy.told] == [True, True, False]
        assert (server.accepted, other.accepted) == (2, 0)


def test_requests_sent_ahead_are_answered_in_order() -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy, proxy.connect() as client:
        where = f"127.0.0.1:{server.port}"
        client.sendall(
            f"POST http://{where}/1 HTTP/1.1\r\nHost: {where}\r\n{AUTH}Content-Length: 3\r\n\r\nabc"
            f"GET http://{where}/2 HTTP/1.1\r\nHost: {where}\r\n{AUTH}\r\n"
            f"GET http://evil.com/3 HTTP/1.1\r\nHost: evil.com\r\n{AUTH}\r\n".encode()
        )
        answer = read_all(client)
        assert [line for line in answer.split(b"\r\n") if b" HTTP/1.1" in line] == [
            b"POST /1 HTTP/1.1",
            b"GET /2 HTTP/1.1",
        ]
        assert b"evil.com:80: not in allow-list" in answer
        assert server.accepted == 2


@pytest.mark.parametrize(
    ("response", "heard"),
    [
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            b"2\r\nhi\r\n0\r\n\r\n",
        ),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", b""),
    ],
)
def test_every_kind_of_response(response: bytes, heard: bytes) -> None:
    def answer(client: socket.socket) -> None:
        read_request(client)
        for byte in response:
            client.send(bytes((byte,)))

    with origin(answer) as server, served(f"127.0.0.1:{server.port}") as proxy:
        got = proxy.get("127.0.0.1", server.port)
        assert got.startswith(b"HTTP/1.1 ")
        assert got.endswith(b"\r\n\r\n" + heard)


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi",
        b"HTTP/1.1 101 Switching\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70000,
    ],
)
def test_what_is_no_response_is_said(response: bytes) -> None:
    def answer(client: socket.socket) -> None:
        read_request(client)
        client.sendall(response)

    with origin(answer) as server, served(f"127.0.0.1:{server.port}") as proxy:
        assert proxy.get("127.0.0.1", server.port).startswith(b"HTTP/1.1 502 ")


def test_a_response_that_is_cut_off_does_not_look_whole() -> None:
    def answer(client: socket.socket) -> None:
        read_request(client)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")

    with (
        origin(answer) as server,
        served(f"127.0.0.1:{server.port}") as proxy,
        pytest.raises(ConnectionResetError),
    ):
        proxy.get("127.0.0.1", server.port)


def test_an_absent_peer_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with served(f"127.0.0.1:{port}", "gone.com", resolve=lambda *_: []) as proxy:
        assert b"502 Bad Gateway (127.0.0.1:%d: 127.0.0.1: ECONNREFUSED)" % port in proxy.get(
            "127.0.0.1", port
        )
        assert b"502 Bad Gateway (gone.com:80: the name has no address)" in proxy.get("gone.com", 80)
        assert [decision.allowed for decision in proxy.told] == [True, True]
        assert proxy.told[0].reason == "127.0.0.1: ECONNREFUSED"
        assert proxy.denials() == []


def test_a_resolver_that_fails_is_said() -> None:
    def fails(name: str, port: int) -> list[str]:
        raise OSError(-2, "Name or service not known") if name == "a.com" else ValueError("odd")

    with served("a.com", "b.com", resolve=fails) as proxy:
        assert b"502 Bad Gateway (a.com:80: the name cannot be resolved: Name or" in proxy.get("a.com", 80)
        assert b"502 Bad Gateway (b.com:80: the name cannot be resolved: ValueError" in proxy.get("b.com", 80)


def test_a_head_request_gets_no_body() -> None:
    with served() as proxy:
        answer = proxy.ask(f"HEAD http://a.com/ HTTP/1.1\r\nHost: a.com\r\n{AUTH}\r\n".encode())
        assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01",
        b"\x05\x01\x00",
        b"\x05\x00",
        b"\x04\x01\x01\xbb\x7f\x00\x00\x01me\0",
    ],
)
def test_other_protocols_are_refused_at_once(data: bytes) -> None:
    with served("allowed.com") as proxy:
        assert proxy.ask(data).startswith(b"HTTP/1.1 400 Bad Request (this is not HTTP)")
        assert [decision.allowed for decision in proxy.told] == [False]
