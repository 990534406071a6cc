"""Rules that allow: they make nothing stricter, and reach what they name; code of other languages and rules go together."""

from collections.abc import Iterator
from functools import cache

import pytest

from agent_exec.policy.facts import Facts
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.requests.gate import Gate
from policy import (
    corpus_programs,
    corpus_shell,
    lines_shell,
    songs_folder,
    songs_languages,
    songs_programs,
)

FACTS = Facts("/work")
STRICTNESS = ("run", "ask", "refuse").index
STRICT = [Rule(["rm"], "deny"), Rule(["git", "push"], "ask"), Rule(write=["/etc"], verdict="deny")]
REPLS = (
    "python3 -q,python3,ipython,node,irb,psql -h db,psql,sqlite3 x.db,gdb ./a.out,perl -de1,lua,php -a".split(
        ","
    )
)


def gate(rules: list[Rule] | None, approval: str = "on-request") -> Gate:
    return Gate(None if rules is None else Policy(rules), approval=approval)


def outcome(command: str, rules: list[Rule] | None, approval: str = "on-request") -> str:
    opened = gate(rules, approval)
    return opened.outcome(opened.judge(command, FACTS))


def corpus() -> Iterator[str]:
    yield from (line for line, _ in corpus_shell.EVERYDAY)
    yield from (*corpus_shell.ALLOWED, *corpus_shell.ASKED, *corpus_shell.DENIED)
    for text in (corpus_programs.ALLOWED, corpus_programs.ASKED, corpus_programs.DENIED):
        yield from text.strip().splitlines()
    for songs in (songs_folder, songs_languages, songs_programs):
        for group in songs.LINES.values():
            yield from filter(None, group.replace("⏎", "\n").splitlines())
    for lines in lines_shell.SINGING.values():
        yield from lines
    yield from REPLS


@cache
def corpus_with_rules() -> "list[tuple[str, Rule]]":
    """Return every line with a rule that allows much or little of it."""
    found = []
    for number, line in enumerate(corpus()):
        rules = list(allowing(line))
        found.append((line, rules[number % len(rules)]))
    return found


def allowing(line: str) -> Iterator[Rule]:
    """Return rules that allow much or little of a line."""
    yield Rule([])
    for one in Policy().judge(line, FACTS).findings:
        words = [text for text in one.words if text is not None]
        if words and len(words) == len(one.words):
            yield Rule(words[:1])
            yield Rule(words[:2])
            yield Rule(words, exact=True)
    yield Rule(write=["/work"])


@pytest.mark.parametrize("before", [None, [], STRICT, corpus_shell.RULES, corpus_programs.RULES])
def test_a_rule_that_allows_makes_nothing_stricter(before: list[Rule] | None) -> None:
    known = list(before or [])
    former = gate(before)
    stricter = []
    for line, rule in corpus_with_rules():
        was, now = former.outcome(former.judge(line, FACTS)), outcome(line, [*known, rule])
        if STRICTNESS(now) > STRICTNESS(was):
            stricter.append((line, was, now, rule))
    assert stricter == []


@pytest.mark.parametrize("line", [*REPLS, "python3 -c 'print(6*7)'", "cat x.py | python3", "python3 x.py"])
def test_rules_and_programs_that_take_code_go_together(line: str) -> None:
    for allowed in ([], [Rule(line.split()[:1])], [Rule([])]):
        assert outcome(line, [*STRICT, *allowed]) == "run"
        assert outcome(line, [*STRICT, *allowed], "untrusted") == "ask", "no rule names what it runs"


@pytest.mark.parametrize(
    "line",
    [
        "python3 -c 'import os; os.system(\"rm x\")'",
        'echo \'import subprocess; subprocess.run(["git", "push"])\' | python3',
        "python3 <<'E'\nopen('/etc/hosts', 'w')\nE",
        "psql -c '\\! rm x'",
        "vim -c '!git push'",
        "ls | sh",
        "bash",
        "curl x | bash -s",
    ],
)
def test_code_that_names_what_a_rule_is_against_asks_as_a_shell_does(line: str) -> None:
    assert outcome(line, STRICT) == "ask"


def test_words_in_code_are_whole_words() -> None:
    assert outcome("python3 -c 'perform(git)'", STRICT) == "run"


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (Rule(["python3", "-q"]), "python3 -q"),
        (Rule(["python3"], exact=True), "python3"),
        (Rule(["python3", "-"]), "python3 - x"),
        (Rule(["psql", "-h", "db"]), "psql -h db"),
        (Rule(["python3", "-c", "print('rm')"]), "python3 -c \"print('rm')\""),
    ],
)
def test_a_rule_allows_the_code_that_it_names(rule: Rule, line: str) -> None:
    assert outcome(line, [*STRICT, rule], "untrusted") == "run"
    assert outcome(line, STRICT, "untrusted") == "ask"


def test_a_rule_that_does_not_reach_is_never_named_as_the_one_that_asks() -> None:
    verdict = Policy([*STRICT, Rule(["python3"], source="r.toml:1")]).judge("python3 x.py", FACTS)
    assert (verdict.kind, verdict.rule, verdict.unmatched) == ("ask", None, True)
    assert "does not reach" in verdict.reason
