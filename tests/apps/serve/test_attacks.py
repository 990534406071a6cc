"""Hostile clients: paths and ids that mean something else, half requests, heads without end, and no reading."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")

from apps.serve.serving import Served, served
from cli import Cli
from support import wait_until

FLOOD = 64 << 20
"""Bytes of output that a viewer does not read: more than all buffers between it and the job hold."""


@pytest.fixture
def server(cli: Cli) -> Iterator[Served]:
    with served(cli) as found:
        yield found


def resident(server: Served) -> int:
    """Return the resident memory of a server in bytes."""
    fields = Path(f"/proc/{server.process.pid}/statm").read_text().split()
    return int(fields[1]) * 4096


def raw(server: Served, head: str) -> socket.socket:
    """Return a connection on which this has been sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.sendall(head.encode("latin-1"))
    return connection


def test_ids_that_are_paths_find_nothing(server: Served, cli: Cli) -> None:
    secret = cli.root / "meta.json"
    cli.root.mkdir(parents=True, exist_ok=True)
    secret.write_text('{"job_id": "x", "secret": "do not show"}')
    ids = (
        "..",
        ".",
        "%2e%2e",
        "..%2f..",
        "%00",
        "*",
        "%2fetc%2fpasswd",
        "a" * 5000,
        "%ff%fe",
        "-",
        "~",
        "$HOME",
    )
    for given in ids:
        for method, path in (
            ("GET", f"/v1/jobs/{given}"),
            ("GET", f"/v1/jobs/{given}/tail"),
            ("POST", f"/v1/jobs/{given}/kill"),
            ("DELETE", f"/v1/jobs/{given}"),
            ("DELETE", f"/v1/sessions/{given}"),
            ("GET", f"/v1/sessions/{given}/output"),
        ):
            reply = server(method, path)
            assert reply.status in (400, 404, 422), (method, path, reply.body)
            assert reply.body["detail"]
            assert "do not show" not in str(reply.body)
    assert secret.exists()
    assert server("GET", "/v1/info").status == 200


def test_requests_that_are_no_http_are_answered_and_leave_the_server_alone(server: Served) -> None:
    bearer = f"Authorization: Bearer {server.token}\r\n"
    for head, said in (
        ("GET /v1/info HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n" + bearer + "\r\n", b" 40"),
        ("GET /v1/info HTTP/1.1\r\n" + bearer + "\r\n", b" 40"),
        ("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n" + bearer + "\r\n", b" 400 "),
        (
            "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n"
            + bearer
            + "\r\n0\r\n\r\n",
            b" 4",
        ),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b" 400 "),
        ("GET /v1/info HTTP/1.1\r\nHost: localhost\r\n" + "x: y\r\n" * 20_000 + "\r\n", b" 431 "),
    ):
        with raw(server, head) as connection:
            assert said in connection.recv(4096).partition(b"\r\n")[0], head[:60]
    assert server("GET", "/v1/info").status == 200


def test_a_viewer_that_never_reads_costs_no_memory_and_holds_nothing_up(server: Served) -> None:
    job = server.run("sh", "-c", f"yes | head -c {FLOOD}", observe=0)["job_id"]
    head = (
        f"GET /v1/jobs/{job}/tail HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        f"Authorization: Bearer {server.token}\r\n\r\n"
    )
    before = resident(server)
    viewers = [raw(server, head) for _ in range(8)]
    try:
        for viewer in viewers:
            assert b"200 OK" in viewer.recv(64)
        assert server("GET", f"/v1/jobs/{job}/wait?seconds=60").body["state"] == "exited"
        assert server("GET", f"/v1/jobs/{job}/tail").body["stdout_observed_bytes"] == FLOOD
        assert resident(server) - before < FLOOD
    finally:
        for viewer in viewers:
            viewer.close()
    wait_until(lambda: server("GET", "/v1/info").status == 200)
