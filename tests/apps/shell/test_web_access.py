"""The server of `shell --web`: who is let in, and who is not."""

import signal
import socket
from pathlib import Path

import pytest

from apps.shell.webclient import Client, aiohttp, apps, serving, visit

FILES = ("page.css", "page.js", "textual.js", "xterm.css", "mono.ttf", "mono-italic.ttf")
LOST = "needs the whole address"


def test_without_the_token_nothing_is_shown() -> None:
    async def work(client: Client) -> None:
        token, own = client.server.token, {"Origin": client.server.origin}
        pages = ["/", *(f"/static/{name}" for name in (*FILES, "", "none"))]
        others = ["/ws", "/%77s", "/nothing", "/download/x"]
        wrong = [f"/?token={bad}" for bad in ("", token[:-1], token + "x", token.upper(), "%00", "é")]
        twice = [f"/?token={token}&token={token}", f"/?token=x&token={token}"]
        for path in [*pages, *others, *wrong, *twice]:
            status, text, headers = await client.get(path, **own)
            assert (status, LOST in text) == (401, True), path
            assert headers["Content-Type"].startswith("text/plain")
            assert "Set-Cookie" not in headers
        for path in [*pages[1:], *others]:  # the token opens the page alone; all else takes the cookie
            assert (await client.get(f"{path}?token={token}", **own))[0] == 401, path
        await client.enter()
        for path in others:  # and what is neither page nor file takes both, and is asked for by the page
            assert (await client.get(path, **own))[0] == 401, path
            assert (await client.get(f"{path}?token={token}"))[0] == 403, path
        assert (await client.get(f"/nothing?token={token}", **own))[0] == 404

    with serving() as server:
        visit(server, work)


def test_the_address_gives_a_cookie_that_opens_the_pages() -> None:
    async def work(client: Client) -> None:
        status, text, headers = await client.get(f"/?token={client.server.token}")
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert client.server.token not in text
        cookie = headers["Set-Cookie"]
        assert cookie.startswith(f"{client.server.cookie}=")
        assert {part.strip() for part in cookie.split(";")[1:]} == {"HttpOnly", "Path=/", "SameSite=Strict"}
        assert client.server.token not in cookie  # other ports of this machine get to see it
        for path in ("/", *(f"/static/{name}" for name in FILES)):
            assert (await client.get(path))[0] == 200, path
        assert (await client.get("/?token=wrong"))[0] == 401
        for path in (
            "/static/none",
            "/static/",
            "/static/page.html/x",
            "/static/..%2fweb.py",
            "/static/web.py",
        ):
            assert (await client.get(path))[0] == 404, path

    with serving() as server:
        assert len(server.token) * 6 >= 128
        visit(server, work)


def test_a_wrong_cookie_is_none() -> None:
    async def work(client: Client) -> None:
        for value in ("", "x", client.server.token, '"', "\xe9"):
            cookie = f"{client.server.cookie}={value}"
            assert (await client.get("/", Cookie=cookie))[0] == 401, value

    with serving() as server:
        visit(server, work)


def test_every_answer_has_strict_security_headers() -> None:
    async def work(client: Client) -> None:
        await client.get("/static/page.js")
        for path in ("/nothing", f"/?token={client.server.token}", "/static/page.js", "/static/none"):
            headers = (await client.get(path))[2]
            policy = headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "script-src 'self';" in policy
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Cache-Control"] == "no-store"
            assert not [name for name in headers if name.startswith("Access-Control")]
            assert "aiohttp" not in str(headers)

    with serving() as server:
        visit(server, work)


def test_another_name_of_this_machine_is_refused(nothing_left: str) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        port = client.server.port
        page = f"/?token={client.server.token}"
        hosts = (
            f"evil.example:{port}",
            "127.0.0.1",
            f"127.0.0.1:{port + 1}",
            f"127.0.0.1:{port}.evil.example",
            "",
        )
        for host in hosts:
            status, text, headers = await client.get(page, Host=host)
            assert (status, "Set-Cookie" in headers) == (403, False), host
            assert text.startswith("This server is called 127.0.0.1:")
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                async with client.page(Host=host, Origin=f"http://{host}"):
                    pass
            assert caught.value.status == 403
        assert (await client.get(page, Host=f"localhost:{port}"))[0] == 200
        assert (await client.get(page, Host=f"LOCALHOST:{port}"))[0] == 200
        assert not apps(nothing_left)

    with serving() as server:
        visit(server, work)


