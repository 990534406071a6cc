"""Everyday lines stay allowed and are read exactly; one realistic set of rules says what is expected of it."""

import pytest

from agent_exec.policy.facts import Facts
from agent_exec.policy.policy import Policy
from policy.canary import judge
from policy.corpus_shell import ALLOWED, ASKED, DENIED, EVERYDAY, RULES, Words


@pytest.mark.parametrize(("line", "commands"), EVERYDAY, ids=[line for line, _ in EVERYDAY])
def test_an_everyday_line_is_allowed_and_read_exactly(line: str, commands: list[Words]) -> None:
    verdict = judge(line)
    assert verdict.kind == "allow", verdict.reason
    assert [one.words for one in verdict.findings if one.what == "command"] == commands


def test_there_are_enough_lines() -> None:
    assert len(EVERYDAY) >= 150
    assert len(ALLOWED) + len(ASKED) + len(DENIED) >= 230


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (kind, line)
        for kind, lines in (("allow", ALLOWED), ("ask", ASKED), ("deny", DENIED))
        for line in lines
    ],
)
def test_realistic_rules(kind: str, line: str) -> None:
    verdict = Policy(RULES).judge(line, Facts("/work"))
    assert verdict.kind == kind, verdict.reason


def test_what_is_written_is_found() -> None:
    found = judge("ls >out 2>err </dev/null; cat >> ../log &> '/x y'", "/a/b").findings
    assert [one.text for one in found if one.what == "write"] == ["/a/b/out", "/a/b/err", "/a/log", "/x y"]


def test_in_a_loop_or_a_function_a_later_cd_counts_for_what_is_before_it() -> None:
    policy = Policy(RULES).with_rules([RULES[0].__class__(["./run"])])
    assert policy.judge("./run; cd src").kind == "allow"
    assert policy.judge("cd src; ./run").kind == "ask"
    assert policy.judge("for x in 1 2; do ./run; cd src; done").kind == "ask"
    assert policy.judge("f() { ./run; }; cd src; f").kind == "ask"
