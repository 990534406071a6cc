"""What else `serve` offers at its address: MCP clients, the web shell, a link for the browser."""

import asyncio
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")
pytest.importorskip("mcp", reason="the SDK of the protocol is not installed")

from apps.mcp.talking_http import Served as Mcp
from apps.mcp.talking_http import talk
from apps.serve.serving import served
from cli import Cli
from support import wait_until


def test_an_mcp_client_works_at_the_same_address_with_the_same_token(cli: Cli) -> None:
    with served(cli, "--mcp", "--toolset", "oneshot", "--workspace", cli.cwd) as server:
        at = Mcp(server.process, f"{server.url}/mcp", server.token, str)

        async def work() -> str:
            async with at.client() as client:
                told = await client.call_tool("exec_command", {"command": ["pwd"], "cwd": "."})
                assert not told.is_error
                return str(told.content[0].text)  # type: ignore[union-attr]

        assert str(cli.cwd.resolve()) in talk(work)
        narrow = cli("serve", "token", "--read-only", "--token-file", server.token_file)["token"]
        assert server("GET", "/v1/info", token=narrow).status == 200
        assert server("POST", "/mcp", {}, token=narrow).status == 401
        assert server("POST", "/mcp", {}, headers={"host": "evil.example"}).status == 403
        assert server("POST", "/mcp", {}, headers={"origin": "http://evil.example"}).status == 403


def test_options_that_need_another_are_refused(cli: Cli) -> None:
    for words, said in (
        (["--toolset", "jobs"], b"--toolset goes with --mcp"),
        (["--open", "--socket", "s"], b"--open needs an address"),
        (["--open", "--host", "127.0.0.1", "--allow-remote"], b"--open is for a server on this machine"),
    ):
        out = cli.raw("serve", *words)
        assert (out.returncode, said in out.stderr) == (2, True), out.stderr


@pytest.mark.parametrize("works", [True, False])
def test_the_link_is_opened_and_shown_to_a_person(cli: Cli, *, works: bool) -> None:
    seen = cli.cwd / "seen"
    browser = cli.cwd / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}.new && mv {seen}.new {seen}\n')
    browser.chmod(0o700)
    env = {**cli.env, "XDG_STATE_HOME": str(cli.root.with_name("state")), "BROWSER": "/nowhere/browser"}
    env |= {"AGENT_EXEC_BROWSER": str(browser)} if works else {}
    words = [sys.executable, "-P", "-m", "agent_exec", "serve", "--port", "0", "--sandbox", "full-access"]
    leader, follower = pty.openpty()
    with subprocess.Popen([*words, "--open"], cwd=cli.cwd, env=env, stderr=follower) as process:
        os.close(follower)
        said = b""
        try:
            while said.count(b"#token=") < (1 if works else 2):
                said += os.read(leader, 4096)
            found = re.search(r"open (http://127\.0\.0\.1:\d+/#token=[\w-]+)\r\n", said.decode())
            assert found, said
            assert (b"no browser could be opened" in said) is not works
            if works:
                wait_until(seen.exists)
                assert seen.read_text() == found[1]
            token = (cli.root.with_name("state") / "agent-exec" / "token").read_text().strip()
            assert Path(found[1]).name == f"#token={token}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
            os.close(leader)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("page", ["README.md", "docs/server.md"])
def test_the_lines_of_the_documents_start_and_follow_a_job(cli: Cli, page: str) -> None:
    text = (Path(__file__).parents[3] / page).read_text()
    lines = re.findall(r"```sh\n(TOKEN=.*?)```", text, re.DOTALL)
    assert len(lines) == 1
    assert len(lines[0].splitlines()) == 5
    folder = cli.cwd / ".local" / "state" / "agent-exec"
    folder.mkdir(parents=True)
    with served(cli, "--token-file", folder / "token") as server:
        out = subprocess.run(
            ["sh", "-c", lines[0].replace(":8700", f":{server.port}")],
            env={**os.environ, "HOME": str(cli.cwd)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    pieces = re.findall(r"event: output\nid: \S+\ndata: (.*)\n", out.stdout)
    assert "".join(json.loads(piece)["text"] for piece in pieces) == "1\n2\n3\n"
    assert json.loads(out.stdout.splitlines()[-1])["exit_code"] == 0


def test_five_hundred_requests_at_once_are_all_answered(cli: Cli) -> None:
    """Each over a connection of its own, all of which are open before the first has shown its token."""
    with served(cli) as server:
        head = f"GET /v1/info HTTP/1.1\r\nHost: localhost:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"

        async def one() -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(f"{head}Connection: close\r\n\r\n".encode())
            answer = await reader.read()
            writer.close()
            return answer[:12]

        async def crowd() -> list[bytes]:
            return await asyncio.gather(*(one() for _ in range(500)))

        assert set(asyncio.run(crowd())) == {b"HTTP/1.1 200"}
