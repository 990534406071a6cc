"""Calls of the tool whose caller may go: the command ends, and one that waits for its turn is not run."""

import threading
from pathlib import Path

import pytest

from agent_exec.faces.executor.config import CommandExecutorConfig
from agent_exec.faces.executor.definitions import definition
from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.faces.executor.lists import CommandLists
from agent_exec.faces.executor.toolhandler import ToolHandler
from agent_exec.model.errors import InvalidState
from support import wait_until


def executor(limit: int = 1) -> CommandExecutor:
    """Give one that may run shells."""
    return CommandExecutor(
        config=CommandExecutorConfig(policy=CommandLists(["sh"], []), max_concurrent=limit)
    )


def test_a_call_that_nobody_cancels(tmp_path: Path) -> None:
    with executor() as found:
        arguments = {"command": "sh", "args": ["-c", "sleep 0.3; pwd"], "cwd": str(tmp_path)}
        result = ToolHandler(found).handle("execute_command", arguments, threading.Event())
    assert (result.status, result.output) == ("success", f"{tmp_path}\n")


def test_a_cancelled_call_ends_its_command(tmp_path: Path, nothing_left: str) -> None:
    assert nothing_left
    gone = threading.Event()
    line = f"touch {tmp_path}/runs; sleep 1000"
    with executor() as found:
        done = []
        thread = threading.Thread(
            target=lambda: done.append(found.execute_command("sh", ["-c", line], cancelled=gone))
        )
        thread.start()
        wait_until((tmp_path / "runs").exists)
        waiting = threading.Event()
        waiting.set()
        with pytest.raises(InvalidState, match="before its turn; nothing was run"):
            found.execute_command("sh", ["-c", "true"], on_limit="queue", cancelled=waiting)
        gone.set()
        thread.join()
        assert done[0].status == "error"
        assert found.concurrent_count == 0


def test_a_turn_that_comes(tmp_path: Path) -> None:
    with executor() as found:
        first = threading.Thread(
            target=lambda: found.execute_command("sh", ["-c", f"touch {tmp_path}/runs; sleep 0.4"])
        )
        first.start()
        wait_until((tmp_path / "runs").exists)
        gone = threading.Event()
        assert found.execute_command("sh", ["-c", "exit 3"], on_limit="queue", cancelled=gone).exit_code == 3
        first.join()


def test_an_interrupted_wait_leaves_nothing(nothing_left: str) -> None:
    assert nothing_left

    class Breaking:
        def is_set(self) -> bool:
            raise KeyboardInterrupt

    with executor() as found, pytest.raises(KeyboardInterrupt):
        found.execute_command("sh", ["-c", "sleep 1000"], cancelled=Breaking())


def test_what_a_model_is_told() -> None:
    told = definition(longest_ms=55_000, reads_only=True, open_world=False)
    assert told["name"] == "execute_command"
    assert told["parameters"]["additionalProperties"] is False
    assert "at most 55000" in told["parameters"]["properties"]["timeout"]["description"]
    assert told["annotations"] == {
        "read_only_hint": True,
        "destructive_hint": False,
        "idempotent_hint": False,
        "open_world_hint": False,
    }
    assert definition()["annotations"]["destructive_hint"] is True
