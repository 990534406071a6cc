"""Every promise of the protocol over real HTTP, with a client of each of its eras."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apps.mcp.talking import Client, anyio, meet, text, until
from apps.mcp.talking_http import FAKE_HTTP, Served, over_http, served, talk
from support import exists, processes_marked, wait_until

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


@ERAS
def test_a_client_lists_and_calls(tmp_path: Path, mode: str) -> None:
    with served(*FAKE_HTTP, tmp_path) as server:

        async def work() -> None:
            async with server.client(mode) as client:
                assert client.instructions == "Only for tests."
                assert len((await client.list_tools()).tools) == 9
                result = await client.call_tool("say", {"text": "hé\n\0"})
                assert (text(result), result.is_error) == ("hé\n\0", False)
                assert result.structured_content == {"text": "hé\n\0", "nothing": None}
                for name in ("refuse", "crash", "leave", "nothing"):
                    assert (await client.call_tool(name)).is_error
                assert text(await client.call_tool("noise")) == ""

        talk(work)
        if mode == "legacy":  # which says that it goes
            wait_until((tmp_path / "closed").exists)
        end(server)
        assert (tmp_path / "closed").exists()


def test_what_a_terminal_obeys_is_escaped(tmp_path: Path) -> None:
    said = "é \x7f \x9b31m \x9d \u202e \u2066 \u2028 𝄞"
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    alone = {"mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "say"}
    with served(*FAKE_HTTP, tmp_path) as server:
        for fields in ({"mcp-session-id": server.greet()}, alone):
            call = {"_meta": meta, "name": "say", "arguments": {"text": said}}
            asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
            _, told, answer = server.request(body=asked, headers=fields)
            shown = answer.decode()
            assert shown.replace("\n", "").isprintable(), shown
            assert json.loads(shown.rpartition("data: ")[2])["result"]["structuredContent"]["text"] == said
            # One is a stream of events, the other says how long it is.
            assert told.get("content-length", str(len(answer))) == str(len(answer))
            assert ("content-length" in told) is (fields is alone)


def end(server: Served, number: int = signal.SIGTERM) -> None:
    server.process.send_signal(number)
    assert server.process.wait(20) == 128 + number


@ERAS
def test_progress_arrives_while_the_call_runs(tmp_path: Path, mode: str) -> None:
    heard: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        assert message
        heard.append(progress)

    with served(*FAKE_HTTP, tmp_path) as server:

        async def work() -> None:
            async with server.client(mode) as client:
                result = await client.call_tool("wait", {"seconds": 0.5}, progress_callback=note)
                assert text(result) == "done"

        talk(work)
    assert len(heard) >= 2
    assert heard == sorted(heard)


@ERAS
def test_a_cancelled_call_is_reported(tmp_path: Path, mode: str) -> None:
    with served(*FAKE_HTTP, tmp_path) as server:

        async def work() -> None:
            async with server.client(mode) as client:
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "wait")
                    await until((tmp_path / "waits").exists)
                    group.cancel_scope.cancel()
                await until((tmp_path / "cancelled").exists)
                assert text(await client.call_tool("say", {"text": "still here"})) == "still here"

        talk(work)


@ERAS
def test_fifty_calls_at_once(tmp_path: Path, mode: str) -> None:
    with served(*FAKE_HTTP, tmp_path) as server:

        async def work() -> None:
            async with server.client(mode) as client:
                await meet(client)

        talk(work)


@ERAS
def test_a_client_that_leaves_early_is_forgotten(tmp_path: Path, mode: str) -> None:
    """A client that is cut off while it waits: its call ends with it, at once or when it counts as gone."""
    env = {"FAKE_HTTP": "clients.GONE_AFTER=0.3"}
    with served(*FAKE_HTTP, tmp_path, 600 if mode == "legacy" else 0.5, env=env) as server:

        async def work() -> None:
            with anyio.CancelScope() as scope:
                async with server.client(mode) as client, anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "wait")
                    await until((tmp_path / "waits").exists)
                    scope.cancel()
            await until((tmp_path / "cancelled").exists)
            await until((tmp_path / "closed").exists)
            async with server.client(mode) as client:
                assert text(await client.call_tool("say", {"text": "again"})) == "again"

        talk(work)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_ten_megabytes_of_output(tmp_path: Path, mode: str) -> None:
    with served(*over_http("--toolset", "oneshot", "--workspace", tmp_path)) as server:

        async def work() -> None:
            async with server.client(mode) as client:
                line = ["sh", "-c", "head -c 10485760 /dev/zero | tr '\\0' x; echo end >&2"]
                arguments = {"cwd": ".", "command": line, "shell_mode": "direct"}
                data = (await client.call_tool("exec_command", arguments)).structured_content["data"]
                assert (data["exit_code"], data["stderr"], data["stdout_truncated"]) == (0, "end\n", True)

        talk(work)
        end(server)


@ERAS
@pytest.mark.parametrize("way", ["name", "path"])
def test_sessions_of_one_client_are_not_those_of_another(tmp_path: Path, mode: str, way: str) -> None:
    with served(
        *over_http("--toolset", "session", "--workspace", tmp_path, "--sandbox", "full-access")
    ) as server:
        names = [{way: "one"}, {way: "two"}] if way == "name" else [{way: "/one"}, {way: "/two"}]

        async def work() -> None:
            async with server.client(mode, **names[0]) as one, server.client(mode, **names[1]) as two:
                pid = await start(one, tmp_path / "pid")
                for client, count in ((one, 1), (two, 0)):
                    found = (await client.call_tool("list_sessions", {})).structured_content["sessions"]
                    assert len(found) == count
                assert exists(pid)
            if mode == "legacy":
                await until(lambda: not exists(pid))

        talk(work)
        wait_until(lambda: not zombies(server.process.pid))
        end(server)


def zombies(parent: int) -> list[str]:
    """Return the children of a process that have ended and are still there."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, above, *_ = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if (state, above) == ("Z", str(parent)):
            found.append(stat.parent.name)
    return found


