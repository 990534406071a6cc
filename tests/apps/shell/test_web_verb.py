"""The verb `shell --web`: what it refuses, what its apps are told, and whose files they believe."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from apps.shell.webclient import Client, serving, visit
from cli import Cli

PLACES = ("AGENT_EXEC_ROOT", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


def served(cli: Cli, *words: object) -> dict[str, Any]:
    """Return what starts the program as a server in the folder of the test."""
    places = {name: str(cli.root.with_name(name)) for name in PLACES}
    return {"argv": cli.argv("shell", "--web", *words), "cwd": cli.cwd, "OX_ALLOW_SHELL": "", **places}


def test_without_the_extra_it_says_what_to_install(cli: Cli, tmp_path: Path) -> None:
    shim = tmp_path / "shim"
    shim.mkdir()
    (shim / "websockets.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'websockets'\", name='websockets')\n"
    )
    out = cli.raw("shell", "--web", env={"PYTHONPATH": str(shim)})
    assert (out.returncode, out.stdout) == (2, b"")
    assert b'pip install "agent-exec[web]"' in out.stderr
    assert b"Traceback" not in out.stderr


def test_a_port_that_cannot_be_had_is_reported(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        taken = cli.raw("shell", "--web", "--port", port)
    assert (taken.returncode, taken.stdout) == (2, b"")
    assert f"port {port} is taken; choose another with --port" in taken.stderr.decode()
    none = cli.raw("shell", "--web", "--port", 65536)
    assert (none.returncode, none.stdout) == (2, b"")
    assert b"--port takes a number from 0 (any that is free) to 65535; got 65536" in none.stderr


def test_a_folder_that_is_not_there_is_reported(cli: Cli) -> None:
    out = cli.raw("shell", "--web", "nowhere")
    assert (out.returncode, out.stdout) == (2, b"")
    assert b"nowhere" in out.stderr
    assert b"Traceback" not in out.stderr


def test_the_port_of_a_server_that_has_ended_can_be_had_again(cli: Cli) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page:
            await page.sees("shell commands are off")

    with serving(**served(cli)) as server:
        visit(server, work)
        assert server.end(2) == 0
    with serving(**served(cli, "--port", server.port)) as again:
        assert again.port == server.port
        assert again.token != server.token


def test_the_words_of_the_command_line_are_the_apps_words(cli: Cli) -> None:
    from agent_exec.apps.parse import parse
    from agent_exec.apps.shell.web.server import _passed_on

    words = ["--theme=light", "--timeout=250ms", "--sandbox-root=a b", "--sandbox-root=-c", "--verbose"]
    asked = parse(["shell", "--web", "--port", "0", *words, "DIR"])
    assert sorted(_passed_on(asked)) == sorted(words)
    assert parse(["shell", *_passed_on(asked)]).options == {
        name: value for name, value in asked.options.items() if name not in ("web", "port")
    }


@pytest.mark.parametrize("allowed", [True, False])
def test_the_permission_is_that_of_the_servers_start(cli: Cli, *, allowed: bool) -> None:
    config = cli.cwd / "ox-config.json"
    config.write_text(json.dumps({"allow_shell": allowed}))

    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page:
            await page.sees("shell on" if allowed else "shell off")
            await page.type("/shell echo its-output")
            await page.sees("exit=0" if allowed else "Shell commands disabled")

    with serving(**served(cli)) as server:
        config.write_text(json.dumps({"allow_shell": not allowed}))
        visit(server, work)


def test_the_reason_why_shell_is_off_is_kept(cli: Cli) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page(width=200) as page:
            await page.sees("set OX_ALLOW_SHELL=1, or write")

    with serving(**served(cli)) as server:
        visit(server, work)


def test_modules_in_the_folder_are_not_believed(cli: Cli) -> None:
    for name in ("textual", "agent_exec", "aiohttp", "json"):
        (cli.cwd / f"{name}.py").write_text(
            f"open({str(cli.cwd / 'believed')!r}, 'a').close()\nraise SystemExit\n"
        )

    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page:
            await page.sees("textual.py")

    with serving(**served(cli, cli.cwd)) as server:
        visit(server, work)
    assert not (cli.cwd / "believed").exists()
