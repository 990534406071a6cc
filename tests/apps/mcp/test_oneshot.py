"""The toolset oneshot from end to end: the program, a client, real commands."""

import re
from pathlib import Path

import pytest

from apps.mcp.talking import Bare, Client, bare, oneshot, talk, text
from support import exists, processes_marked, wait_until


def test_what_it_offers(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        command, status, patch = (await client.list_tools()).tools
        assert (command.name, status.name, patch.name) == (
            "exec_command",
            "git_status_summary",
            "apply_patch",
        )
        assert command.input_schema["required"] == ["cwd", "command"]
        assert command.input_schema["additionalProperties"] is False
        assert command.annotations is not None
        assert status.annotations is not None
        assert (command.annotations.read_only_hint, command.annotations.destructive_hint) == (False, True)
        assert status.annotations.read_only_hint is True
        assert client.instructions is not None
        assert str(tmp_path) in client.instructions

    talk(work, *oneshot("--workspace", tmp_path))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_command_and_its_refusals(tmp_path: Path, mode: str) -> None:
    """The client checks what comes against the output schema."""

    async def work(client: Client) -> None:
        result = await client.call_tool(
            "exec_command", {"cwd": ".", "command": ["sh", "-c", "echo hé; exit 3"]}
        )
        assert not result.is_error
        assert re.fullmatch(r"exit 3, [0-9.]+ s\nhé", text(result))
        data = result.structured_content["data"]
        assert (data["cwd"], data["stdout"], data["exit_code"]) == (str(tmp_path), "hé\n", 3)
        for arguments, code, word in (
            ({"cwd": "."}, "INVALID_ARGUMENT", "command"),
            ({"cwd": ".", "command": "ls"}, "INVALID_ARGUMENT", "array"),
            ({"cwd": ".", "command": ["ls"], "shell": "x"}, "INVALID_ARGUMENT", "no argument 'shell'"),
            ({"cwd": "..", "command": ["ls"]}, "SANDBOX_VIOLATION", "outside of workspace"),
        ):
            result = await client.call_tool("exec_command", arguments)
            assert result.is_error
            assert result.structured_content["error"]["code"] == code
            assert word in text(result)
        result = await client.call_tool("git_status_summary")
        assert result.structured_content["error"]["code"]

    talk(work, *oneshot(), cwd=tmp_path, mode=mode)


def test_ten_megabytes_of_output(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        line = "head -c 10000000 /dev/zero | tr '\\0' x"
        arguments = {"cwd": ".", "command": ["sh", "-c", line], "max_output_chars": 1_000_000}
        result = await client.call_tool("exec_command", arguments)
        assert result.structured_content["data"]["stdout"] == "x" * 1_000_000
        assert result.structured_content["data"]["stdout_truncated"] is True

    talk(work, *oneshot("--workspace", tmp_path))


def test_rules_judge(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["touch"]\nverdict = "deny"\nreason = "no new files"\n')

    async def work(client: Client) -> None:
        result = await client.call_tool("exec_command", {"cwd": ".", "command": ["touch", "x"]})
        assert result.is_error
        assert result.structured_content["reason"] == "policy"
        assert "no new files" in text(result)

    talk(work, *oneshot("--workspace", folder, "--rules", rules))
    assert not (folder / "x").exists()


def test_a_sandbox_confines(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        assert client.instructions is not None
        assert "read-only" in client.instructions
        assert "They may write nothing but temporary files. The network is off." in client.instructions
        tools = (await client.list_tools()).tools
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools)
        result = await client.call_tool("exec_command", {"cwd": ".", "command": ["touch", "x"]})
        if "sandbox_unavailable" in text(result):
            pytest.skip("nothing here can confine")
        assert result.structured_content["data"]["exit_code"] != 0

    talk(work, *oneshot("--workspace", tmp_path, "--sandbox", "read-only"))
    assert not (tmp_path / "x").exists()


def start(server: Bare, folder: Path) -> int:
    """Have a command started that does not end by itself, and a daemon with it; return the command's pid."""
    server.greet()
    line = "echo $$ > pid.new; setsid sleep 1000 & mv pid.new pid; sleep 1000"
    server.call("exec_command", cwd=".", command=["sh", "-c", line], timeout_ms=100_000)
    wait_until((folder / "pid").exists)
    return int((folder / "pid").read_text())


def test_hanging_up_ends_the_process_and_all_commands(tmp_path: Path, nothing_left: str) -> None:
    with bare(*oneshot("--workspace", tmp_path, "--sandbox", "full-access")) as server:
        pid = start(server, tmp_path)
        server.hang_up()
        assert server.process.wait(20) == 0
        assert not exists(pid)  # it has waited for it
        wait_until(lambda: not processes_marked(nothing_left))


def test_a_signal_ends_the_process_and_all_commands(tmp_path: Path, nothing_left: str) -> None:
    with bare(*oneshot("--workspace", tmp_path, "--sandbox", "full-access")) as server:
        pid = start(server, tmp_path)
        server.process.terminate()
        assert server.process.wait(20) == 143
        assert not exists(pid)
        wait_until(lambda: not processes_marked(nothing_left))


def test_a_cancelled_call_ends_its_command(tmp_path: Path, nothing_left: str) -> None:
    with bare(*oneshot("--workspace", tmp_path, "--sandbox", "full-access")) as server:
        pid = start(server, tmp_path)
        server.send("notifications/cancelled", {"requestId": server.last}, notify=True)
        wait_until(lambda: not exists(pid))
        server.call("exec_command", cwd=".", command=["echo", "next"])
        while (answer := server.hear()).get("id") != server.last:
            pass
        assert answer["result"]["structuredContent"]["data"]["stdout"] == "next\n"
        server.hang_up()
        assert server.process.wait(20) == 0
        wait_until(lambda: not processes_marked(nothing_left))


def test_hints(tmp_path: Path) -> None:
    """Of the protocol: each tool has all four, and they are true."""

    async def work(client: Client) -> list[dict[str, object]]:
        tools = (await client.list_tools()).tools
        return [tool.annotations.model_dump(exclude_none=True) for tool in tools if tool.annotations]

    reads = {
        "read_only_hint": True,
        "destructive_hint": False,
        "idempotent_hint": True,
        "open_world_hint": False,
    }
    acts = {
        "read_only_hint": False,
        "destructive_hint": True,
        "idempotent_hint": False,
        "open_world_hint": True,
    }
    inside = acts | {"open_world_hint": False}
    assert talk(work, *oneshot("--workspace", tmp_path, "--sandbox", "full-access")) == [acts, reads, inside]
    boxed = talk(work, *oneshot("--workspace", tmp_path, "--sandbox", "workspace-write"))
    assert boxed == [inside, reads, inside]


@pytest.mark.parametrize(("policy", "made"), [("untrusted", False), ("never", True), ("", True)])
def test_the_approval_policy_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, made: bool
) -> None:
    monkeypatch.setenv("AGENT_EXEC_APPROVAL_POLICY", policy)

    async def work(client: Client) -> None:
        result = await client.call_tool("exec_command", {"cwd": ".", "command": ["touch", "made"]})
        assert result.is_error is not made

    talk(work, *oneshot("--workspace", tmp_path))
    assert (tmp_path / "made").exists() is made


def test_the_files_that_decide_stay_as_they_are(tmp_path: Path) -> None:
    """As `agent-exec run --sandbox FILE` keeps them: the profile and the rules."""
    folder = tmp_path / "work"
    folder.mkdir()
    profile, rules = tmp_path / "profile.json", tmp_path / "rules.toml"
    profile.write_text('{"name": "workspace-write"}')
    rules.write_text("")

    async def work(client: Client) -> None:
        line = "for f in ../profile.json ../rules.toml; do echo x > $f; mv $f $f.old; done; echo x > fine"
        result = await client.call_tool("exec_command", {"cwd": ".", "command": ["sh", "-c", line]})
        if "sandbox_unavailable" in text(result):
            pytest.skip("nothing here can confine")

    talk(work, *oneshot("--workspace", folder, "--sandbox", profile, "--rules", rules))
    assert {path.name for path in folder.iterdir()} == {"fine"}
    assert (profile.read_text(), rules.read_text()) == ('{"name": "workspace-write"}', "")


def test_a_killed_server_leaves_nothing(tmp_path: Path, nothing_left: str) -> None:
    with bare(*oneshot("--workspace", tmp_path, "--sandbox", "full-access")) as server:
        pid = start(server, tmp_path)
        server.process.kill()
        server.process.wait(20)
        wait_until(lambda: not exists(pid))
        wait_until(lambda: not processes_marked(nothing_left))


def test_a_server_has_no_zombies(tmp_path: Path) -> None:
    with bare(*oneshot("--workspace", tmp_path)) as server:
        server.greet()
        for _ in range(5):
            server.call("exec_command", cwd=".", command=["sh", "-c", "true & true"])
            assert server.hear()["result"]["isError"] is False
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
        assert not [pid for pid in map(int, children.split()) if not exists(pid)]
