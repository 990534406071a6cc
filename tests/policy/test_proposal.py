"""What "always" would write down: the narrowest rules, and none that are broad."""

from collections.abc import Sequence

import pytest

from agent_exec.policy.policy import Policy
from agent_exec.policy.proposal import broad, propose
from agent_exec.policy.rule import Rule


def proposed(line: str, *rules: Rule) -> list[Sequence[object]]:
    policy = Policy(rules)
    found = propose(policy.judge(line))
    assert all(rule.exact and rule.verdict == "allow" for rule in found)
    if found:
        assert policy.with_rules(found).judge(line).kind == "allow", "what was approved for good still asks"
    return [rule.prefix for rule in found]


def test_the_whole_command_and_nothing_shorter() -> None:
    assert proposed("npm install left-pad") == [("npm", "install", "left-pad")]
    assert proposed("git push origin main") == [("git", "push", "origin", "main")]


def test_only_for_the_parts_that_ask_and_each_once() -> None:
    allowed = Rule(["ls"], "allow")
    assert proposed("ls && make x | make x && tsc -p .", allowed) == [("make", "x"), ("tsc", "-p", ".")]


@pytest.mark.parametrize(
    "line",
    [
        "bash",
        "python",
        "python3.11",
        "git",
        "sudo",
        "/usr/bin/sudo",
        "env",
        "npm run",
        "rm -rf",
        "make $x",
        "$x",
        "make > log",
        "make `x`",
        "echo x | sh",
        "make && bash",
        "PATH=. make x",
    ],
)
def test_nothing_broad_and_nothing_that_was_not_understood(line: str) -> None:
    assert proposed(line) == []


def test_no_rule_outdoes_one_that_asks_or_denies() -> None:
    assert proposed("git push", Rule(["git", "push"], "ask")) == []
    assert proposed("git push", Rule(["git", "push"], "deny")) == []


def test_code_is_approved_as_it_is() -> None:
    assert proposed("python3 -c 'print(1)'") == [("python3", "-c", "print(1)")]


def test_broad() -> None:
    assert broad(())
    assert broad(("Bash",))
    assert broad(("/bin/python3.12",))
    assert broad(("sh", "-c"))
    assert not broad(("git", "status"))
    assert not broad(("sh", "-c", "x"))
    assert not broad(("tsc",))
