"""One realistic set of rules says what is expected of it to commands of programs that know many ways."""

import pytest

from agent_exec.policy.facts import Facts
from agent_exec.policy.policy import Policy
from policy.corpus_programs import ALLOWED, ASKED, DENIED, RULES

EXPECTED = [
    (kind, line)
    for kind, text in (("allow", ALLOWED), ("ask", ASKED), ("deny", DENIED))
    for line in text.strip().splitlines()
]


@pytest.mark.parametrize(("kind", "line"), EXPECTED, ids=[line for _, line in EXPECTED])
def test_realistic_rules(kind: str, line: str) -> None:
    verdict = Policy(RULES).judge(line, Facts("/work"))
    assert verdict.kind == kind, verdict.reason


def test_there_are_enough_of_them() -> None:
    assert len(EXPECTED) >= 120
