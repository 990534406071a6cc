"""A rule that a model proposes together with an escalation: shown, and with an "always" written down.

Reference §2.5, §2.6.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import pytest

from agent_exec.engine.gate import Gate, Request
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.sandbox.profile import Profile
from faces.session.calling import Caller

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")


class Approver:
    """Says what it was told to say, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.shown: list[list[tuple[object, ...]]] = []

    def __call__(self, request: Request, /) -> str:
        self.shown.append([tuple(rule.prefix) for rule in request.rules])
        return self.answers.pop(0)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    return place


def escalated(call: Caller, cmd: str, *rule: str) -> int:
    told = call.run(
        cmd, sandbox_permissions="require_escalated", justification=cmd, prefix_rule=list(rule) or None
    )
    return int(told["exit_code"])


def test_it_is_shown_and_written_down(
    opened: Callable[..., Caller], work: Path, outside: Path, tmp_path: Path
) -> None:
    """§2.6: shown to the user; on acceptance appended to the rules."""
    rules = tmp_path / "rules.toml"
    rules.touch()
    approver = Approver("once", "always", "no")
    call = opened(sandbox=Profile("workspace-write", [str(work)]), rules=str(rules), approver=approver)
    place = quote(str(outside))
    assert escalated(call, f"mkdir -p {place}/a", "mkdir", "-p") == 0
    assert rules.read_text() == ""
    assert escalated(call, f"mkdir -p {place}/b", "mkdir", "-p") == 0
    assert approver.shown == [[("mkdir", "-p")]] * 2
    assert "mkdir" in rules.read_text()
    assert escalated(call, f"mkdir -p {place}/c") == 0  # nobody is asked again
    call.run(f"mkdir -p {place}/d")  # but it stays inside unless it asks
    said = call.refused("exec_command", cmd=f"mkdir {place}/e", sandbox_permissions="require_escalated")
    assert "rejected by user" in said
    assert {path.name for path in outside.iterdir()} == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("cmd", "rule"),
    [
        ("mkdir x", ["touch"]),
        ("mkdir x; touch y", ["mkdir"]),
        ("bash -c 'mkdir x'", ["bash", "-c"]),
        ("python3 -c pass", ["python3"]),
        ("mkdir x > $HOME/y", ["mkdir"]),
    ],
)
def test_what_would_not_allow_it_is_not_shown(
    opened: Callable[..., Caller], cmd: str, rule: list[str]
) -> None:
    """§2.6: dropped when it is too broad, or would not make all of it allowed."""
    approver = Approver("no")
    call = opened(approver=approver)
    call.refused("exec_command", cmd=cmd, sandbox_permissions="require_escalated", prefix_rule=rule)
    assert approver.shown == [[]]


def test_without_a_file_it_holds_for_this_server(opened: Callable[..., Caller], work: Path) -> None:
    approver = Approver("always", "once")
    call = opened(approver=approver)
    assert escalated(call, "mkdir a", "mkdir") == 0
    assert escalated(call, "mkdir b") == 0
    assert escalated(call, "mkdir c; touch d") == 0
    assert len(approver.shown) == 2
    assert {path.name for path in work.iterdir()} == {"a", "b", "c", "d"}


def test_what_was_granted_is_still_judged(opened: Callable[..., Caller], work: Path) -> None:
    """§2.2: forbidden wins over whatever was agreed to."""
    approver = Approver("always", "always")
    call = opened(gate=Gate(Policy([Rule(["mkdir", "bad"], "deny")]), approver=approver))
    assert escalated(call, "mkdir good", "mkdir") == 0
    assert "denies" in call.refused("exec_command", cmd="mkdir bad", sandbox_permissions="require_escalated")
    assert [path.name for path in work.iterdir()] == ["good"]
