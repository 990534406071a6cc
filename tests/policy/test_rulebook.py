"""Rules as they are written: what is read, and what is refused with its file and line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.model.errors import InvalidRules
from agent_exec.policy.rule import Rule
from agent_exec.policy.rulebook import parse, write

GOOD = """\
# What the agent may do.
approval_policy = "never"

[[rule]]
prefix = ["git", ["status", "log", "diff"]]
verdict = "allow"
match = ["git status -s", ["git", "log", "x y"]]
not_match = ["git push", "git -c a=b status"]

[[rule]]
prefix = ["git", "push"]
verdict = "ask"
reason = "others see it"

[[rule]]
write = ["/tmp"]
verdict = "allow"
match = ["/tmp/x"]
not_match = ["/etc/x"]

[[rule]]
prefix = ["make"]
exact = true
verdict = "allow"
match = ["make"]
not_match = ["make install"]
"""


def test_rules_are_read_in_order_with_their_places() -> None:
    book = parse(GOOD, "my.toml")
    assert book.approval == "never"
    assert [(rule.prefix, rule.verdict, rule.source) for rule in book.rules] == [
        (("git", ("status", "log", "diff")), "allow", "my.toml:4"),
        (("git", "push"), "ask", "my.toml:10"),
        ((), "allow", "my.toml:15"),
        (("make",), "allow", "my.toml:21"),
    ]
    assert book.rules[1].reason == "others see it"
    assert book.rules[2].write == ("/tmp",)
    assert book.rules[3].exact


def test_no_rules_are_fine() -> None:
    assert parse("").rules == ()
    assert parse("# nothing\n").approval is None


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('[[rule]]\nprefix = ["a"]\nverdict = "allow"\nmatch = [\n  "a b",\n  "b a",\n]\n', 6, "does not match"),
        ('[[rule]]\nprefix = ["a"]\nverdict = "allow"\nnot_match = ["a b"]\n', 4, "matches its not_match"),
        ('\n[[rule]]\nprefix = ["a"]\nverdict = "allow"\n[[rule]]\nprefix = ["b"]\nverdict = "deny"\nmatch = ["c"]\n', 8, "'c'"),
        ('[[rule]]\nprefix = ["a"]\nverdict = "alow"\n', 3, "verdict must be one of"),
        ('[[rule]]\nprefix = ["a"]\n', 1, "verdict must be one of"),
        ('[[rule]]\nverdict = "deny"\n', 1, "prefix"),
        ('[[rule]]\nprefix = ["a"]\nwrite = ["/x"]\nverdict = "deny"\n', 1, "not both"),
        ('[[rule]]\nwrite = ["x"]\nverdict = "deny"\n', 2, "absolute"),
        ('[[rule]]\nprefix = "a"\nverdict = "deny"\n', 2, "must be a list"),
        ('[[rule]]\nprefix = [1]\nverdict = "deny"\n', 2, "token"),
        ('[[rule]]\nprefix = [[]]\nverdict = "deny"\n', 2, "token"),
        ('[[rule]]\nprefix = ["a"]\nverdict = "deny"\nreason = 1\n', 4, "reason must be a text"),
        ('[[rule]]\nprefix = ["a"]\nverdict = "deny"\nexact = "yes"\n', 4, "true or false"),
        ('[[rule]]\nprefix = ["a"]\nverdict = "deny"\nprefx = ["b"]\n', 4, "no 'prefx'"),
        ('[[rule]]\nprefix = ["a"]\nverdict = "deny"\nmatch = ["a; b"]\n', 4, "one simple command"),
        ('[[rule]]\nprefix = ["a"]\nverdict = "deny"\nmatch = [1]\n', 4, "one simple command"),
        ('[[rules]]\nprefix = ["a"]\n', 1, "no key 'rules'"),
        ("\nrule = 3\n", 2, "tables"),
        ('\n\napproval_policy = "always"\n', 3, "on-request"),
        ("[[rule]]\nprefix = [\n", 3, "not TOML"),
        ("[[rule]]\nx = = 1\n", 2, "not TOML"),
        ('rule = [{prefix = ["a"], verdict = "no"}]\n', 1, "verdict must be"),
        ('[[rule]]\nprefix = ["a"]\nverdict = "deny"\nreason = """\n[[rule]]\n"""\n[[rule]]\nprefix = ["b"]\nverdict = "no"\n', 9, "verdict must be"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_file_and_line(text: str, line: int, says: str) -> None:
    with pytest.raises(InvalidRules) as caught:
        parse(text, "dir/my.toml")
    assert caught.value.message.startswith(f"dir/my.toml:{line}: ")
    assert says in caught.value.message
    assert caught.value.details == {"file": "dir/my.toml", "line": line}


texts = st.text(st.characters(codec="utf-8"), max_size=12)


@settings(deadline=None, derandomize=True)
@given(
    st.lists(texts | st.lists(texts, min_size=1, max_size=3), max_size=4),
    st.sampled_from(["allow", "ask", "deny"]),
    texts,
    st.booleans(),
)
def test_what_is_written_is_read_back(prefix: list[str], verdict: str, reason: str, exact: bool) -> None:
    rule = Rule(prefix, verdict, reason=reason, exact=exact)  # type: ignore[arg-type]
    (read,) = parse(write(rule)).rules
    assert read.replace(source="") == rule


@settings(deadline=None, derandomize=True)
@given(st.text(max_size=80))
def test_no_text_is_too_strange(text: str) -> None:
    try:
        rules = parse(text).rules
    except InvalidRules:
        return
    assert rules == () or "rule" in text