def test_pages_of_others_are_refused(nothing_left: str) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        port = client.server.port
        others = (
            "http://evil.example",
            "null",
            f"https://127.0.0.1:{port}",
            f"http://localhost:{port}",
            "http://127.0.0.1",
        )
        for origin in others:
            status, text, _ = await client.get("/", Origin=origin)
            assert (status, text) == (403, "This server speaks to its own pages only.\n"), origin
        for origin in (*others, ""):
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                async with client.page(Origin=origin):
                    pass
            assert caught.value.status == 403, origin
        assert (await client.get("/", Origin=client.server.origin))[0] == 200
        assert not apps(nothing_left)

    with serving() as server:
        visit(server, work)


def test_an_app_takes_both_cookie_and_token(nothing_left: str) -> None:
    async def refused(client: Client, token: str) -> None:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            async with client.page(token=token):
                pass
        assert caught.value.status == 401

    async def work(client: Client) -> None:
        await refused(client, client.server.token)
        await client.enter()
        await refused(client, "")
        await refused(client, client.server.token[::-1])
        assert not apps(nothing_left)
        async with client.page() as page:
            await page.sees("ready")

    with serving() as server:
        visit(server, work)


def test_data_sent_with_the_handshake_is_read_after_acceptance(nothing_left: str) -> None:
    """Frames that come with the head wait for the check of the token; a stranger's are dropped."""

    def said(cookie: str, token: str) -> bytes:
        head = (
            f"GET /ws?width=80&height=24&token={token} HTTP/1.1\r\nHost: {server.host}\r\n"
            f"Origin: {server.origin}\r\nCookie: {cookie}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        ).encode()
        typed = b'["stdin", "leave\\r"]'
        with socket.create_connection(("127.0.0.1", server.port), 30) as wire:
            wire.sendall(head + bytes([0x81, 0x80 | len(typed), 0, 0, 0, 0]) + typed)
            found = b""
            while b"The shell has ended." not in found and (more := wire.recv(65536)):
                found += more
        return found

    async def enter(client: Client) -> str:
        return (await client.get(f"/?token={client.server.token}"))[2]["Set-Cookie"].partition(";")[0]

    with serving() as server:
        cookie = visit(server, enter)
        assert said(cookie, "wrong").startswith(b"HTTP/1.1 401 ")
        assert not apps(nothing_left)
        found = said(cookie, server.token)
        assert found.startswith(b"HTTP/1.1 101 ")
        assert found.endswith(b"The shell has ended.")


def test_nothing_can_be_sent() -> None:
    async def work(client: Client) -> None:
        await client.enter()
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
            assert (await client.get("/", method=method))[0] == 405

    with serving() as server:
        visit(server, work)


def test_only_this_machine_can_connect() -> None:
    with serving() as server:
        lines = (
            Path("/proc/net/tcp").read_text().splitlines() + Path("/proc/net/tcp6").read_text().splitlines()
        )
        bound = [line.split()[1] for line in lines[1:] if line.split()[3:4] == ["0A"]]
        ours = [place for place in bound if place.endswith(f":{server.port:04X}")]
        assert ours == [f"0100007F:{server.port:04X}"]


def test_nonsense_is_answered_and_nothing_is_printed() -> None:
    with serving() as server:
        for said in (
            b"\x16\x03\x01\x00\xff\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
        ):
            with socket.create_connection(("127.0.0.1", server.port), 20) as wire:
                wire.sendall(said)
                assert wire.recv(12).startswith((b"HTTP/1.1 40", b"HTTP/1.0 40"))
        assert server.end() == 128 + signal.SIGTERM
        assert server.errors() == ""


def test_a_port_that_is_taken_is_reported() -> None:
    from agent_exec.apps.shell.web.server import listen
    from agent_exec.model.errors import Busy, InvalidArgument

    with listen(0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(Busy, match=f"port {port} is taken; choose another with --port"):
            listen(port)
    with listen(port):
        pass
    for bad in (-1, 65536):
        with pytest.raises(InvalidArgument, match="--port takes a number from 0"):
            listen(bad)
