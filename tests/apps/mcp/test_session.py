"""The toolset session over the protocol: a conversation with a program, and the end of it all."""

from pathlib import Path

import pytest

from apps.mcp.talking import Client, bare, talk, text
from support import exists, processes_marked, wait_until


def session(*words: object) -> tuple[str, ...]:
    """Give the words after `python` that serve the toolset session, which is the default."""
    return ("-m", "agent_exec", "mcp", *map(str, words))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_conversation(tmp_path: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"exec_command", "write_stdin", "read_output", "list_sessions", "kill_session"} <= names
        result = await client.call_tool("exec_command", {"cmd": "pwd; exit 3", "login": False})
        assert not result.is_error
        assert result.structured_content["exit_code"] == 3
        assert str(tmp_path) in text(result)
        result = await client.call_tool("exec_command", {"cmd": "cat", "login": False, "tty": True})
        number = result.structured_content["session_id"]
        result = await client.call_tool("write_stdin", {"session_id": number, "chars": "hello\n"})
        assert "hello" in result.structured_content["output"]
        result = await client.call_tool("kill_session", {"session_id": number})
        assert not result.is_error
        result = await client.call_tool("exec_command", {"cmd": "true", "other": 1})
        assert result.is_error
        assert "other" in text(result)

    talk(work, *session("--workspace", tmp_path), mode=mode)


@pytest.mark.parametrize("way", ["hang up", "terminate", "kill"])
def test_nothing_survives_the_server(tmp_path: Path, nothing_left: str, way: str) -> None:
    with bare(*session("--workspace", tmp_path)) as server:
        server.greet()
        line = "echo $$ > pid.new; setsid sleep 1000 & mv pid.new pid; sleep 1000"
        server.call("exec_command", cmd=line, login=False, yield_time_ms=250)
        assert "session_id" in server.hear()["result"]["structuredContent"]
        pid = int((tmp_path / "pid").read_text())
        if way == "hang up":
            server.hang_up()
        else:
            getattr(server.process, way)()
        assert server.process.wait(20) == {"hang up": 0, "terminate": 143, "kill": -9}[way]
        wait_until(lambda: not exists(pid))
        wait_until(lambda: not processes_marked(nothing_left))
