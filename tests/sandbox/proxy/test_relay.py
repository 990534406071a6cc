"""Bytes arrive exactly, both ways, however many, however slowly, and whoever ends first."""

import hashlib
import random
import resource
import socket
import threading
import time

import pytest

from sandbox.proxy.world import AUTH, Served, echo, origin, read_all, read_exactly, read_request, served

SIZE = 24 << 20


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def pour(client: socket.socket, data: bytes) -> None:
    client.sendall(data)
    client.shutdown(socket.SHUT_WR)


def test_large_transfers_both_ways_at_once_are_exact() -> None:
    data = noise(1, SIZE)
    with origin(echo) as server, served(f"127.0.0.1:{server.port}") as proxy:
        with proxy.opened("127.0.0.1", server.port) as client:
            sender = threading.Thread(target=pour, args=(client, data))
            sender.start()
            got = read_all(client)
            sender.join()
        assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()


def test_the_client_may_end_first_and_still_hear_the_answer() -> None:
    def count(client: socket.socket) -> None:
        client.sendall(b"%d" % len(read_all(client)))

    with (
        origin(count) as server,
        served(f"127.0.0.1:{server.port}") as proxy,
        proxy.opened("127.0.0.1", server.port) as client,
    ):
        client.sendall(b"x" * 1_000_000)
        client.shutdown(socket.SHUT_WR)
        assert read_all(client) == b"1000000"


def test_the_host_may_end_first_and_still_hear_the_rest() -> None:
    heard: list[bytes] = []

    def end(client: socket.socket) -> None:
        client.sendall(b"bye")
        client.shutdown(socket.SHUT_WR)
        heard.append(read_all(client))

    with origin(end) as server, served(f"127.0.0.1:{server.port}") as proxy:
        with proxy.opened("127.0.0.1", server.port) as client:
            assert read_all(client) == b"bye"
            client.sendall(b"after")
        server.wait_until_served()
        assert heard == [b"after"]


def test_a_reset_is_passed_on() -> None:
    def reset(client: socket.socket) -> None:
        client.recv(1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with (
        origin(reset) as server,
        served(f"127.0.0.1:{server.port}") as proxy,
        proxy.opened("127.0.0.1", server.port) as client,
    ):
        client.sendall(b"x")
        with pytest.raises(ConnectionResetError):
            client.recv(1)


@pytest.mark.parametrize("way", ["down", "up"])
def test_a_client_that_does_not_read_slows_its_sender(way: str) -> None:
    """Nothing piles up in the proxy: a sender comes to a stop."""
    moved = [0]
    go = threading.Event()

    def pour(end: socket.socket) -> None:
        end.settimeout(1)
        try:
            while True:
                moved[0] += end.send(bytes(65536))
        except TimeoutError:
            go.set()

    def serve_one(client: socket.socket) -> None:
        if way == "down":
            pour(client)
        else:
            go.wait(20)

    with origin(serve_one) as server, served(f"127.0.0.1:{server.port}") as proxy:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with proxy.opened("127.0.0.1", server.port) as client:
            if way == "up":
                pour(client)
            assert go.wait(20)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024
        assert moved[0] < 64 << 20


def test_two_hundred_at_once() -> None:
    with origin(echo) as server:
        rules = (f"allowed.com:{server.port}", f"127.0.0.1:{server.port}")
        with served(*rules, resolve=lambda *_: ["127.0.0.1"]) as proxy:
            clients = [proxy.connect() for _ in range(200)]
            for client in clients:
                client.sendall(
                    f"CONNECT allowed.com:{server.port} HTTP/1.1\r\nHost: x\r\n{AUTH}\r\n".encode()
                )
            for index, client in enumerate(clients):
                answer = b"HTTP/1.1 200 Connection established\r\n\r\n"
                assert read_exactly(client, len(answer)) == answer
                client.sendall(noise(index, 5000))
            for index, client in enumerate(clients):
                assert read_exactly(client, 5000) == noise(index, 5000)
                client.close()
            assert len(proxy.told) == 200
            assert all(decision.allowed for decision in proxy.told)


def test_a_large_response_of_plain_http_is_exact() -> None:
    data = noise(2, SIZE // 4)

    def chunks(client: socket.socket) -> None:
        read_request(client)
        client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for at in range(0, len(data), 5003):
            piece = data[at : at + 5003]
            client.sendall(b"%X\r\n%b\r\n" % (len(piece), piece))
        client.sendall(b"0\r\n\r\n")

    def plain(client: socket.socket) -> None:
        read_request(client)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(data), data))

    with origin(plain) as server, served(f"127.0.0.1:{server.port}") as proxy:
        assert proxy.get("127.0.0.1", server.port).partition(b"\r\n\r\n")[2] == data
    with origin(chunks) as server, served(f"127.0.0.1:{server.port}") as proxy:
        body = proxy.get("127.0.0.1", server.port).partition(b"\r\n\r\n")[2]
        got, at = [], 0
        while size := int(body[at : (end := body.index(b"\r\n", at))], 16):
            got.append(body[end + 2 : end + 2 + size])
            at = end + 4 + size
        assert b"".join(got) == data


def test_an_answer_before_the_whole_request_is_read() -> None:
    def refuse(client: socket.socket) -> None:
        client.recv(1000)
        client.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")

    with origin(refuse) as server, served(f"127.0.0.1:{server.port}") as proxy:
        where = f"127.0.0.1:{server.port}"
        with proxy.connect() as client:
            client.sendall(
                f"POST http://{where}/ HTTP/1.1\r\nHost: {where}\r\n{AUTH}Content-Length: {SIZE}\r\n\r\n".encode()
                + bytes(SIZE // 4)
            )
            client.shutdown(socket.SHUT_WR)
            assert read_all(client).startswith(b"HTTP/1.1 413 ")


def test_close_in_the_middle_ends_everything() -> None:
    def pour(client: socket.socket) -> None:
        while True:
            client.sendall(bytes(65536))

    with origin(pour) as server, served(f"127.0.0.1:{server.port}") as proxy:
        client = proxy.opened("127.0.0.1", server.port)
        waiting = proxy.connect()
        client.recv(1)
        started = time.monotonic()
        proxy.proxy.close()
        proxy.proxy.close()
        assert time.monotonic() - started < 5
        assert not proxy.proxy.alive
        with client, pytest.raises(ConnectionResetError):
            read_all(client)
        with waiting, pytest.raises(ConnectionResetError):
            read_all(waiting)
        _nobody_answers(proxy)


def _nobody_answers(proxy: Served) -> None:
    with pytest.raises(ConnectionRefusedError):
        proxy.connect()
