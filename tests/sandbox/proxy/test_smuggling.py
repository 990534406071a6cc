"""Requests that two readers could read in two ways reach nobody."""

import pytest

from sandbox.proxy.world import AUTH, mirror, origin, served

GOOD = "Host: 127.0.0.1:PORT\r\n"


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "POST http://127.0.0.1:PORT/ HTTP/1.1",
            GOOD + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        ),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Content-Length: 3\r\nContent-Length: 3\r\n"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Content-Length: 3\r\nContent-Length: 4\r\n"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Content-Length: 3, 3\r\n"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Content-Length: +3\r\n"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Content-Length: -1\r\n"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Content-Length: 0x3\r\n"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Content-Length:\r\n"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Content-Length : 3\r\n"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Transfer-Encoding: gzip, chunked\r\n"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Transfer-Encoding: xchunked\r\n"),
        (
            "POST http://127.0.0.1:PORT/ HTTP/1.1",
            GOOD + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        ),
        ("POST http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Transfer-Encoding:\x0bchunked\r\n"),
        ("POST http://127.0.0.1:PORT/ HTTP/1.0", GOOD + "Transfer-Encoding: chunked\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + GOOD),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", ""),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", "Host: evil.com\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", "Host: 127.0.0.1\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", "Host: 127.0.0.1:PORT@evil.com\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", "Host:\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + " folded: x\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "X: a\r\n\tb\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "X: a\rY: b\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "X: a\nHost: evil.com\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "X: a\0b\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "No colon\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + ": x\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Upgrade: websocket\r\nConnection: Upgrade\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "Connection: upgrade\r\n"),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + "X: y\r\n" * 200),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1", GOOD + f"X: {'y' * 40000}\r\n"),
        ("GET  http://127.0.0.1:PORT/ HTTP/1.1", GOOD),
        ("GET http://127.0.0.1:PORT/ HTTP/1.1 ", GOOD),
        ("GET http://127.0.0.1:PORT/ x HTTP/1.1", GOOD),
        ("GET\thttp://127.0.0.1:PORT/\tHTTP/1.1", GOOD),
        ("GET http://127.0.0.1:PORT/", GOOD),
        ("GET http://127.0.0.1:PORT/ HTTP/2.0", GOOD),
        ("GET http://127.0.0.1:PORT/ HTTP/1.10", GOOD),
        ("GET http://127.0.0.1:PORT/#x HTTP/1.1", GOOD),
        ("GET http://127.0.0.1:PORT\\@evil.com/ HTTP/1.1", GOOD),
        ("GET http://evil.com@127.0.0.1:PORT/ HTTP/1.1", GOOD),
        ("GET http:///127.0.0.1:PORT/ HTTP/1.1", GOOD),
        ("GET http:127.0.0.1:PORT/ HTTP/1.1", GOOD),
        ("GET //127.0.0.1:PORT/ HTTP/1.1", GOOD),
        ("GET / HTTP/1.1", GOOD),
        ("OPTIONS * HTTP/1.1", GOOD),
        ("GET https://127.0.0.1:PORT/ HTTP/1.1", GOOD),
        ("GET ftp://127.0.0.1:PORT/ HTTP/1.1", GOOD),
        ("G(T http://127.0.0.1:PORT/ HTTP/1.1", GOOD),
    ],
)
def test_refused(line: str, fields: str) -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        request = f"{line}\r\n{AUTH}{fields}\r\n".replace("PORT", str(server.port))
        answer = proxy.ask(request.encode())
        assert answer.split(b" ")[1] in {b"400", b"403", b"431", b"501"}, answer
        assert server.accepted == 0
        assert [decision.allowed for decision in proxy.told] == [False]


@pytest.mark.parametrize(
    "body",
    [
        b"g\r\n",
        b"\r\n",
        b"-1\r\n",
        b"3\nabc\r\n",
        b"3\r\nabcd\r\n",
        b"0x3\r\nabc\r\n",
        b"3;a\rb\r\nabc\r\n",
        b"f" * 300,
        b"1" * 16 + b"\r\n",
    ],
)
def test_chunks_that_are_none(body: bytes) -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        head = f"POST http://127.0.0.1:{server.port}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{AUTH}Transfer-Encoding: chunked\r\n\r\n"
        assert proxy.ask(head.encode() + body).startswith(b"HTTP/1.1 400 ")


def test_what_follows_a_body_is_no_part_of_it() -> None:
    """The origin sees one request, whatever the client puts after it."""
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        where = f"127.0.0.1:{server.port}"
        hidden = "GET /hidden HTTP/1.1\r\nHost: evil.com\r\n\r\n"
        answer = proxy.ask(
            f"POST http://{where}/ HTTP/1.1\r\nHost: {where}\r\n{AUTH}Content-Length: 2\r\n\r\nok{hidden}".encode()
        )
        assert answer.count(b"/hidden") == 0
        assert b"HTTP/1.1 400 " in answer
        assert server.accepted == 1
