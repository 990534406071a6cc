"""The toolset executor over the protocol: allowed programs, three at once, each to its end."""

from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from apps.mcp.talking import ERAS, Client, anyio, bare, jobs, talk, text
from support import processes_marked, wait_until


def executor(*words: object) -> tuple[str, ...]:
    """Return the words after `python` that serve the toolset executor."""
    return jobs("--toolset", "executor", *words)


def answer(result: Any) -> dict[str, Any]:
    """Return the object of a result, whose output is in its text too."""
    found: dict[str, Any] = result.structured_content
    assert found["output"].rstrip("\n") in text(result)
    assert found["error"].rstrip("\n") in text(result)
    return found


@ERAS
def test_a_command_and_its_refusals(tmp_path: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        (tool,) = (await client.list_tools()).tools
        assert (tool.name, tool.input_schema["additionalProperties"]) == ("execute_command", False)
        told = answer(await client.call_tool("execute_command", {"command": "echo", "args": ["a", "b"]}))
        assert (told["status"], told["output"], told["exitCode"]) == ("success", "a b\n", 0)
        told = answer(await client.call_tool("execute_command", {"command": "ls", "args": ["nothing"]}))
        assert told["status"] == "error"
        for arguments, code, said in (
            ({"command": "sudo"}, "COMMAND_BLACKLISTED", "it is blacklisted"),
            ({"command": "gcc"}, "COMMAND_NOT_WHITELISTED", "use a program that is on the list"),
            ({}, "invalid_argument", "execute_command needs the argument command"),
            (
                {"command": "ls", "shell": "sh"},
                "invalid_argument",
                "has no argument 'shell'; it has command,",
            ),
            ({"command": "ls", "cwd": ".."}, "invalid_argument", "is outside of the workspace"),
            ({"command": "ls", "cwd": "none"}, "EXECUTION_FAILED", "no working directory"),
        ):
            result = await client.call_tool("execute_command", arguments)
            assert result.is_error
            told = answer(result)
            assert (told["status"], told["code"], told["exitCode"]) == ("error", code, None)
            assert said in told["error"]

    talk(work, *executor("--workspace", tmp_path), mode=mode)


def test_a_command_that_ran_is_no_error(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        lost = {"command": "python3", "args": ["-c", "import os; os.abort()"]}
        result = await client.call_tool("execute_command", lost)
        assert (result.is_error, answer(result)["signal"]) == (False, "SIGABRT")

    talk(work, *executor("--workspace", tmp_path, "--sandbox", "full-access"))


def test_no_command_runs_longer_than_a_call_may(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        asked = {"command": "python3", "args": ["-c", "import time; time.sleep(1000)"], "timeout": 60_000}
        done: list[dict[str, Any]] = []

        async def call() -> None:
            done.append(answer(await client.call_tool("execute_command", asked)))

        began = monotonic()
        async with anyio.create_task_group() as group:
            for _ in range(4):  # one of which waits for its turn
                group.start_soon(call)
        assert monotonic() - began < 30
        assert {told["status"] for told in done} <= {"timeout", "error"}
        assert "timeout" in {told["status"] for told in done}

    # Without a box: the first python3 may lie in a /tmp that is hidden there.
    talk(work, *executor("--workspace", tmp_path, "--max-wait", "3s", "--sandbox", "full-access"))


@pytest.mark.parametrize("way", ["cancel", "hang up", "terminate", "kill"])
def test_nothing_survives_the_call(tmp_path: Path, nothing_left: str, way: str) -> None:
    with bare(*executor("--workspace", tmp_path, "--sandbox", "full-access")) as server:
        server.greet()
        code = "import subprocess; subprocess.Popen(['sleep', '1000']); open('runs', 'w'); input()"
        server.call(
            "execute_command", command="python3", args=["-c", f"{code}; import time; time.sleep(1000)"]
        )
        if way == "cancel":
            server.call("execute_command", command="python3", args=["-c", "import time; time.sleep(1000)"])
            server.send("notifications/cancelled", {"requestId": server.last}, notify=True)
            server.call("execute_command", command="echo", args=["next"])
            while (told := server.hear()).get("id") != server.last:
                pass
            assert told["result"]["structuredContent"]["output"] == "next\n"
        elif way != "hang up":
            getattr(server.process, way)()
        server.hang_up()
        server.process.wait(20)
        wait_until(lambda: not processes_marked(nothing_left))
