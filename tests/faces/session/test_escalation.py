"""A command that asks to run outside of the sandbox: asked for each time, unless nothing inside can change it."""

import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest

from agent_exec.faces.session import running
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.requests.gate import Gate, Request
from agent_exec.sandbox.profile import Profile
from faces.session.calling import Caller

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")


class Approver:
    """Says what it was told to say, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []
        self.out: list[object] = []

    def __call__(self, request: Request, /) -> str:
        self.asked.append(request)
        return self.answers.pop(0)

    def left(self, request: Request) -> None:
        self.out.append(request.command)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    return place


def escalated(call: Caller, cmd: str, **more: object) -> int:
    told = call.run(cmd, sandbox_permissions="require_escalated", justification=cmd, **more)
    return int(told["exit_code"])


def rejected(call: Caller, cmd: str, **more: object) -> None:
    said = call.refused("exec_command", cmd=cmd, sandbox_permissions="require_escalated", **more)
    assert "rejected by user" in said or "the answer was no" in said


@pytest.mark.parametrize("answer", ["session", "always"])
def test_a_yes_for_longer_is_for_these_words_in_this_folder(
    opened: Callable[..., Caller], work: Path, outside: Path, tmp_path: Path, answer: str
) -> None:
    rules = tmp_path / "rules.toml"
    rules.touch()
    approver = Approver("once", answer, *["no"] * 7)
    call = opened(sandbox=Profile("workspace-write", [str(work)]), rules=str(rules), approver=approver)
    (work / "below").mkdir()
    line = f"mkdir -p {outside}/a"
    for _ in range(3):
        assert escalated(call, line, prefix_rule=["mkdir"]) == 0
    assert [(request.once, request.rules) for request in approver.asked] == [(False, ())] * 2
    assert approver.out == [line] * 3
    for other in (
        f"mkdir -p {outside}/b",
        f"mkdir {outside}/a",
        f"{line}; true",
        f"x=()#a touch {outside}/b",
    ):
        rejected(call, other)
    rejected(call, line, workdir="below")
    rejected(call, line, tty=True)
    rejected(call, line, login=True)
    assert [path.name for path in outside.iterdir()] == ["a"]
    assert rules.read_text() == ""


@pytest.mark.parametrize("answer", ["session", "always"])
@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("sh x.sh", ["sh", "x.sh"]),
        ("./x.sh", ["./x.sh"]),
        ("cat data", ["cat"]),
        ("cp /etc/hostname data", ["cp"]),
        ("git status", ["git", "status"]),
    ],
)
def test_what_a_confined_command_can_change_is_asked_for_each_time(
    opened: Callable[..., Caller], work: Path, answer: str, line: str, rule: list[str]
) -> None:
    (work / "x.sh").write_text("#!/bin/sh\n")
    (work / "x.sh").chmod(0o755)
    (work / "data").touch()
    approver = Approver(answer, answer, "no")
    call = opened(sandbox=Profile("workspace-write", [str(work)]), approver=approver)
    for _ in range(2):
        escalated(call, line, prefix_rule=rule)
    rejected(call, line, prefix_rule=rule)
    assert [request.once for request in approver.asked] == [True] * 3


def test_no_rule_lets_a_command_out(opened: Callable[..., Caller], work: Path, outside: Path) -> None:
    approver = Approver("no")
    rules = Policy([Rule(["mkdir"], "allow")])
    call = opened(sandbox=Profile("workspace-write", [str(work)]), gate=Gate(rules, approver=approver))
    rejected(call, f"mkdir {outside}/a")
    assert len(approver.asked) == 1
    assert not list(outside.iterdir())


def test_what_was_granted_is_still_judged(opened: Callable[..., Caller], work: Path, outside: Path) -> None:
    """Forbidden wins over whatever was agreed to."""
    approver = Approver("always", "always")
    rules = Policy([Rule(["mkdir", f"{outside}/bad"], "deny")])
    call = opened(sandbox=Profile("workspace-write", [str(work)]), gate=Gate(rules, approver=approver))
    assert escalated(call, f"mkdir {outside}/good") == 0
    said = call.refused("exec_command", cmd=f"mkdir {outside}/bad", sandbox_permissions="require_escalated")
    assert "denies" in said
    assert [path.name for path in outside.iterdir()] == ["good"]


def test_the_time_of_an_approval_is_not_the_commands(
    opened: Callable[..., Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour passes while somebody is asked; the command still has its time to answer."""
    later = 0.0
    monkeypatch.setattr(running, "monotonic", lambda: monotonic() + later)

    def slow(_request: Request) -> str:
        nonlocal later
        later += 3600
        return "once"

    rules = Policy([Rule(["sleep"], "ask")])
    call = opened(gate=Gate(rules, approver=slow), longest=30.0)
    told = call.run("sleep 0.3; echo done", yield_time_ms=20_000)
    assert (told["exit_code"], told["output"]) == (0, "done\n")
    assert told["wall_time_seconds"] < 3600
