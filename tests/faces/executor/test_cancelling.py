"""Calls of the tool whose caller may go: the command ends, and one that waits for its turn is not run."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from agent_exec.faces.executor.config import CommandExecutorConfig
from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.faces.executor.lists import CommandLists
from agent_exec.faces.executor.toolhandler import ToolHandler, definition
from agent_exec.model.cancel import Cancel
from agent_exec.model.errors import InvalidArgument, InvalidState
from agent_exec.sandbox.profile import Profile
from support import wait_until


def executor(limit: int = 1) -> CommandExecutor:
    """Return one that may run shells."""
    return CommandExecutor(
        config=CommandExecutorConfig(policy=CommandLists(["sh"], []), max_concurrent=limit)
    )


def test_a_call_that_is_not_cancelled(tmp_path: Path) -> None:
    with executor() as found:
        arguments = {"command": "sh", "args": ["-c", "sleep 0.3; pwd"], "cwd": str(tmp_path)}
        result = ToolHandler(found).handle("execute_command", arguments, Cancel())
    assert (result.status, result.output) == ("success", f"{tmp_path}\n")


def test_a_cancelled_call_ends_its_command(tmp_path: Path, nothing_left: str) -> None:
    assert nothing_left
    gone = Cancel()
    line = f"touch {tmp_path}/runs; sleep 1000"
    with executor() as found:
        done = []
        thread = threading.Thread(
            target=lambda: done.append(found.execute_command("sh", ["-c", line], cancelled=gone))
        )
        thread.start()
        wait_until((tmp_path / "runs").exists)
        waiting = Cancel()
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
        gone = Cancel()
        assert found.execute_command("sh", ["-c", "exit 3"], on_limit="queue", cancelled=gone).exit_code == 3
        first.join()


def test_a_call_that_is_cancelled_before_its_start(tmp_path: Path) -> None:
    gone = Cancel()
    gone.set()
    with (
        executor() as found,
        pytest.raises(InvalidState, match="before its command was started; nothing was run"),
    ):
        found.execute_command("sh", ["-c", f"touch {tmp_path}/runs"], cancelled=gone)
    assert not (tmp_path / "runs").exists()


def test_an_interrupted_wait_leaves_nothing(nothing_left: str) -> None:
    assert nothing_left

    class Breaking(Cancel):
        def calling(self, callback: Callable[[], object]) -> NoReturn:
            raise KeyboardInterrupt(callback)

    with executor() as found, pytest.raises(KeyboardInterrupt):
        found.execute_command("sh", ["-c", "sleep 1000"], cancelled=Breaking())


@pytest.mark.parametrize("queued", [False, True])
def test_a_call_returns_within_its_time(tmp_path: Path, nothing_left: str, queued: bool) -> None:
    """The wait for a slot counts too."""
    assert nothing_left
    holder = Cancel()
    with executor() as found:
        first = threading.Thread(
            target=lambda: found.execute_command(
                "sh", ["-c", f"touch {tmp_path}/runs; sleep 1000"], cancelled=holder
            )
        )
        if queued:
            first.start()
            wait_until((tmp_path / "runs").exists)
            with pytest.raises(InvalidState, match="before its turn; nothing was run"):
                found.execute_command("sh", ["-c", "true"], on_limit="queue", cancelled=Cancel(), within=0.05)
            holder.set()
            first.join()
        else:
            result = found.execute_command("sh", ["-c", "sleep 1000"], within=0.05)
            assert result.status == "error"
        assert found.concurrent_count == 0


def test_an_event_is_no_cancel() -> None:
    """It has no callbacks: a wait that it ends would have to look at it again and again."""
    with executor() as found, pytest.raises(InvalidArgument, match=r"agent_exec\.Cancel; got Event"):
        found.execute_command("sh", ["-c", "true"], cancelled=threading.Event())  # type: ignore[arg-type]


def test_what_a_model_reads() -> None:
    told = definition(longest_ms=55_000, sandbox=Profile("read-only"))
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
