"""Who is let in over HTTP, and what nobody can do to the others."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_exec.apps.web.token_file import token_of_file
from apps.mcp.talking import python, text
from apps.mcp.talking_http import FAKE_HTTP, Served, over_http, served, talk
from cli import Cli
from support import wait_until

LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(*FAKE_HTTP, tmp_path) as found:
        yield found


def message(body: bytes) -> str:
    found: str = json.loads(body)["error"]["message"]
    return found


def test_without_the_token_there_is_nothing(server: Served) -> None:
    assert len(server.token) == 32  # 24 bytes, six bits a letter
    wrong = [
        None,
        "",
        "Bearer",
        "Bearer ",
        f"Basic {server.token}",
        server.token,
        f"Bearer {server.token}x",
        f"Bearer {server.token[:-1]}",
        "Bearer \xff",
    ]
    for field in wrong:
        for method, path in (
            ("POST", "/mcp"),
            ("GET", "/mcp"),
            ("DELETE", "/mcp"),
            ("GET", "/"),
            ("OPTIONS", "/mcp"),
        ):
            status, fields, body = server.request(method, path=path, headers={"authorization": field})
            assert (status, fields["www-authenticate"]) == (401, "Bearer")
            assert "Authorization: Bearer TOKEN" in message(body)
            assert not any(name.startswith("access-control") for name in fields)
    assert server.request(body=LIST, headers={"authorization": f"bearer {server.token}"})[0] == 400


def test_names_that_are_not_ours_are_not_answered_to(server: Served) -> None:
    for host in (
        "evil.example",
        f"evil.example:{server.port}",
        "10.0.0.1",
        "127.0.0.1.evil.example",
        "",
        "[::2]",
    ):
        assert server.request(headers={"host": host})[0] == 403, host
    for host in ("localhost", f"LOCALHOST:{server.port}", "127.0.0.1", "[::1]:80"):
        assert server.request(headers={"host": host})[0] == 400, host


def test_pages_of_others_are_not_served(server: Served) -> None:
    own = f"http://127.0.0.1:{server.port}"
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", f"https://127.0.0.1:{server.port}"):
        status, fields, _ = server.request(headers={"origin": origin})
        assert status == 403, origin
        assert not any(name.startswith("access-control") for name in fields)
    assert server.request(headers={"origin": own})[0] == 400


@pytest.mark.parametrize(
    "path", ["/", "/mc", "/mcpx", "/mcp/a/b", "/mcp/../x", "/mcp/%0a", "/mcp/é".encode().hex()]
)
def test_there_is_one_path(server: Served, path: str) -> None:
    assert server.request(path=path)[0] == 404


def test_what_is_no_message(server: Served) -> None:
    session = {"mcp-session-id": server.greet()}
    modern = {"mcp-protocol-version": "2026-07-28"}
    deep = b"[" * 100_000
    for body in (b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}', deep):
        for headers in ({}, session, modern):
            status, _, answer = server.request(body=body, headers=headers)
            assert 400 <= status < 500, (body[:20], headers)
            assert b"Traceback" not in answer
    assert server.request(body=LIST, headers={"mcp-session-id": "nobody"})[0] == 404
    assert server.request(body=LIST, headers={"mcp-protocol-version": "1999-01-01"})[0] == 400
    assert server.request(body=LIST, headers=session)[0] == 200
    assert "Traceback" not in server.said()


def test_a_request_that_stands_alone_says_the_same_twice(server: Served) -> None:
    """In its head, which those on the way can read, and in its body."""
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    head = {"mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "say"}
    call = {"_meta": meta, "name": "say", "arguments": {"text": "x"}}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
    assert server.request(body=body, headers=head)[0] == 200
    assert server.request(body=body, headers=head | {"mcp-name": "=?base64?c2F5?="})[0] == 200
    wrongs: tuple[dict[str, str | None], ...] = (
        {"mcp-name": "wait"},
        {"mcp-name": "=?base64?c2F?="},
        {"mcp-name": None},
        {"mcp-method": "tools/list"},
        {"mcp-method": None},
        {"mcp-protocol-version": "2026-07-29"},
    )
    for wrong in wrongs:
        status, _, answer = server.request(body=body, headers={**head, **wrong})
        assert (status, json.loads(answer)["error"]["code"]) == (400, -32020), wrong
        assert json.loads(answer)["id"] == 7
    with server.connect() as bare:
        said = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        data = json.dumps(body).encode()
        twice = (
            f"POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {server.token}\r\n"
            f"{said}mcp-name: wait\r\ncontent-length: {len(data)}\r\n\r\n"
        )
        bare.sendall(twice.encode() + data)
        assert b" 400 " in bare.recv(1000)
    unknown = {"jsonrpc": "2.0", "id": 8, "method": "no/such", "params": {"_meta": meta}}
    alone = {"mcp-protocol-version": version, "mcp-method": "no/such"}
    assert server.request(body=unknown, headers=alone)[0] == 404
    assert server.request(body={"jsonrpc": "2.0", "method": "notifications/x"}, headers=alone)[0] == 202
    assert server.request("GET", headers=alone)[0] == 405


def test_what_the_client_must_be_able_to_read(server: Served) -> None:
    session = {"mcp-session-id": server.greet()}
    for accept, status in (
        ("application/json", 406),
        ("text/event-stream", 406),
        ("text/html", 406),
        ("*/*", 200),
        ("application/*, text/*;q=0.5", 200),
    ):
        assert server.request(body=LIST, headers=session | {"accept": accept})[0] == status, accept
    assert server.request(body=LIST, headers=session | {"content-type": "text/plain"})[0] == 415
    assert server.request("GET", headers=session | {"accept": "application/json"})[0] == 406
    assert server.request("PUT", headers=session)[0] == 405
    assert server.request(body=LIST, headers=session | {"mcp-protocol-version": "1999-01-01"})[0] == 400
    with server.connect() as listener:
        head = f"GET /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {server.token}\r\n"
        listener.sendall(f"{head}mcp-session-id: {session['mcp-session-id']}\r\n\r\n".encode())
        assert b"text/event-stream" in listener.recv(1000)
        assert server.request("GET", headers=session)[0] == 409


def test_a_session_is_over_when_its_client_says_so(server: Served, tmp_path: Path) -> None:
    session = {"mcp-session-id": server.greet()}
    assert server.request("DELETE", headers=session)[0] == 200
    assert server.request(body=LIST, headers=session)[0] == 404
    wait_until((tmp_path / "closed").exists)


def test_a_request_that_is_too_large(server: Served) -> None:
    large = b" " * ((4 << 20) + 1)
    status, _, body = server.request(body=large)
    assert status == 413
    assert "4194304 bytes" in message(body)
    assert server.request(body=large, headers={"authorization": "none"})[0] == 401
    with server.connect() as bare:  # one that does not say how much there is, and never ends
        head = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {server.token}\r\n"
        bare.sendall(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        piece = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
        for _ in range(5):
            bare.sendall(piece)
        assert b" 413 " in bare.recv(100)
    with server.connect() as bare:  # one that says how much there will be, and waits
        bare.sendall(f"{head}content-length: {10**18}\r\n\r\nx".encode())
        assert b" 413 " in bare.recv(100)
    fits = json.dumps(LIST).encode().ljust(4 << 20)
    assert server.request(body=fits, headers={"mcp-session-id": server.greet()})[0] == 200


def test_a_slow_client_is_disconnected(tmp_path: Path) -> None:
    env = {"FAKE_HTTP": "connection.HEAD_PATIENCE=0.3 guard.PATIENCE=0.3"}
    with served(*FAKE_HTTP, tmp_path, env=env) as server:
        head = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {server.token}\r\n"
        with server.connect() as silent, server.connect() as slow, server.connect() as stuck:
            slow.sendall(b"GET / HT")
            stuck.sendall(f"{head}content-length: 10\r\n\r\nx".encode())
            for bare in (silent, slow):
                assert bare.recv(100) == b""
            assert b" 408 " in stuck.recv(1000)
        with server.connect() as bare:  # the second head on a connection that is kept
            bare.sendall(f"{head}mcp-protocol-version: 1999-01-01\r\ncontent-length: 2\r\n\r\n{{}}".encode())
            assert b" 400 " in bare.recv(1000)
            bare.sendall(b"GET")
            while bare.recv(1000):
                pass


def test_a_client_that_does_not_read_blocks_no_other(tmp_path: Path) -> None:
    env = {"FAKE_HTTP": "connection.READ_PATIENCE=0.3"}
    with served(*FAKE_HTTP, tmp_path, env=env) as server:
        session = server.greet()
        call = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "say", "arguments": {"text": "x" * 4_000_000}},
        }
        body = json.dumps(call).encode()
        with server.connect() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            head = (
                f"POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {server.token}\r\n"
                f"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
                f"mcp-session-id: {session}\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            deaf.sendall(head.encode() + body)
            assert server.request(body=LIST, headers={"mcp-session-id": session})[0] == 200

            def cut_off() -> bool:
                try:
                    deaf.send(b" ")
                except ConnectionError:
                    return True
                return False

            wait_until(cut_off)
        assert server.request(body=LIST, headers={"mcp-session-id": session})[0] == 200


def test_there_are_so_many_clients(tmp_path: Path) -> None:
    env = {"FAKE_HTTP": "clients.MOST=2"}
    with served(*FAKE_HTTP, tmp_path, env=env) as server:
        sessions = [server.greet(), server.greet()]
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
        for headers in ({}, {"mcp-protocol-version": "2026-07-28"}):
            status, _, body = server.request(body=hello, headers=headers)
            assert status == 503
            assert "clients already; end one of them" in message(body)
        assert server.request("DELETE", headers={"mcp-session-id": sessions[0]})[0] == 200
        wait_until(lambda: server.request(body=hello, headers={})[0] != 503)


def test_an_idle_client_is_forgotten(tmp_path: Path) -> None:
    with served(*FAKE_HTTP, tmp_path, 0.3) as server:
        session = {"mcp-session-id": server.greet()}
        assert server.request(body=LIST, headers=session)[0] == 200
        wait_until((tmp_path / "closed").exists)
        assert server.request(body=LIST, headers=session)[0] == 404


def test_a_waiting_client_is_not_idle(tmp_path: Path) -> None:
    with served(*FAKE_HTTP, tmp_path, 0.3) as server:

        async def work() -> None:
            for mode in ("legacy", "auto"):
                async with server.client(mode) as client:
                    assert text(await client.call_tool("wait", {"seconds": 1})) == "done"

        talk(work)


def run(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        python("-m", "agent_exec", "mcp", *words),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        out = run("--http", "--port", port)
    assert (out.returncode, out.stdout) == (2, "")
    assert f"127.0.0.1:{port} cannot be used (Address already in use); name another --port" in out.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "1"], "--port is for --http"),
        (["--token-file", "x"], "--token-file is for --http"),
        (["--http", "--port", "65536"], "--port takes a number from 0 to 65535"),
        (["--http", "--host", "0.0.0.0"], "say --allow-remote as well if you mean it"),
        (["--http", "--host", "::"], "say --allow-remote as well if you mean it"),
        (["--http", "--allow-remote"], "--allow-remote needs --host"),
        (["--http", "--host", "no such host"], "--host takes an address or a name"),
        (["--http", "--host", ""], "--host is empty; give it a value, or leave it out"),
        (["--http", "--host", "192.0.2.1", "--allow-remote"], "name a --host of this machine"),
        (["--http", "--idle-timeout", "0"], "--idle-timeout takes a time"),
        (["--http", "--rules", "nowhere.toml"], "nowhere.toml"),
        (["--http", "--dry-run"], "--dry-run is for `mcp install`"),
    ],
    ids=str,
)
def test_what_makes_no_sense(words: list[str], said: str) -> None:
    out = run(*words)
    assert (out.returncode, out.stdout) == (2, "")
    assert said in out.stderr
    assert "Traceback" not in out.stderr


def test_other_machines_need_two_options(tmp_path: Path) -> None:
    words = over_http("--toolset", "oneshot", "--workspace", tmp_path, "--host", "0.0.0.0", "--allow-remote")
    with served(*words) as server:
        assert "WARNING: other machines can reach it" in server.said()
        for host, status in (("10.1.2.3:80", 400), ("[fe80::1]", 400), ("evil.example", 403)):
            assert server.request(headers={"host": host})[0] == status


class TestTokenFile:
    def test_it_is_made_once_and_private(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        words = over_http("--toolset", "oneshot", "--workspace", tmp_path, "--token-file", file)
        for _ in range(2):
            with served(*words) as server:
                assert server.token not in server.said()
                assert server.request()[0] == 400
                assert server.request(headers={"authorization": "Bearer x"})[0] == 401
            assert file.stat().st_mode & 0o777 == 0o600
            assert sorted(path.name for path in tmp_path.iterdir()) == ["token"]

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
    def test_others_may_not_know_it(self, tmp_path: Path, mode: int) -> None:
        file = tmp_path / "token"
        file.write_text("x" * 40)
        file.chmod(mode)
        out = run("--http", "--port", "0", "--token-file", file)
        assert (out.returncode, out.stdout) == (2, "")
        assert "others may read or write" in out.stderr

    @pytest.mark.parametrize("text", ["", "short", "x" * 2000, "two words of some length, together thirty"])
    def test_it_must_hold_one(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "token"
        file.write_text(text)
        file.chmod(0o600)
        out = run("--http", "--port", "0", "--token-file", file)
        assert out.returncode == 2
        assert "must hold one word" in out.stderr

    def test_what_is_no_file(self, tmp_path: Path) -> None:
        out = run("--http", "--port", "0", "--token-file", tmp_path)
        assert out.returncode == 2
        assert "is not a file" in out.stderr or "Is a directory" in out.stderr
        out = run("--http", "--port", "0", "--token-file", tmp_path / "no" / "where")
        assert out.returncode == 2
        assert "cannot be made: No such file or directory; name a file in a folder of yours" in out.stderr

    def test_a_link_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "real").write_text("x" * 40)
        (tmp_path / "real").chmod(0o600)
        (tmp_path / "token").symlink_to("real")
        out = run("--http", "--port", "0", "--token-file", tmp_path / "token")
        assert out.returncode == 2
        assert "is a link; name the file itself" in out.stderr

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another")
    def test_one_of_another_user_does_not_count(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("x" * 40)
        (tmp_path / "token").chmod(0o600)
        os.chown(tmp_path / "token", 65534, 65534)
        out = run("--http", "--port", "0", "--token-file", tmp_path / "token")
        assert out.returncode == 2
        assert "belongs to another user" in out.stderr

    def test_it_has_a_private_place_of_its_own(self, tmp_path: Path) -> None:
        """Whatever is usual for new files here, and nothing of it is printed."""
        state = tmp_path / "deep" / "state"
        work = tmp_path / "work"
        work.mkdir()
        open_to_all = "import os, runpy; os.umask(0); runpy.run_module('agent_exec', run_name='__main__', alter_sys=True)"
        words = ("-c", open_to_all, *over_http("--toolset", "oneshot", "--workspace", work)[2:])
        with served(*words, env={"XDG_STATE_HOME": str(state)}) as server:
            file = state / "agent-exec" / "token"
            assert server.token == file.read_text().strip()
            assert server.token not in server.said()
            assert server.request()[0] == 400
            assert file.stat().st_mode & 0o777 == 0o600
            for folder in (state.parent, state, state / "agent-exec"):
                assert folder.stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("toolset", ["oneshot", "jobs", "session", "executor"])
    def test_no_box_can_read_it(self, cli: Cli, toolset: str) -> None:
        words = over_http("--toolset", toolset, "--workspace", cli.cwd, "--token-file", cli.cwd / "token")
        sandboxed = ("--sandbox", "workspace-write", "--root", cli.root)
        calls: dict[str, tuple[str, dict[str, Any]]] = {
            "oneshot": ("exec_command", {"cwd": str(cli.cwd), "command": ["cat", "seen", "token"]}),
            "jobs": ("run", {"command": ["cat", "seen", "token"], "until": 10}),
            "session": ("exec_command", {"cmd": "cat seen token", "yield_time_ms": 10000}),
            "executor": ("execute_command", {"command": "cat", "args": ["seen", "token"]}),
        }
        (cli.cwd / "seen").write_text("this can be read")
        with served(*words, *sandboxed) as server:

            async def work() -> str:
                async with server.client() as client:
                    return str(await client.call_tool(*calls[toolset]))

            said = talk(work)
            if "sandbox_unavailable" in said:
                pytest.skip("nothing here can confine")
            assert "this can be read" in said
            assert server.token not in said

    def test_what_a_killed_server_left_is_in_nobodys_way(self, tmp_path: Path) -> None:
        Path(f"{tmp_path}/token.{os.getpid()}.new").touch()  # of one with the same number, as in a container
        assert token_of_file(f"{tmp_path}/token") == Path(f"{tmp_path}/token").read_text().strip()
