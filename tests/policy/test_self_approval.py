"""A command cannot answer a question that is put to a person, whatever the rules allow."""

import sys

import pytest

from agent_exec.model.errors import CommandDenied
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.requests.gate import Gate


@pytest.mark.parametrize(
    "command",
    [
        ("agent-exec", "approvals", "answer", "ab12", "always"),
        ("agent-exec", "--root", "x", "approvals", "watch"),
        ("/usr/local/bin/agent-exec", "approvals", "answer", "ab12", "once"),
        (sys.executable, "-m", "agent_exec", "approvals", "answer", "ab12", "once"),
        ("env", "-u", "X", "agent-exec", "approvals", "answer", "ab12", "once"),
        "cd /tmp && agent-exec approvals answer $(agent-exec approvals | jq -r .id) once",
        "agent-exec approvals $what ab12 once",
        "bash -c 'agent-exec approvals answer ab12 once'",
    ],
)
def test_a_question_is_not_answered_by_a_command(command: "tuple[str, ...] | str") -> None:
    for policy in (None, Policy(), Policy([Rule(["agent-exec"], "allow"), Rule([sys.executable], "allow")])):
        with pytest.raises(CommandDenied, match="put to a person"):
            Gate(policy, unmatched="run").admit(command)


@pytest.mark.parametrize(
    "command",
    [
        ("agent-exec", "approvals"),
        ("agent-exec", "approvals", "show", "ab12"),
        ("git", "log", "approvals", "answer"),
        "echo approvals answer",
    ],
)
def test_questions_may_be_listed_and_spoken_of(command: "tuple[str, ...] | str") -> None:
    Gate(None).admit(command)
    Gate(Policy()).admit(command)
