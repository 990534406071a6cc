"""The toolset session over the protocol: a conversation with a program, and the end of it all."""

import os
from pathlib import Path

import pytest

from apps.mcp.talking import Client, bare, jobs, talk, text
from cli import Cli
from support import exists, processes_marked, wait_until


def session(*words: object) -> tuple[str, ...]:
    """Return the words after `python` that serve the toolset session to a program."""
    return jobs("--toolset", "session", *words)


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
    with bare(*session("--workspace", tmp_path, "--sandbox", "full-access")) as server:
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


def test_what_a_client_reads(tmp_path: Path) -> None:
    """Where commands run, what confines them, and hints of the protocol on every tool."""

    async def work(client: Client) -> None:
        assert client.instructions is not None
        assert f"the workspace {tmp_path}; they are confined by" in client.instructions
        assert "sandbox profile read-only" in client.instructions
        tools = (await client.list_tools()).tools
        hints = {tool.name: tool.annotations for tool in tools}
        for one in hints.values():
            assert one is not None
            assert None not in (
                one.read_only_hint,
                one.destructive_hint,
                one.idempotent_hint,
                one.open_world_hint,
            )
        command, killing = hints["exec_command"], hints["kill_session"]
        assert command is not None
        assert killing is not None
        assert (command.read_only_hint, command.open_world_hint) == (True, False)
        assert (killing.read_only_hint, killing.idempotent_hint) == (False, True)

    talk(work, *session("--workspace", tmp_path, "--sandbox", "read-only"))


@pytest.mark.parametrize(("policy", "made"), [("untrusted", False), ("never", True), ("", True)])
def test_the_approval_policy_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, made: bool
) -> None:
    """Reference §2.1, as for jobs: AGENT_EXEC_APPROVAL_POLICY."""
    monkeypatch.setenv("AGENT_EXEC_APPROVAL_POLICY", policy)

    async def work(client: Client) -> None:
        result = await client.call_tool("exec_command", {"cmd": "touch made", "login": False})
        assert result.is_error is not made
        result = await client.call_tool(
            "exec_command", {"cmd": "true", "sandbox_permissions": "require_escalated"}
        )
        why = (
            f"approval policy is {policy}; reject command"
            if policy
            else "This client does not support elicitation, and no `agent-exec approvals watch` is open"
        )
        assert why in text(result)

    talk(work, *session("--workspace", tmp_path))
    assert (tmp_path / "made").exists() is made


def test_the_environment_goes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('approval_policy = "untrusted"\n')
    monkeypatch.setenv("AGENT_EXEC_APPROVAL_POLICY", "on-request")

    async def work(client: Client) -> None:
        assert not (await client.call_tool("exec_command", {"cmd": "true", "login": False})).is_error

    (tmp_path / "work").mkdir()
    talk(work, *session("--workspace", tmp_path / "work", "--rules", rules))


def test_the_files_that_decide_stay_as_they_are(tmp_path: Path) -> None:
    """As `agent-exec run --sandbox FILE` keeps them: the profile and the rules."""
    profile, rules = tmp_path / "profile.json", tmp_path / "rules.toml"
    profile.write_text('{"name": "workspace-write"}')
    rules.write_text("")

    async def work(client: Client) -> None:
        line = f"cd {tmp_path}; for f in profile.json rules.toml; do echo x > $f; mv $f $f.old; done"
        line += "; cd work; echo x > fine"
        result = await client.call_tool("exec_command", {"cmd": line, "login": False})
        if "nothing can confine a command here" in text(result):
            pytest.skip(text(result))
        assert not result.is_error, text(result)

    (tmp_path / "work").mkdir()
    talk(work, *session("--workspace", tmp_path / "work", "--sandbox", profile, "--rules", rules))
    assert {path.name for path in tmp_path.iterdir()} == {"profile.json", "rules.toml", "work"}
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["fine"]
    assert (profile.read_text(), rules.read_text()) == ('{"name": "workspace-write"}', "")


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a hand-over needs process descriptors")
@pytest.mark.parametrize("way", ["hang up", "terminate", "kill"])
def test_only_what_was_detached_survives_the_server(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(cli.root))
    with bare(*session("--workspace", cli.cwd)) as server:
        server.greet()
        line = "echo before; while [ ! -e go ]; do sleep 0.01; done; echo after; exit 7"
        server.call("exec_command", cmd=line, login=False, yield_time_ms=250)
        number = server.hear()["result"]["structuredContent"]["session_id"]
        server.call("detach", session_id=number)
        job_id = server.hear()["result"]["structuredContent"]["job_id"]
        if way == "hang up":
            server.hang_up()
        else:
            getattr(server.process, way)()
        server.process.wait(20)
    assert cli("status", job_id)["state"] == "running"
    (cli.cwd / "go").touch()
    found = cli("wait", job_id)
    assert (found["exit_code"], found["stdout"]) == (7, "before\nafter\n")


@pytest.mark.parametrize("sandbox", ["full-access", "workspace-write"])
def test_a_failure_that_a_pipeline_masks_is_told(tmp_path: Path, sandbox: str) -> None:
    async def work(client: Client) -> None:
        asked = {"cmd": "(echo broken; exit 2) | tail -1", "login": False, "shell": "bash"}
        result = await client.call_tool("exec_command", asked)
        assert "others failed: 2 | 0" in text(result)
        assert "agent-exec;pipeline" not in text(result)

    talk(work, *session("--workspace", tmp_path, "--sandbox", sandbox))
