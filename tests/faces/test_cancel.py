"""Every contract waits without waking up, and returns once it is cancelled."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Cancel, CommandExecutor, CommandExecutorConfig, CommandLists
from agent_exec.model.errors import InvalidState
from cli import Cli
from support import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts wake-ups by /proc")
LONG = ["sleep", "1000"]


@contextmanager
def executor() -> Iterator[CommandExecutor]:
    config = CommandExecutorConfig(policy=CommandLists(["sleep"], []), max_concurrent=1)
    with CommandExecutor(config=config) as found:
        yield found


def executed(cancel: Cancel, _folder: Path) -> None:
    with executor() as found:
        found.execute_command("sleep", ["1000"], cancelled=cancel)


def queued(cancel: Cancel, _folder: Path) -> None:
    """Wait for a slot that another call holds."""
    holder = Cancel()
    with executor() as found:
        first = threading.Thread(
            target=lambda: found.execute_command("sleep", ["1000"], cancelled=holder), daemon=True
        )
        first.start()
        wait_until(lambda: found.concurrent_count)
        with pytest.raises(InvalidState, match="nothing was run"):
            found.execute_command("sleep", ["1000"], on_limit="queue", cancelled=cancel)
        holder.set()
        first.join()


def oneshot(cancel: Cancel, folder: Path) -> None:
    kit = agent_exec.create_agent_toolkit(str(folder), {"tools": {"exec_command": "allow"}})
    kit.invoke("exec_command", {"cwd": ".", "command": LONG, "timeout_ms": 120_000}, cancel)
    kit.close()


def session(cancel: Cancel, folder: Path) -> None:
    with agent_exec.open_tools(workspace=str(folder)) as tools:
        given = {"cmd": "sleep 1000", "login": False, "wait_for": "exit", "yield_time_ms": 30_000}
        assert "aborted by user" in tools.call("exec_command", given, cancel).text


def turn(cancel: Cancel, folder: Path) -> None:
    """Wait for a session that another call holds."""
    with agent_exec.open_tools(workspace=str(folder)) as tools:
        given = {"cmd": "sleep 1000", "login": False, "yield_time_ms": 250}
        started = tools.call("exec_command", given).structured
        assert started is not None
        held = tools.sessions.find(started["session_id"], "test")
        assert held.take_turn()
        asked = {"session_id": started["session_id"], "chars": ""}
        assert "aborted by user" in tools.call("write_stdin", asked, cancel).text
        held.give_turn()


def job(cancel: Cancel, folder: Path) -> None:
    jobs = agent_exec.open_jobs(str(folder / "jobs"), rules=str(folder / "rules.toml"))
    started = jobs.run(LONG, observe=None, cancel=cancel)
    assert started["interrupted"]
    jobs.kill(started["job_id"], signal="KILL")


WAITS: list[Callable[[Cancel, Path], None]] = [executed, queued, oneshot, session, turn, job]


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: str(wait.__name__))
def test_a_wait_sleeps_until_it_is_cancelled(
    cli: Cli, tmp_path: Path, nothing_left: str, wait: Callable[[Cancel, Path], None]
) -> None:
    """A wait that looks ten times a second whether to go on wakes up that often."""
    assert cli.root.is_absolute()
    assert nothing_left
    (tmp_path / "rules.toml").touch()
    cancel = Cancel()
    thread = threading.Thread(target=wait, args=(cancel, tmp_path))
    thread.start()
    wait_until(lambda: cancel._callbacks)  # it is about to sleep
    agent_exec.run(["sleep", "0.3"])
    before = wake_ups(thread)
    agent_exec.run(["sleep", "0.6"])
    after = wake_ups(thread)
    cancel.set()
    thread.join()
    assert after - before < 2  # a job is looked after once a second


def wake_ups(thread: threading.Thread) -> int:
    status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])
