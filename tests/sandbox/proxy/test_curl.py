"""The real client of many programs, by plain HTTP and by a tunnel."""

import shutil
import socket
import subprocess

import pytest

from sandbox.proxy.world import Served, mirror, origin, served

CURL = shutil.which("curl") or ""

pytestmark = pytest.mark.skipif(not CURL, reason="curl is not installed")


def curl(proxy: Served, *words: str) -> subprocess.CompletedProcess[str]:
    env = proxy.env | {"PATH": "/usr/bin:/bin", "NO_PROXY": "", "no_proxy": ""}
    command = [CURL, "-sS", "--max-time", "20", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_plain_http_by_the_variables() -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        result = curl(proxy, f"http://127.0.0.1:{server.port}/page", "-d", "x" * 5000)
        assert result.stdout.startswith("POST /page HTTP/1.1")
        assert result.stdout.endswith("x" * 5000)
        assert "roxy" not in result.stdout
        assert proxy.told[0].protocol == "http"


def test_several_pages_on_one_connection() -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        url = f"http://127.0.0.1:{server.port}/"
        result = curl(proxy, "-v", f"{url}1", f"{url}2", f"{url}3")
        assert [line.split()[1] for line in result.stdout.splitlines() if line.endswith("HTTP/1.1")] == [
            "/1",
            "/2",
            "/3",
        ]
        assert result.stderr.count("Re-using existing connection") == 2


def test_a_large_body_that_waits_to_be_wanted() -> None:
    def answer(client: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        assert b"Expect: 100-continue" in head
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        got = 0
        while got < 3_000_000:
            got += len(client.recv(65536))
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n%d" % got)

    with origin(answer) as server, served(f"127.0.0.1:{server.port}") as proxy:
        words = ["-H", "Expect: 100-continue", "--data-binary", "@-", f"http://127.0.0.1:{server.port}/"]
        env = proxy.env | {"NO_PROXY": "", "no_proxy": ""}
        result = subprocess.run(
            [CURL, "-sS", *words], env=env, input=b"x" * 3_000_000, capture_output=True, check=False
        )
        assert result.stdout == b"3000000"


def test_a_tunnel() -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        result = curl(proxy, "--proxytunnel", f"http://127.0.0.1:{server.port}/deep")
        assert result.stdout.startswith("GET /deep HTTP/1.1")
        assert proxy.told[0].protocol == "connect"


def test_a_tunnel_that_asks_without_the_token_first() -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        result = curl(proxy, "--proxy-anyauth", "--proxytunnel", f"http://127.0.0.1:{server.port}/deep")
        assert result.stdout.startswith("GET /deep HTTP/1.1")
        assert [decision.allowed for decision in proxy.told] == [False, True]
        assert proxy.denials() == []


def test_refusals_are_seen() -> None:
    with served("allowed.com") as proxy:
        assert "not in allow-list" in curl(proxy, "http://evil.com/").stdout
        tunnel = curl(proxy, "-v", "https://evil.com/")
        assert tunnel.returncode == 56
        assert "403 Forbidden (evil.com:443: not in allow-list)" in tunnel.stderr
        assert len(proxy.told) == 2
        assert {denial["port"] for denial in proxy.denials()} == {80, 443}


def test_a_proxy_that_is_gone_is_no_network() -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        proxy.proxy.close()
        result = curl(proxy, f"http://127.0.0.1:{server.port}/")
        assert result.returncode == 7
        assert server.accepted == 0
