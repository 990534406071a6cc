"""One loopback for the boxes of one client and workspace: its commands reach each other, and no other's."""

import json
import re
import signal
import socket
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agent_exec.apps.mcp.toolset import Settings, Trial
from agent_exec.host import close_loopback
from agent_exec.sandbox.profile import Profile
from apps.mcp.talking import Bare, Client, bare, jobs, talk, text
from apps.mcp.talking_http import over_http, served
from apps.mcp.talking_http import talk as over_time
from cli import Cli
from support import processes_marked, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")

SERVER = """\
import os, socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("at", server.getsockname()[1], flush=True)
while True:
    visitor = server.accept()[0]
    visitor.sendall(b"greetings from the server")
    visitor.close()
"""
CLIENT = """\
import socket, sys
try:
    print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10).recv(100).decode())
except OSError as error:
    print(type(error).__name__)
"""
HELLO = "greetings from the server"
REFUSED = "ConnectionRefusedError"
PORT = 8123
"""A number that every network has; a test that a machine's own port has anything to do with takes another."""


@pytest.fixture
def place(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace with a server and a client in it."""
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(cli.root))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(cli.root.with_name("config")))
    put_programs(cli.cwd)
    return cli.cwd


def put_programs(folder: Path) -> None:
    (folder / "server.py").write_text(SERVER)
    (folder / "client.py").write_text(CLIENT)


def mcp(place: Path, *words: object) -> tuple[str, ...]:
    """Return the words after `python` that serve sessions and jobs to a program."""
    return jobs("--toolset", "jobs,session", "--workspace", place, *words)


async def start(client: Client, port: int = PORT, **more: object) -> dict[str, Any]:
    """Start the server in a session; return once it listens."""
    asked = {"cmd": f"python3 server.py {port}", "login": False, "wait_for": f"port:{port}", **more}
    result = await client.call_tool("exec_command", {"yield_time_ms": 30000, **asked})
    assert not result.is_error, text(result)
    return {**result.structured_content, "text": text(result)}


async def visit(client: Client, port: int = PORT) -> str:
    """Return what a client hears in a session of its own."""
    asked = {"cmd": f"python3 client.py {port}", "login": False, "yield_time_ms": 30000}
    result = await client.call_tool("exec_command", asked)
    assert not result.is_error, text(result)
    return next((word for word in (HELLO, REFUSED) if word in text(result)), text(result))


async def sees(client: Client, port: int = PORT) -> bool:
    """Return whether a session that waits for a port is answered before it ends."""
    asked = {"cmd": "sleep 1", "login": False, "wait_for": f"port:{port}", "yield_time_ms": 30000}
    result = await client.call_tool("exec_command", asked)
    assert not result.is_error, text(result)
    return "session_id" in result.structured_content


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize("net", ["off", ["example.org"]])
def test_a_server_is_reached_by_the_next_command(cli: Cli, place: Path, net: object, tty: bool) -> None:
    profile = cli.root.with_name("profile.json")
    profile.write_text(json.dumps({"net": net}))

    async def work(client: Client) -> None:
        assert client.instructions is not None
        assert "A server that one command starts is reached by the next, at 127.0.0.1." in client.instructions
        found = await start(client, tty=tty)
        assert "session_id" in found
        assert await sees(client)
        assert await visit(client) == HELLO
        assert await visit(client) == HELLO
        await client.call_tool("kill_session", {"session_id": found["session_id"]})
        assert await visit(client) == REFUSED

    talk(work, *mcp(place, "--sandbox", profile))


def test_a_job_and_a_session_reach_each_other(place: Path) -> None:
    async def work(client: Client) -> None:
        run = {"command": ["python3", "server.py", str(PORT)], "until": 0}
        job = (await client.call_tool("run", run)).structured_content["job_id"]
        while not await sees(client):
            pass
        assert await visit(client) == HELLO
        await client.call_tool("kill", {"job_id": job})
        assert await visit(client) == REFUSED
        await start(client)
        run = {"command": ["python3", "client.py", str(PORT)], "until": 30}
        found = await client.call_tool("run", run)
        assert HELLO in text(found)

    talk(work, *mcp(place))


def test_one_shots_share_it(place: Path) -> None:
    """A server of a job, visited by the tools that run one command each."""

    async def work(client: Client) -> None:
        run = {"command": ["python3", "server.py", str(PORT)], "until": 0}
        job = (await client.call_tool("run", run)).structured_content["job_id"]
        again = f"until python3 client.py {PORT} | grep greetings; do sleep 0.05; done"
        found = await client.call_tool("exec_command", {"cwd": ".", "command": ["sh", "-c", again]})
        assert HELLO in text(found)
        await client.call_tool("kill", {"job_id": job})

    talk(work, *jobs("--toolset", "jobs,oneshot", "--workspace", place))


def test_the_machine_is_apart(place: Path) -> None:
    """Its ports are neither seen nor reached from the boxes, nor theirs from it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        async def work(client: Client) -> None:
            assert not await sees(client, port)
            assert await visit(client, port) == REFUSED
            found = await start(client, 0, wait_for="match:at [0-9]+")
            inner = int(re.findall("at ([0-9]+)", str(found))[0])
            assert await visit(client, inner) == HELLO
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", inner), 10)

        talk(work, *mcp(place))
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_clients_of_one_server_do_not_share_it(place: Path, mode: str) -> None:
    """One client's port is neither reached nor seen by another's, and free for it to listen on."""
    words = over_http("--toolset", "jobs,session", "--workspace", place)

    async def work() -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(server.client(mode, name=name)) for name in "abc"]
            await start(clients[0])
            assert await visit(clients[0]) == HELLO
            for other in clients[1:]:
                assert await visit(other) == REFUSED
                assert not await sees(other)
                run = {"command": ["python3", "client.py", str(PORT)], "until": 30}
                assert REFUSED in text(await other.call_tool("run", run))
            await start(clients[1])
            assert await visit(clients[1]) == HELLO

    with served(*words) as server:
        over_time(work)


