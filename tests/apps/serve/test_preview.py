"""Previews: only ports of a job's own processes, only with a token or a cookie, and never the interface."""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")

from agent_exec.apps.serve.tokens import Scope, issue
from apps.serve.serving import Served, served
from cli import Cli
from support import wait_until

WEB = str(Path(__file__).parents[2] / "children/webjob.py")


def web_job(server: Served, *words: str) -> tuple[str, int]:
    """Start a job that serves; return its id and its port."""
    job = server.run(sys.executable, WEB, *words, observe=0, conditions=["listen"])["job_id"]
    assert server("GET", f"/v1/jobs/{job}/wait?conditions=listen&seconds=60").body["ready"]
    found = server("GET", f"/v1/jobs/{job}/ports").body
    assert found["previews"] is True
    return job, found["ports"][0]["port"]


class Browser:
    """A client that keeps one cookie, as a browser does."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookie = ""

    @contextmanager
    def get(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> Iterator[HTTPResponse]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            fields = {**({"cookie": self.cookie} if self.cookie else {}), **headers}
            connection.request(method, path, body, fields)
            yield connection.getresponse()

    def status(self, path: str, **headers: str) -> int:
        with self.get(path, **headers) as reply:
            return reply.status

    def json(self, path: str, **headers: str) -> tuple[int, dict[str, Any]]:
        with self.get(path, **headers) as reply:
            return reply.status, json.loads(reply.read())

    def follow(self, url: str) -> str:
        """Open a link; keep the cookie that it sets, and return where it leads."""
        parts = urlsplit(url)
        assert parts.port == self.port
        with self.get(f"{parts.path}?{parts.query}") as reply:
            assert reply.status == 303, reply.read()
            set_cookie = reply.getheader("set-cookie", "")
            assert {"HttpOnly", "SameSite=Lax"} < set(set_cookie.split("; "))
            assert f"Path={parts.path.rstrip('/')}" in set_cookie.split("; ")
            self.cookie = set_cookie.partition(";")[0]
            return reply.getheader("location", "")


@contextmanager
def previewing(cli: Cli, sandbox: str) -> Iterator[tuple[Served, Browser]]:
    with served(cli, "--preview-port", "0", "--workspace", cli.cwd, sandbox=sandbox) as server:
        job = server.run("sleep", "600", observe=0)["job_id"]
        reply = server("POST", f"/v1/jobs/{job}/previews", {"port": 1})
        assert (reply.status, reply.body["code"]) == (404, "port_not_found")
        assert reply.body["details"]["ports"] == []
        yield server, Browser(preview_port(server))


def preview_port(server: Served) -> int:
    found: int = server("GET", "/v1/info").body["preview_port"]
    return found


def test_a_page_of_a_boxed_job_is_shown_to_those_with_its_link_only(cli: Cli) -> None:
    with previewing(cli, "workspace-write") as (server, browser):
        job, port = web_job(server)
        base = f"/p/{job}/{port}"
        for path in (
            f"{base}/",
            base,
            "/",
            "/v1/info",
            "/openapi.json",
            f"{base}/../../../v1/info",
            "/p/x/y",
        ):
            assert browser.status(path) == 401, path
        link = server("POST", f"/v1/jobs/{job}/previews", {"port": port}).body["url"]
        assert browser.follow(link) == f"{base}/"
        status, seen = browser.json(f"{base}/a%2Fb?c=d&e=%20")
        assert (status, seen["path"]) == (200, "/a%2Fb?c=d&e=%20")
        assert Browser(browser.port).status(f"{urlsplit(link).path}?{urlsplit(link).query}") == 401  # once
        assert browser.status(base) == 307

        # The cookie is for this job and port, and for nothing else.
        other, other_port = web_job(server)
        for path in (
            f"/p/{other}/{other_port}/",
            f"/p/{job}/{other_port}/",
            f"/p/{job}/{port}0/",
            "/v1/info",
        ):
            assert browser.status(path) == 401, path
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
            for path in ("/v1/jobs", f"/v1/files?path=.&token={server.token}", f"{base}/"):
                connection.request("GET", path, headers={"cookie": browser.cookie})
                reply = connection.getresponse()
                assert (reply.status, reply.read() and "") == (401, ""), path

        # Neither the token, nor our cookie, nor another's reaches the job.
        mixed = f"{browser.cookie}; session=mine; axp_a=1"
        _, seen = browser.json(f"{base}/", cookie=mixed, authorization=f"Bearer {server.token}", referer="x")
        told = {name.lower(): value for name, value in seen["headers"].items()}
        assert told["cookie"] == "a=1"
        assert told["host"] == f"localhost:{port}"
        assert told["x-forwarded-prefix"] == base
        assert not {"authorization", "referer"} & set(told)
        assert server.token not in json.dumps(seen)

        # Pages of other origins and other names are refused, with the cookie too.
        for wrong in (
            {"host": "evil.example"},
            {"origin": "http://evil.example"},
            {"origin": f"http://127.0.0.1:{server.port}"},
            {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
        ):
            assert browser.status(f"{base}/", **wrong) in (401, 403), wrong
        assert browser.status(f"{base}/", origin=f"http://127.0.0.1:{browser.port}") == 200
        good, browser.cookie = browser.cookie, browser.cookie.replace("=", "=9", 1)
        assert browser.status(f"{base}/") == 401
        browser.cookie = good

        # What the job says about places and cookies is changed to stay in its preview.
        with browser.get(f"{base}/moved") as reply:
            assert reply.getheader("location") == f"{base}/there?x=1"
        with browser.get(f"{base}/away") as reply:
            assert reply.getheader("location") == "https://example.com/"
        with browser.get(f"{base}/cookie") as reply:
            cookies = reply.headers.get_all("set-cookie") or []
            assert cookies == [f"axp_a=1; Path={base}/sub", f"axp_agent_exec_preview=forged; Path={base}/"]
            for name in ("service-worker-allowed", "clear-site-data", "strict-transport-security"):
                assert reply.getheader(name) is None
        assert browser.status(f"{base}/broken") == 502

        # Bodies are passed on as they come, both ways.
        body = b"x" * 3_000_000
        with browser.get(f"{base}/", "POST", body) as reply:
            assert reply.read() == b"3000000"
        with browser.get(f"{base}/", "POST", iter([b"ab", b"cde"])) as reply:  # in chunks
            assert reply.read() == b"5"
        with browser.get(f"{base}/endless") as reply:
            assert reply.read(10) == b"hellohello"
        wait_until(lambda: "the reader has gone" in server("GET", f"/v1/jobs/{job}/tail").body["stdout"])
        assert server("POST", f"/v1/jobs/{job}/kill").status == 200
        server("GET", f"/v1/jobs/{job}/wait?seconds=60")
        gone, told_gone = browser.json(f"{base}/")
        assert (gone, told_gone["code"]) == (404, "port_not_found")


def test_websockets_are_relayed_and_ports_of_others_are_not_reached(cli: Cli) -> None:
    with previewing(cli, "full-access") as (server, browser):
        job, port = web_job(server, "0.0.0.0")
        base = f"/p/{job}/{port}"
        with closing(socket.create_connection(("127.0.0.1", browser.port), timeout=60)) as wire:
            wire.sendall(
                f"GET {base}/ws HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\nConnection: Upgrade\r\n"
                f"Upgrade: websocket\r\nAuthorization: Bearer {server.token}\r\n\r\nearly".encode()
            )
            said = b""
            while not said.endswith(b"EARLY"):
                said += wire.recv(4096)
            assert said.startswith(b"HTTP/1.1 101 ")
            assert b"axp_ws=1" in said
            data = b"abc" * 300_000
            wire.sendall(data[:100])
            assert wire.recv(4096)
            wire.shutdown(socket.SHUT_WR)
        with closing(socket.create_connection(("127.0.0.1", browser.port), timeout=60)) as wire:
            wire.sendall(
                f"GET {base}/ HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\nConnection: Upgrade\r\n"
                f"Upgrade: websocket\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode()
            )
            assert wire.recv(4096).startswith(b"HTTP/1.1 502 ")

        # A port on which another process listens, our own among them, is none of the job's.
        with closing(socket.create_server(("127.0.0.1", 0))) as stranger:
            for foreign in (stranger.getsockname()[1], server.port, browser.port):
                reply = server("POST", f"/v1/jobs/{job}/previews", {"port": foreign})
                assert (reply.status, reply.body["details"]["ports"]) == (404, [port])
                status, told = browser.json(f"/p/{job}/{foreign}/", authorization=f"Bearer {server.token}")
                assert (status, told["code"]) == (404, "port_not_found")
        bearer = {"authorization": f"Bearer {server.token}"}
        assert browser.status("/p/01NOSUCHJOB/80/", **bearer) == 404
        assert browser.status("/v1/jobs", **bearer) == 404
        assert browser.status(f"/p/{job}/99999/", **bearer) == 404

        # A token for the job may show it; one for another, or one that only reads, may not.
        own = issue(server.token, Scope(job=job))
        assert server("POST", f"/v1/jobs/{job}/previews", {"port": port}, token=own).status == 200
        assert browser.status(f"{base}/", authorization=f"Bearer {own}") == 200
        for scope in (Scope(job="01ANOTHER"), Scope(read_only=True)):
            token = issue(server.token, scope)
            assert server("POST", f"/v1/jobs/{job}/previews", {"port": port}, token=token).status == 403
            assert browser.status(f"{base}/", authorization=f"Bearer {token}") == 401
    with served(cli) as server:
        job = server.run("sleep", "600", observe=0)["job_id"]
        reply = server("POST", f"/v1/jobs/{job}/previews", {"port": 80})
        assert (reply.status, "--preview-port" in reply.body["detail"]) == (501, True)
