"""Rules judge what the lists allow; a refusal is logged, nothing runs, and no slot is taken."""

from pathlib import Path

import pytest

from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.model.errors import ApprovalRequired, CommandDenied
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.requests.gate import Gate, Request
from faces.executor.recorder import Recorder

RULES = Policy([Rule(["touch"], "deny", reason="nothing is made here"), Rule(["mkdir"], "ask")])


def test_rules_judge_what_the_lists_allow(tmp_path: Path) -> None:
    log = Recorder()
    with CommandExecutor(log, rules=RULES) as executor:
        assert executor.validate_command("touch", ["made"]).valid, "the lists allow it"
        with pytest.raises(CommandDenied, match="nothing is made here"):
            executor.execute_command("touch", ["made"], cwd=tmp_path)
        with pytest.raises(ApprovalRequired):
            executor.execute_command("mkdir", ["made"], cwd=tmp_path)
        assert executor.concurrent_count == 0
        assert executor.execute_command("echo", ["hi"], cwd=tmp_path).output == "hi\n"
    assert not list(tmp_path.iterdir())
    assert [level for level, said in log.lines if "touch" in said] == ["debug", "debug", "error"]


def test_the_approver_is_asked_in_the_folder_of_the_command(tmp_path: Path) -> None:
    asked: list[Request] = []

    def approve(request: Request) -> str:
        asked.append(request)
        return "once"

    with CommandExecutor(gate=Gate(RULES, approver=approve)) as executor:
        assert executor.execute_command("mkdir", ["made"], cwd=tmp_path).exit_code == 0
    assert [(one.command, one.cwd) for one in asked] == [(("mkdir", "made"), str(tmp_path))]