def test_other_workspaces_and_servers_do_not_share_it(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    put_programs(other)

    async def work(client: Client) -> None:
        await start(client)
        for folder in (place, other):
            with bare(*mcp(folder)) as second:
                second.greet()
                second.call("exec_command", cmd=f"python3 client.py {PORT}", login=False, yield_time_ms=30000)
                assert REFUSED in str(answer(second))
        assert await visit(client) == HELLO

    talk(work, *mcp(place))


def test_no_two_clients_get_the_same_settings(tmp_path: Path) -> None:
    """Also where the workspace changes; and where boxes share none, none is promised."""
    trial = Trial(Settings(Profile("workspace-write", [str(tmp_path)])))
    trial.start()
    settings = [trial.settings() for _ in range(3)]
    settings.append(settings[0].at((str(tmp_path),)))
    assert all(one.sandbox.loopback for one in settings)
    assert len({one.sandbox.loopback for one in settings}) == 4
    for one in settings:
        close_loopback(one.sandbox.network or "")
    alone = settings[0].with_loopback("")
    assert alone.apart() == alone
    assert alone.at((str(tmp_path),)).sandbox.loopback == ""


def answer(server: Bare) -> dict[str, Any]:
    """Return the answer to the last call."""
    while "result" not in (found := server.hear()):
        pass
    told: dict[str, Any] = found["result"]["structuredContent"]
    return told | {"text": found["result"]["content"][0]["text"]}


@pytest.mark.parametrize("way", ["hang up", "terminate", "kill"])
def test_nothing_of_it_survives_the_server(place: Path, nothing_left: str, way: str) -> None:
    with bare(*mcp(place)) as server:
        server.greet()
        line = f"echo go; exec python3 server.py {PORT}"
        server.call("exec_command", cmd=line, login=False, wait_for=f"port:{PORT}", yield_time_ms=30000)
        assert "session_id" in answer(server)
        assert processes_marked(nothing_left)
        if way == "hang up":
            server.hang_up()
        else:
            getattr(server.process, way)()
        server.process.wait(20)
        wait_until(lambda: not processes_marked(nothing_left))


def test_a_job_keeps_it_when_the_server_is_killed(cli: Cli, place: Path) -> None:
    """It serves on in the network that it was started in, and ends as any other job."""
    line = (
        f"python3 server.py {PORT} & until [ -e go ]; do sleep 0.01; done; python3 client.py {PORT}; kill $!"
    )
    with bare(*mcp(place)) as server:
        server.greet()
        server.call("run", command=["sh", "-c", line], until=0)
        job = answer(server)["job_id"]
        server.call("exec_command", cmd="sleep 30", login=False, wait_for=f"port:{PORT}", yield_time_ms=30000)
        assert "session_id" in answer(server)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(20)
    (place / "go").touch()
    found = cli("wait", job)
    assert found["exit_code"] == 0
    assert HELLO in found["stdout"]
