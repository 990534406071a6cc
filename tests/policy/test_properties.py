"""What holds for every line: words come back as they were quoted, more commands are never milder, nothing crashes."""

import re
import shlex
from copy import deepcopy

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.policy.facts import Facts
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.policy.shell.line import read
from agent_exec.policy.verdict import KINDS, Verdict
from policy.canary import judge
from policy.corpus_shell import ALLOWED, ASKED, DENIED, EVERYDAY, RULES

steady = settings(deadline=None, derandomize=True, max_examples=150)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
tricky = st.text(st.sampled_from("ab '\"\\$`(){}[]<>|&;#*?~!=-%\n\t\ré"), max_size=8)
words = st.lists(texts | tricky, min_size=1, max_size=5)
line_parts = st.lists(
    st.sampled_from(
        [
            *"ls rm cat;;&&|&(){}[]<>`$#'\"\\!=*?~ \n\t".split(),
            *(
                "$(",
                "${",
                "${x:-",
                "$((",
                "))",
                "<<EOF",
                "\nEOF\n",
                "<<'EOF'",
                "<<<",
                "[[ ",
                " ]]",
                "[ ",
                " ]",
                "\\\n",
            ),
            *(
                "if ",
                "; then ",
                "; fi",
                "for x in ",
                "; do ",
                "; done",
                "case x in x) ",
                ";; esac",
                "f() { ",
                "; }",
            ),
            *(
                " ",
                " ",
                "a=",
                "a=(",
                "a[",
                "2>&1",
                ">f",
                "time ",
                "eval ",
                "sh -c ",
                "-v ",
                "é",
                "\udcff",
                "\0",
            ),
        ]
    ),
    max_size=20,
).map("".join)
lines = st.sampled_from([*(line for line, _ in EVERYDAY), *ALLOWED, *ASKED, *DENIED]) | line_parts
JOINED = [
    "{a}; {b}",
    "{a}\n{b}",
    "{a} && {b}",
    "{a} || {b}",
    "{a} | {b}",
    "{a} & {b}",
    "{b}; {a}",
    "{a}; echo $({b})",
    '{a}; echo "$({b})"',
    "{a}; ({b})",
    "{a}; {{ {b}; }}",
    "{a}; if {b}; then ls; fi",
    "{a}; for x in 1; do {b}; done",
    "{a}; f() {{ {b}; }}",
    "{a}; ! {b}",
]
COMPLETE = [
    line
    for line in [*ALLOWED, *DENIED]
    if "\n" not in line and "#" not in line and not line.endswith("&") and not read(line).doubts
]


def doubly_quoted(text: str) -> str:
    return '"' + re.sub(r'([$`"\\])', r"\\\1", text) + '"'


def read_back(line: str, expected: list[str]) -> None:
    """The words are those, or it asks: never others."""
    verdict = judge(line)
    found = [one.words for one in verdict.findings if one.what == "command"]
    if found != [tuple(expected)]:
        assert verdict.kind != "allow", found


@steady
@given(words)
def test_words_in_single_quotes_are_read_back(expected: list[str]) -> None:
    read_back(shlex.join(["ls", *expected]), ["ls", *expected])


@steady
@given(words)
def test_words_in_double_quotes_are_read_back(expected: list[str]) -> None:
    read_back("ls " + " ".join(map(doubly_quoted, expected)), ["ls", *expected])


@steady
@given(words)
def test_words_quoted_in_pieces_are_read_back(expected: list[str]) -> None:
    half = [(text[: len(text) // 2], text[len(text) // 2 :]) for text in expected]
    quoted = [shlex.quote(a) + doubly_quoted(b) for a, b in half]
    read_back("ls \\\n  " + " \\\n  ".join(quoted), ["ls", *expected])


@steady
@given(words)
def test_what_is_plain_is_not_asked_about(expected: list[str]) -> None:
    plain = ["".join(char for char in text if char.isprintable() or char in "\n\t") for text in expected]
    plain = [text for text in plain if all(char in " \n\t" or not char.isspace() for char in text)]
    line = shlex.join(["ls", *plain])
    assert judge(line).kind == "allow"
    assert judge(line).findings[0].words == ("ls", *plain)


@steady
@given(st.lists(texts | tricky, min_size=1, max_size=4))
def test_a_line_in_a_line_is_read_back(expected: list[str]) -> None:
    verdict = judge(shlex.join(["sh", "-c", shlex.join(["ls", *expected])]))
    found = [one.words for one in verdict.findings if one.what == "command"][1:]
    assert found == [("ls", *expected)] or verdict.kind != "allow"


@steady
@given(st.sampled_from(COMPLETE), st.sampled_from(COMPLETE), st.sampled_from(JOINED))
def test_more_commands_are_never_milder(a: str, b: str, form: str) -> None:
    policy = Policy(RULES)
    strictness = KINDS.index
    whole = policy.judge(form.format(a=a, b=b), Facts("/work"))
    assert strictness(whole.kind) >= strictness(policy.judge(a, Facts("/work")).kind)
    assert strictness(whole.kind) >= strictness(policy.judge(b, Facts("/work")).kind)


@steady
@given(lines, st.sampled_from(JOINED))
def test_a_denied_command_after_anything_is_never_allowed(a: str, form: str) -> None:
    """Unless what is before it has made it a mere word, in which case the broadest policy looks on."""
    whole = form.format(a=a, b="canary")
    if not any(mark in a for mark in "'\"#\\<\n"):
        assert judge(whole).kind != "allow"


@steady
@given(lines | st.text() | st.binary(max_size=60).map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_nothing_crashes_and_the_same_gives_the_same(line: str) -> None:
    policy = Policy(RULES)
    before = deepcopy([rule.prefix for rule in policy.rules])
    first = policy.judge(line, Facts("/work"))
    assert isinstance(first, Verdict)
    assert policy.judge(line, Facts("/work")) == first
    assert Policy([*RULES]).judge(line, Facts("/work")) == first
    assert [rule.prefix for rule in policy.rules] == before


@steady
@given(st.lists(texts | tricky | lines, max_size=5))
def test_no_argument_vector_crashes(argv: list[str]) -> None:
    given_words = list(argv)
    first = judge(argv)
    assert judge(argv) == first
    assert argv == given_words
    assert judge(tuple(argv)) == first  # type: ignore[arg-type]  # any sequence will do


@steady
@given(lines)
def test_a_rule_that_denies_makes_nothing_milder(line: str) -> None:
    milder = Policy(RULES).judge(line, Facts("/work")).kind
    stricter = Policy([*RULES, Rule(["ls"], "deny")]).judge(line, Facts("/work")).kind
    assert KINDS.index(stricter) >= KINDS.index(milder)
