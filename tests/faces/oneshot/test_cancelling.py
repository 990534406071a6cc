"""Calls that are cancelled: their commands end with them, and none is left when the kit is closed."""

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from agent_exec.faces.oneshot.kit import Toolkit
from agent_exec.model.cancel import Cancel
from agent_exec.sandbox.profile import Profile
from faces.oneshot.seen import MakeKit, code, data
from support import exists, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
LINE = "trap '' TERM; echo $$ > pid.new; setsid sleep 1000 & echo $! > child; mv pid.new pid; sleep 1000; sleep 1000"


class Calling:
    """A call in a thread of its own."""

    def __init__(self, kit: Toolkit, line: str = LINE) -> None:
        self.cancelled = Cancel()
        self.answers: list[dict[str, Any]] = []
        arguments = {"cwd": ".", "command": ["sh", "-c", line], "timeout_ms": 120_000}
        self._thread = threading.Thread(
            target=lambda: self.answers.append(kit.invoke("exec_command", arguments, self.cancelled))
        )
        self._thread.start()

    def answer(self) -> dict[str, Any]:
        self._thread.join(30)
        assert self.answers, "it still runs"
        return self.answers[0]


@pytest.fixture
def closing(nothing_left: str, make_kit: MakeKit) -> Iterator[Callable[..., Toolkit]]:
    kits: list[Toolkit] = []

    def make(**terms: Any) -> Toolkit:
        kits.append(make_kit(**terms))
        return kits[-1]

    yield make
    for kit in kits:
        kit.close()


def pids(root: Path) -> list[int]:
    wait_until((root / "pid").exists)
    return [int((root / name).read_text()) for name in ("pid", "child")]


def test_a_cancelled_command_ends_with_its_tree(closing: Callable[..., Toolkit], root: Path) -> None:
    """Also one that heeds no request, and what it has started aside."""
    call = Calling(closing())
    running = pids(root)
    began = monotonic()
    call.cancelled.set()
    assert data(call.answer())["timed_out"] is False
    assert monotonic() - began < 20
    assert not [pid for pid in running if exists(pid)]


def test_a_confined_one_too(closing: Callable[..., Toolkit], root: Path) -> None:
    call = Calling(closing(sandbox=Profile("workspace-write", [root])), "touch begun; sleep 1000")
    wait_until(lambda: (root / "begun").exists() or call.answers)
    call.cancelled.set()
    answer = call.answer()
    assert data(answer)["exit_code"] != 0
    assert "sandbox" in data(answer)


def test_one_of_many(closing: Callable[..., Toolkit], root: Path) -> None:
    """Others go on."""
    kit = closing()
    first, second = Calling(kit), Calling(kit, "while ! test -e go; do sleep 0.01; done; echo over")
    pids(root)
    first.cancelled.set()
    first.answer()
    assert not second.answers
    (root / "go").touch()
    assert data(second.answer())["stdout"] == "over\n"


def test_closing_ends_all_and_waits(closing: Callable[..., Toolkit], root: Path) -> None:
    kit = closing()
    call = Calling(kit)
    running = pids(root)
    kit.close()
    assert not [pid for pid in running if exists(pid)]
    assert call.answer()["status"] in ("success", "failure")
    late = kit.invoke("exec_command", {"cwd": ".", "command": ["touch", "late"]}, Cancel())
    assert code(late) == "INTERNAL"
    assert "closed" in late["message"]
    assert not (root / "late").exists()
    kit.close()


def test_cancelled_before_it_began(closing: Callable[..., Toolkit], root: Path) -> None:
    cancelled = Cancel()
    cancelled.set()
    answer = closing().invoke("exec_command", {"cwd": ".", "command": ["touch", "made"]}, cancelled)
    assert "cancelled" in answer["message"]
    assert not (root / "made").exists()


def test_answers_are_the_same(closing: Callable[..., Toolkit]) -> None:
    """Whoever can cancel gets what everybody gets: data, refusals, timeouts."""
    kit = closing()
    for arguments in (
        {"cwd": ".", "command": ["sh", "-c", "cat; echo err >&2; exit 3"], "stdin": "in"},
        {"cwd": ".", "command": ["no-such-program"], "shell_mode": "direct"},
        {"cwd": "nowhere", "command": ["true"]},
        {"cwd": ".", "command": ["sleep", "1000"], "timeout_ms": 100},
        {"cwd": ".", "command": ["seq", "100"], "max_output_chars": 10},
    ):
        plain = kit.invoke("exec_command", arguments)
        other = kit.invoke("exec_command", arguments, Cancel())
        for answer in (plain, other):
            answer.get("data", {}).pop("duration_ms", None)
        assert plain == other
    assert kit.invoke("git_status_summary", {}, Cancel())["status"] == "failure"


def test_files_of_the_callers_own_stay(closing: Callable[..., Toolkit], root: Path) -> None:
    (root / "profile.json").write_text("{}")
    kit = closing(sandbox=Profile("workspace-write", [root]), own=[root / "profile.json"])
    data(kit.exec_command(".", ["sh", "-c", "echo x > profile.json; mv profile.json y; echo x > fine"]))
    assert (root / "profile.json").read_text() == "{}"
    assert (root / "fine").exists()


def test_without_rules_nothing_is_trusted(closing: Callable[..., Toolkit], root: Path) -> None:
    """ "untrusted" asks for what no rule allows; no rules allow nothing."""
    kit = closing(approval_policy="untrusted")
    assert code(kit.exec_command(".", ["touch", "made"])) == "POLICY_DENIED"
    assert not (root / "made").exists()
