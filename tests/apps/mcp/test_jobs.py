"""The toolset jobs over the protocol: what it offers, how long it waits, and what outlives it."""

import os
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from apps.mcp.talking import ERAS, Client, anyio, bare, jobs, talk, text, until
from cli import Cli, validator
from support import processes_marked, wait_until

OPEN = ("--sandbox", "full-access")


@pytest.fixture
def store(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return the program with the store of jobs that servers have too."""
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(cli.root))
    monkeypatch.setenv("XDG_CONFIG_HOME", cli.env["XDG_CONFIG_HOME"])
    return cli


def answer(result: Any) -> dict[str, Any]:
    """Return the object of a result, which is one of the program's; its text says the state and the output."""
    found: dict[str, Any] = result.structured_content
    assert text(result).splitlines()
    assert found.get("stdout", "").rstrip("\n") in text(result) or " left out; " in text(result)
    validator()(found)
    assert result.is_error is not found["ok"]
    return found


@ERAS
def test_a_job_from_its_beginning_to_its_end(store: Cli, mode: str) -> None:
    """The client checks what comes against the output schemas, and the program's schema holds as well."""

    async def work(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["run", "status", "tail", "wait", "kill", "list"]
        assert list(tools["run"].input_schema["properties"]) == [
            *("command", "cwd", "env", "timeout", "until", "wait_for", "after", "restart"),
            *("stdin", "stdin_file", "view"),
        ]
        assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())
        assert all(tool.output_schema is not None for tool in tools.values())
        line = "cat; echo $WORD >&2; while [ ! -e go ]; do sleep 0.01; done; echo after; exit 3"
        asked = {"command": ["sh", "-c", line], "stdin": "-", "env": {"WORD": "hé"}, "until": 1}
        told = answer(await client.call_tool("run", asked))
        assert list(told)[3] == "job_id"
        assert (told["state"], told["stdout"], told["stderr"]) == ("running", "-", "hé\n")
        job_id = told["job_id"]
        assert answer(await client.call_tool("status", {"job_id": job_id}))["env_keys"] == ["WORD"]
        assert answer(await client.call_tool("list", {"state": "running"}))["jobs"][0]["job_id"] == job_id
        cursor = answer(await client.call_tool("tail", {"job_id": job_id[-8:]}))["cursor"]
        (store.cwd / "go").touch()
        told = answer(await client.call_tool("wait", {"job_id": job_id}))
        assert (told["state"], told["exit_code"], told["stdout"]) == ("exited", 3, "-after\n")
        since = {"job_id": job_id, "cursor": cursor, "lines": 5, "max_bytes": 100}
        assert answer(await client.call_tool("tail", since))["stdout"] == "after\n"
        told = answer(await client.call_tool("kill", {"job_id": job_id}))
        assert told["state"] == "exited"

    talk(work, *jobs("--workspace", store.cwd), mode=mode)


@ERAS
def test_what_is_wrong_is_a_tool_error_with_a_code_and_a_way_out(store: Cli, mode: str) -> None:
    (store.cwd / "in").write_text("")

    async def work(client: Client) -> None:
        for tool, arguments, said in (
            ("run", {}, "run needs the argument command"),
            ("run", {"command": []}, 'must be a list, such as ["ls", "-l"]; got []'),
            ("run", {"command": ["ls", ""]}, "command[1] must be a text that is not empty"),
            ("run", {"command": "ls"}, "must be a list"),
            ("run", {"command": ["ls"], "shell": True}, "run has no argument 'shell'; it has command, cwd,"),
            ("run", {"command": ["ls"], "until": 1.5}, "until must be a whole number, 0 or more; got 1.5"),
            ("run", {"command": ["ls"], "timeout": -1}, "timeout must be a whole number"),
            ("run", {"command": ["ls"], "env": {"A": 1}}, "env.A must be a text"),
            ("run", {"command": ["ls"], "stdin": "", "stdin_file": "in"}, "contradict each other"),
            ("run", {"command": ["ls"], "stdin_file": "/etc/passwd"}, "is outside of the workspace"),
            ("run", {"command": ["ls"], "cwd": ".."}, "have the server started with --workspace"),
            ("tail", {"job_id": "1", "follow": True}, "tail has no argument 'follow'"),
            ("tail", {"job_id": ""}, "job_id must be a text that is not empty"),
            ("list", {"state": "odd"}, "state must be one of created, running,"),
            ("kill", {"job_id": "x", "signal": "KILL"}, "kill has no argument 'signal'; it has job_id"),
        ):
            told = answer(await client.call_tool(tool, arguments))
            assert told["error"]["code"] == "invalid_argument"
            assert said in told["error"]["message"]
        told = answer(await client.call_tool("wait", {"job_id": "01J8ZQ4KFN2M8YV3R7XDT0W5QC"}))
        assert told["error"]["code"] == "job_not_found"
        told = answer(await client.call_tool("run", {"command": ["no-such-program"]}))
        assert (told["error"]["code"], told["state"]) == ("command_not_found", "failed")

    talk(work, *jobs("--workspace", store.cwd), mode=mode)


def test_jobs_elsewhere_are_out_of_reach(store: Cli, tmp_path: Path) -> None:
    job_id = store("run", "--no-wait", "--", "sleep", "1000")["job_id"]
    (tmp_path / "other").mkdir()

    async def work(client: Client) -> None:
        for tool in ("status", "tail", "wait", "kill"):
            told = answer(await client.call_tool(tool, {"job_id": job_id}))
            assert told["error"]["code"] == "job_not_found"
            assert "outside of the workspace" in told["error"]["message"]
        assert answer(await client.call_tool("list"))["jobs"] == []

    talk(work, *jobs("--workspace", tmp_path / "other"))
    assert store("status", job_id)["state"] == "running"


@ERAS
def test_progress_describes_the_wait(store: Cli, mode: str) -> None:
    heard: list[tuple[float, float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        heard.append((monotonic(), progress, message))

    async def work(client: Client) -> str:
        line = "echo one; echo two; while [ ! -e go ]; do sleep 0.01; done"
        async with anyio.create_task_group() as group:

            async def run() -> None:
                result = await client.call_tool(
                    "run", {"command": ["sh", "-c", line], "until": 30}, progress_callback=note
                )
                heard.append((monotonic(), 1e9, answer(result)["job_id"]))

            group.start_soon(run)
            await until(lambda: len(heard) >= 2)
            (store.cwd / "go").touch()
        return str(heard.pop()[2])

    job_id = talk(work, *jobs("--workspace", store.cwd), mode=mode)
    assert heard[0][2] == f"job {job_id} has run for 1 s, 8 bytes printed, last line: two"
    assert [one[1] for one in heard] == sorted({one[1] for one in heard})
    assert all(late[0] - early[0] > 0.8 for early, late in pairwise(heard))


def test_no_call_waits_longer_than_the_client_does(store: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(client: Client) -> None:
        began = monotonic()
        told = answer(await client.call_tool("run", {"command": ["sleep", "1000"], "until": 1000}))
        assert (told["state"], told["waited_ms"] <= 1000) == ("running", True)
        told = answer(await client.call_tool("wait", {"job_id": told["job_id"]}))
        assert told["state"] == "running"
        assert 1.9 < monotonic() - began < 20
        began = monotonic()
        answer(await client.call_tool("kill", {"job_id": told["job_id"]}))
        assert monotonic() - began < 20
        while told["state"] == "running":
            told = answer(await client.call_tool("wait", {"job_id": told["job_id"]}))
        assert told["state"] == "killed"

    talk(work, *jobs("--workspace", store.cwd, "--max-wait", "1s"))
    monkeypatch.setenv("AGENT_EXEC_MCP_MAX_UNTIL_SECONDS", "1")
    talk(work, *jobs("--workspace", store.cwd))


def test_a_wrong_number_in_the_environment(store: Cli) -> None:
    for name in ("AGENT_EXEC_MCP_DEFAULT_UNTIL_SECONDS", "AGENT_EXEC_MCP_MAX_UNTIL_SECONDS"):
        out = store.raw("mcp", env={name: "-1"})
        assert (out.returncode, out.stdout) == (2, b"")
        assert f"{name} must be a whole number of seconds" in out.stderr.decode()
    for toolset in ("oneshot", "executor"):
        out = store.raw("mcp", "--toolset", toolset, env={"AGENT_EXEC_MCP_MAX_UNTIL_SECONDS": "0"})
        assert "AGENT_EXEC_MCP_MAX_UNTIL_SECONDS takes a second at least" in out.stderr.decode()
        assert out.returncode == 2
    out = store.raw("mcp", "--max-wait", "500ms")
    assert "--max-wait takes 0, or a second at least" in out.stderr.decode()


def test_with_a_maximum_wait_of_0_no_call_waits(store: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(client: Client) -> None:
        told = answer(await client.call_tool("run", {"command": ["sleep", "1000"], "until": 1000}))
        assert told["state"] == "running"
        told = answer(await client.call_tool("wait", {"job_id": told["job_id"], "until": 1000}))
        assert (told["state"], told["waited_ms"] < 1000) == ("running", True)
        answer(await client.call_tool("kill", {"job_id": told["job_id"]}))

    monkeypatch.setenv("AGENT_EXEC_MCP_MAX_UNTIL_SECONDS", "0")
    talk(work, *jobs("--workspace", store.cwd))


def test_input_that_is_too_large_has_the_code_of_the_command_line(store: Cli) -> None:
    most = 64 << 20
    with (store.cwd / "large").open("wb") as file:
        file.truncate(most + 1)

    async def work(client: Client) -> None:
        for given in ({"stdin_file": "large"}, {"stdin": "a" * (most + 1)}):
            out = await client.call_tool("run", {"command": ["cat"], **given})
            assert out.is_error
            assert "stdin_too_large" in str(out.content), str(out.content)[:500]

    talk(work, *jobs("--workspace", store.cwd))


@ERAS
def test_cancelling_a_call_ends_the_wait_and_not_the_job(store: Cli, mode: str) -> None:
    async def work(client: Client) -> None:
        line = "touch runs; while [ ! -e go ]; do sleep 0.01; done; echo done"
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "run", {"command": ["sh", "-c", line], "until": 50})
            await until((store.cwd / "runs").exists)
            group.cancel_scope.cancel()
        (job,) = answer(await client.call_tool("list"))["jobs"]
        while job["state"] == "created":  # its command has begun, and its supervisor is about to say so
            (job,) = answer(await client.call_tool("list"))["jobs"]
        assert job["state"] == "running"
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait", {"job_id": job["job_id"], "until": 50})
            await anyio.sleep(0.2)
            group.cancel_scope.cancel()
        (store.cwd / "go").touch()
        told = answer(await client.call_tool("wait", {"job_id": job["job_id"]}))
        assert (told["exit_code"], told["stdout"]) == (0, "done\n")

    talk(work, *jobs("--workspace", store.cwd), mode=mode)


@pytest.mark.parametrize("way", ["hang up", "terminate", "kill"])
def test_jobs_outlive_the_server_and_sessions_do_not(store: Cli, nothing_left: str, way: str) -> None:
    """In the middle of calls that wait; and no process of the server's is left."""
    with bare(*jobs("--toolset", "jobs,session", "--workspace", store.cwd)) as server:
        server.greet()
        line = "touch job; while [ ! -e go ]; do sleep 0.01; done; echo after; exit 7"
        server.call("run", command=["sh", "-c", line], until=50)
        server.call("exec_command", cmd="touch session; sleep 1000", login=False, yield_time_ms=30_000)
        wait_until(lambda: {"job", "session"} <= set(os.listdir(store.cwd)))
        if way == "hang up":
            server.hang_up()
        else:
            getattr(server.process, way)()
        server.process.wait(20)
    wait_until(lambda: store("list")["jobs"][0]["state"] != "created")  # its command began a moment ago
    (job,) = store("list")["jobs"]
    assert job["state"] == "running"
    wait_until(lambda: not any("sleep 1000" in line for line in _commands(nothing_left)))
    (store.cwd / "go").touch()
    found = store("wait", job["job_id"])
    assert (found["exit_code"], found["stdout"]) == (7, "after\n")
    wait_until(lambda: not processes_marked(nothing_left))


def _commands(mark: str) -> list[str]:
    found = []
    for pid in processes_marked(mark):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def test_fifty_jobs_at_once(store: Cli) -> None:
    async def work(client: Client) -> None:
        seen = {}

        async def run(number: int) -> None:
            asked = {"command": ["echo", f"job {number}"], "until": 50}
            seen[number] = answer(await client.call_tool("run", asked))

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(run, number)
        assert {number: told["stdout"] for number, told in seen.items()} == {
            number: f"job {number}\n" for number in range(50)
        }
        assert len({told["job_id"] for told in seen.values()}) == 50

    talk(work, *jobs("--workspace", store.cwd, *OPEN))


def test_ten_megabytes_of_output(store: Cli) -> None:
    async def work(client: Client) -> None:
        line = "yes 0123456789abcde | head -c 10000000; yes x | head -c 10000000 >&2"
        told = answer(await client.call_tool("run", {"command": ["sh", "-c", line], "until": 50}))
        assert (told["stdout_total_bytes"], told["stderr_total_bytes"]) == (10_000_000, 10_000_000)
        assert told["stdout"] == "0123456789abcde\n" * 50
        tail = {"job_id": told["job_id"], "lines": 0, "max_bytes": 1_000_000}
        assert len(answer(await client.call_tool("tail", tail))["stdout"]) == 1_000_000

    talk(work, *jobs("--workspace", store.cwd))


def test_a_file_as_input(store: Cli) -> None:
    """What a confined command could not read is not read for it."""
    (store.cwd / "in").write_text("from a file")
    (store.cwd / "hidden").write_text("a secret")
    profile = store.cwd.parent / "profile.json"
    profile.write_text('{"name": "workspace-write", "deny_read": ["hidden"]}')

    async def work(client: Client) -> None:
        told = answer(await client.call_tool("run", {"command": ["cat"], "stdin_file": "in"}))
        if "sandbox_unavailable" in str(told):
            pytest.skip("nothing here can confine")
        assert told["stdout"] == "from a file"
        told = answer(await client.call_tool("run", {"command": ["cat"], "stdin_file": "hidden"}))
        assert "is hidden by the sandbox" in told["error"]["message"]

    talk(work, *jobs("--workspace", store.cwd, "--sandbox", profile))


def test_the_answer_is_separate_from_the_output_of_a_child(store: Cli) -> None:
    """stdout is the protocol's, whatever is printed in the server; a job has a file for it anyway."""
    with bare(*jobs("--workspace", store.cwd)) as server:
        server.greet()
        server.say(b"{no json")
        assert server.hear()["error"]["code"] == -32700
        server.call("run", command=["sh", "-c", 'echo {"jsonrpc":1}; echo loud >&2; cat'])
        told = server.hear()["result"]["structuredContent"]
        assert (told["stdout"], told["stderr"]) == ("{jsonrpc:1}\n", "loud\n")
        server.call("nothing")
        assert "tool_not_found: there is no tool 'nothing'; there are run, status," in str(server.hear())
        server.hang_up()
        assert server.process.wait(20) == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""