async def start(client: Client, file: Path) -> int:
    """Start a command that stays, with something that tries to escape; return its pid."""
    line = f"echo $$ > {file}.new; setsid sleep 1000 & mv {file}.new {file}; sleep 1000"
    arguments = {"cmd": line, "login": False, "yield_time_ms": 250}
    result = await client.call_tool("exec_command", arguments)
    assert "session_id" in result.structured_content
    await until(file.exists)
    return int(file.read_text())


def test_one_client_that_goes_leaves_the_commands_of_others_alone(tmp_path: Path) -> None:
    with served(*over_http("--toolset", "oneshot", "--workspace", tmp_path)) as server:

        async def work() -> None:
            async with server.client(name="stays") as stays, anyio.create_task_group() as group:
                found = []

                async def slow() -> None:
                    line = "echo > begun; while [ ! -e go ]; do sleep 0.01; done; echo fine"
                    arguments = {"cwd": ".", "command": ["sh", "-c", line], "shell_mode": "direct"}
                    found.append((await stays.call_tool("exec_command", arguments)).structured_content)

                group.start_soon(slow)
                await until((tmp_path / "begun").exists)
                async with server.client(name="goes") as goes:
                    arguments = {"cwd": ".", "command": ["true"]}
                    assert not (await goes.call_tool("exec_command", arguments)).is_error
                await anyio.sleep(0.2)
                (tmp_path / "go").touch()
            assert found[0]["data"]["stdout"] == "fine\n"

        talk(work)
        end(server)


@pytest.mark.parametrize("way", ["SIGTERM", "SIGINT", "SIGKILL"])
@ERAS
def test_nothing_survives_the_server(tmp_path: Path, nothing_left: str, mode: str, way: str) -> None:
    with served(
        *over_http("--toolset", "session", "--workspace", tmp_path, "--sandbox", "full-access")
    ) as server:

        async def work() -> None:
            with pytest.raises(BaseException):  # noqa: B017, PT011 - the server goes under its client
                async with server.client(mode) as client:
                    pid = await start(client, tmp_path / "pid")
                    number = getattr(signal, way)
                    os.kill(server.process.pid, number)
                    expected = -9 if way == "SIGKILL" else 128 + number
                    await until(lambda: server.process.poll() == expected)
                    await until(lambda: not exists(pid))
                    raise ConnectionError
            await until(lambda: not processes_marked(nothing_left))

        talk(work)


def test_what_hangs_does_not_keep_the_server(tmp_path: Path) -> None:
    env = {"FAKE_HANGS": "1", "FAKE_HTTP": "serving.END_PATIENCE=0.5"}
    with served(*FAKE_HTTP, tmp_path, env=env) as server:
        server.greet()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 1
        assert "Timeout" in server.said()
    with served(*FAKE_HTTP, tmp_path, env={"FAKE_HANGS": "1"}) as server:
        server.greet()
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: _refused(server))  # it has heard the first
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 128 + signal.SIGINT


def _refused(server: Served) -> bool:
    try:
        server.connect().close()
    except ConnectionError:
        return True
    return False


@ERAS
def test_a_client_that_is_killed_in_the_middle_of_a_call(tmp_path: Path, mode: str) -> None:
    """The kernel hangs up for it; others do not notice."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from apps.mcp.talking_http import Served, talk\n"
        "server = Served(None, sys.argv[2], sys.argv[3], None)\n"
        "async def work():\n"
        "    async with server.client(sys.argv[4], name='victim') as client:\n"
        "        await client.call_tool('wait')\n"
        "talk(work)\n"
    )
    env = {"FAKE_HTTP": "clients.GONE_AFTER=0.3"}
    with served(*FAKE_HTTP, tmp_path, 0.5, env=env) as server:
        words = [sys.executable, "-c", code, str(Path(__file__).parents[2]), server.url, server.token, mode]
        with subprocess.Popen(words) as victim:
            wait_until((tmp_path / "waits").exists)
            victim.kill()
        wait_until((tmp_path / "cancelled").exists)
        wait_until((tmp_path / "closed").exists)

        async def work() -> None:
            async with server.client(mode) as client:
                assert text(await client.call_tool("say", {"text": "again"})) == "again"

        talk(work)
        end(server)
