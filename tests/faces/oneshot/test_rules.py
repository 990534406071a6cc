"""E47: no list of commands by default; rules judge them only where there are some."""

from pathlib import Path

import pytest

from agent_exec.model.choices import ShellMode
from agent_exec.model.errors import InvalidRules
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.requests.gate import Request
from faces.oneshot.seen import MakeKit, code, data

RULES = Policy([Rule(["touch"], "deny", reason="nothing is made here"), Rule(["echo"], "allow")])
ASKING = Policy([Rule(["touch"], "ask", reason="it makes files")])


def test_e47_without_rules_no_command_is_judged(make_kit: MakeKit, root: Path) -> None:
    assert data(make_kit().exec_command(".", ["touch", "made"]))["exit_code"] == 0
    assert (root / "made").exists()


@pytest.mark.parametrize("mode", ["default", "direct"])
def test_e47_rules_judge_the_tokens_and_not_the_shell(make_kit: MakeKit, root: Path, mode: ShellMode) -> None:
    kit = make_kit(rules=RULES)
    answer = kit.exec_command(".", ["touch", "made"], shell_mode=mode)
    assert code(answer) == "POLICY_DENIED"
    assert answer["message"].startswith("[Security Policy]")
    assert "nothing is made here" in answer["message"]
    assert not (root / "made").exists()
    assert data(kit.exec_command(".", ["echo", "hi"], shell_mode=mode))["stdout"] == "hi\n"
    assert data(kit.exec_command(".", ["true"], shell_mode=mode))["exit_code"] == 0, (
        "no rule knows it: it runs"
    )


def test_e46_rules_come_before_the_sandbox_and_after_the_shape(make_kit: MakeKit) -> None:
    kit = make_kit(rules=RULES)
    assert code(kit.exec_command("..", ["touch", "made"])) == "POLICY_DENIED"
    assert code(kit.exec_command("missing", ["touch", "made"])) == "POLICY_DENIED"
    assert code(kit.exec_command("..", ["touch", "made"], timeout_ms=0)) == "INVALID_ARGUMENT"


def test_an_approver_learns_the_folder(make_kit: MakeKit, root: Path) -> None:
    asked: list[Request] = []

    def approve(request: Request) -> str:
        asked.append(request)
        return "once" if len(asked) == 1 else "no"

    kit = make_kit(rules=ASKING, approver=approve)
    assert data(kit.exec_command("src", ["touch", "made"]))["exit_code"] == 0
    assert (asked[0].command, asked[0].cwd) == (("touch", "made"), str(root / "src"))
    answer = kit.exec_command("src", ["touch", "again"])
    assert code(answer) == "POLICY_DENIED"
    assert "the answer was no" in answer["message"]
    assert not (root / "src" / "again").exists()


def test_without_an_approver_it_is_denied(make_kit: MakeKit) -> None:
    for terms in ({}, {"approval_policy": "never"}):
        answer = make_kit(rules=ASKING, **terms).exec_command(".", ["touch", "made"])
        assert code(answer) == "POLICY_DENIED"
        assert "needs approval" in answer["message"]
    assert (
        code(make_kit(rules=ASKING, approval_policy="untrusted").exec_command(".", ["true"]))
        == "POLICY_DENIED"
    )


def test_an_approver_that_fails_is_not_the_callers_mistake(make_kit: MakeKit, root: Path) -> None:
    def broken(_request: Request) -> str:
        raise ValueError("the window is gone")

    for approver in (broken, lambda _request: "perhaps"):
        assert (
            code(make_kit(rules=ASKING, approver=approver).exec_command(".", ["touch", "made"])) == "INTERNAL"
        )
    assert not (root / "made").exists()


def test_rules_come_from_a_file(make_kit: MakeKit, root: Path) -> None:
    file = root.parent / "rules.toml"
    file.write_text('[[rule]]\nprefix = ["touch"]\nverdict = "deny"\n')
    for rules in (file, str(file)):
        assert code(make_kit(rules=rules).exec_command(".", ["touch", "made"])) == "POLICY_DENIED"
    assert not (root / "made").exists()
    for wrong in (root.parent / "missing.toml", root / "file.txt"):
        with pytest.raises(InvalidRules, match=str(wrong)):
            make_kit(rules=wrong)


def test_what_is_always_approved_is_written_down(make_kit: MakeKit, root: Path) -> None:
    file = root.parent / "rules.toml"
    file.write_text("")
    kit = make_kit(rules=file, approver=lambda _request: "always", approval_policy="untrusted")
    assert data(kit.exec_command(".", ["touch", "made"]))["exit_code"] == 0
    assert "touch" in file.read_text()
    never = make_kit(rules=file, approval_policy="never")
    assert data(never.exec_command(".", ["touch", "made"]))["exit_code"] == 0


def test_git_status_is_judged_as_the_command_it_is(make_kit: MakeKit) -> None:
    kit = make_kit(rules=Policy([Rule(["git"], "deny", reason="no git here")]))
    assert code(kit.git_status_summary()) == "POLICY_DENIED"
