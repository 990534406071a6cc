"""An answer says how many processes of a command were ended, and that none is left."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_exec.sandbox.profile import Profile
from faces.session.calling import Caller

THREE = "sleep 600 & sleep 600 & echo ready; wait"
STUBBORN = f"trap '' TERM; {THREE}"


@pytest.mark.parametrize("box", [None, Profile("workspace-write")], ids=["free", "boxed"])
@pytest.mark.parametrize("line", [THREE, STUBBORN], ids=["polite", "by force"])
def test_a_kill_counts_the_processes(
    opened: Callable[..., Caller], work: Path, box: Profile | None, line: str
) -> None:
    call = opened(sandbox=None if box is None else box.replace(roots=(str(work),)))
    number = call.background(line, shell="sh")
    call.read_until(number, "ready")
    told = call.told("kill_session", session_id=number)
    assert "3 processes ended, 0 left" in told["notes"]


def test_a_timeout_counts_the_processes(call: Caller) -> None:
    told = call.run(THREE, shell="sh", timeout_ms=300, yield_time_ms=20_000)
    assert told["timed_out"]
    assert "3 processes ended, 0 left" in told["notes"]


def test_what_a_command_leaves_behind_is_counted(call: Caller) -> None:
    told = call.run("sleep 600 >/dev/null 2>&1 & exit 3", shell="sh", yield_time_ms=20_000)
    assert told["exit_code"] == 3
    assert "1 process ended, 0 left" in told["notes"]


def test_a_command_that_ends_alone_counts_nothing(call: Caller) -> None:
    assert "notes" not in call.run("sleep 0.01; exit 3", shell="sh", yield_time_ms=20_000)
