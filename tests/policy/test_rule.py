"""A rule: what it matches, what only the shell will know, and what it does not match."""

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.policy.facts import Facts
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.policy.shell.word import Word


def words(*texts: str) -> list[Word]:
    return [Word(text) for text in texts]


GIT = Rule(["git", ["status", "log"]], "allow")


def test_a_prefix_is_compared_word_by_word_with_alternatives() -> None:
    assert GIT.matches(words("git", "status", "-s"))
    assert GIT.matches(words("git", "log"))
    assert GIT.matches(words("git", "push")) is False
    assert GIT.matches(words("git")) is False
    assert GIT.matches(words("gitk", "status")) is False
    assert GIT.matches(words("git", "status-x")) is False


def test_an_exact_rule_is_for_nothing_more() -> None:
    rule = Rule(["make", "test"], "allow", exact=True)
    assert rule.matches(words("make", "test"))
    assert rule.matches(words("make", "test", "x")) is False
    assert rule.matches([*words("make", "test"), Word(None, single=False)]) is None


def test_an_empty_prefix_is_every_command() -> None:
    assert Rule([], "allow").matches(words("anything"))
    assert Rule([], "allow").matches([Word(None, single=False)])


@pytest.mark.parametrize(
    ("word", "matches"),
    [
        (Word(None), None),
        (Word(None, single=False), None),
        (Word(None, head="sta"), None),
        (Word(None, head="pu"), False),
        (Word(None, head="sta", single=False), None),
    ],
)
def test_an_unknown_word_may_match(word: Word, matches: bool | None) -> None:
    assert GIT.matches([Word("git"), word]) is matches


def test_a_word_that_may_be_many_hides_all_that_follows() -> None:
    rule = Rule(["rm", "-rf"], "deny")
    assert rule.matches([Word("rm"), Word(None, single=False), Word("x")]) is None
    assert rule.matches([Word("rm"), Word("x"), Word(None, single=False)]) is False


@pytest.mark.parametrize("path", ["/usr/bin/git", "/bin/git", "/usr/local/bin/git"])
def test_a_rule_that_allows_knows_the_folders_of_the_system(path: str) -> None:
    assert GIT.matches(words(path, "status"))


@pytest.mark.parametrize(
    "path", ["./git", "/tmp/git", "../git", "/usr/bin/../../tmp/git", "bin/git", "git.exe", "GIT"]
)
def test_a_rule_that_allows_trusts_no_other_path(path: str) -> None:
    assert GIT.matches(words(path, "status")) is False


@pytest.mark.parametrize("path", ["rm", "/bin/rm", "./rm", "../x/rm", "/opt/rm", "rm.exe", "C:\\x\\rm.exe"])
@pytest.mark.parametrize("verdict", ["deny", "ask"])
def test_a_rule_that_denies_or_asks_knows_the_program_anywhere(path: str, verdict: str) -> None:
    assert Rule(["rm"], verdict).matches(words(path, "-rf"))  # type: ignore[arg-type]


def test_a_path_in_a_rule_is_that_path() -> None:
    rule = Rule(["./build.sh"], "allow")
    assert rule.matches(words("./build.sh", "x"))
    assert rule.matches(words("build.sh")) is False


def test_folded_rules_do_not_see_case() -> None:
    assert Rule(["sudo"], "deny", folded=True).matches(words("SuDo"))
    assert Rule(["sudo"], "deny", folded=True).matches(words("/usr/bin/SUDO"))


def test_writes() -> None:
    rule = Rule(write=["/tmp", "/etc/hosts"], verdict="allow")
    assert rule.covers("/tmp/x/y")
    assert rule.covers("/tmp")
    assert rule.covers("/etc/hosts")
    assert not rule.covers("/tmpx")
    assert not rule.covers("/etc/hosts2")
    assert rule.matches(words("/tmp")) is False


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rule(["x"], "maybe"),  # type: ignore[arg-type]
        lambda: Rule([[]], "allow"),
        lambda: Rule([1], "allow"),  # type: ignore[list-item]
        lambda: Rule([["a", 1]], "allow"),  # type: ignore[list-item]
        lambda: Rule(["x"], "allow", write=["/tmp"]),
        lambda: Rule(write=[""], verdict="allow"),
        lambda: Policy(["rm"]),  # type: ignore[list-item]
        lambda: Policy().judge(["ls", 1]),  # type: ignore[list-item]
    ],
)
def test_nonsense_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(InvalidArgument):
        make()


def test_deny_before_ask_before_allow_in_any_order() -> None:
    allow, ask, deny = Rule(["a"], "allow"), Rule(["a", "b"], "ask"), Rule(["a", "b", "c"], "deny")
    for order in ([allow, ask, deny], [deny, ask, allow], [ask, allow, deny]):
        policy = Policy(order)
        assert policy.judge(["a", "x"]).kind == "allow"
        assert policy.judge(["a", "b"]).kind == "ask"
        verdict = policy.judge(["a", "b", "c"])
        assert (verdict.kind, verdict.rule) == ("deny", deny)


def test_of_equal_rules_the_first_is_named() -> None:
    first, second = Rule(["a"], "deny", reason="one"), Rule(["a"], "deny", reason="two")
    assert Policy([first, second]).judge(["a"]).reason == "one"


def test_what_no_rule_knows_asks_and_says_so() -> None:
    verdict = Policy([GIT]).judge(["ls"])
    assert (verdict.kind, verdict.basis, verdict.rule, verdict.unmatched) == ("ask", "none", None, True)
    assert Policy().judge([]).kind == "ask"
    assert Policy([GIT]).judge("").kind == "ask"
    assert Policy([Rule([], "allow")]).judge("   ").kind == "ask"


def test_a_line_that_only_sets_variables_runs_nothing() -> None:
    assert Policy().judge("x=1").kind == "allow"
    assert Policy().judge("# nothing").kind == "allow"
    assert Policy().judge("PATH=/tmp").kind == "ask"


def test_the_strictest_part_decides_and_all_are_reported() -> None:
    policy = Policy([GIT, Rule(["rm"], "deny", reason="no")])
    verdict = policy.judge("git status && ls && rm x")
    assert (verdict.kind, verdict.reason) == ("deny", "no")
    assert [(one.text, one.kind, one.basis) for one in verdict.findings] == [
        ("git status", "allow", "rule"),
        ("ls", "ask", "none"),
        ("rm x", "deny", "rule"),
    ]


def test_what_only_the_shell_knows_is_never_allowed_past_a_denial() -> None:
    policy = Policy([Rule(["git"], "allow"), Rule(["git", "push"], "deny")])
    assert policy.judge('git "$x"').kind == "ask"
    assert policy.judge("git $x").kind == "ask"
    assert policy.judge("git status").kind == "allow"
    assert policy.judge("git -C d push").kind == "deny"
    assert policy.judge("git --no-pager push").kind == "deny"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("ls > /tmp/x", "allow"),
        ("ls > x", "allow"),
        ("ls > ../y", "ask"),
        ("ls > /tmp/../etc/passwd", "deny"),
        ("ls >> /etc/hosts", "deny"),
        ("ls > /var/x", "ask"),
        ("ls > $x", "ask"),
        ("ls 2>&1 >/dev/null", "allow"),
        ("cd / && ls > x", "ask"),
        ("ls < /etc/passwd", "allow"),
        ("ls &> /etc/x", "deny"),
        ("> /etc/x", "deny"),
    ],
)
def test_the_target_of_a_redirection_is_a_write(line: str, kind: str) -> None:
    policy = Policy(
        [
            Rule([["ls", "cd"]], "allow"),
            Rule(write=["/tmp", "/work/dir"], verdict="allow"),
            Rule(write=["/etc"], verdict="deny"),
        ]
    )
    assert policy.judge(line, Facts("/work/dir")).kind == kind


def test_without_a_directory_a_relative_write_is_not_known() -> None:
    policy = Policy([Rule(["ls"], "allow"), Rule(write=["/tmp"], verdict="allow")])
    assert policy.judge("ls > x").kind == "ask"
    assert policy.judge("ls > x", Facts("/tmp")).kind == "allow"
    assert policy.judge("ls > link/../x", Facts("/tmp")).kind == "ask"


def test_a_rule_for_all_paths_needs_to_know_none() -> None:
    anywhere = Policy([Rule(["ls"], "allow"), Rule(write=["/"], verdict="allow")])
    assert anywhere.judge("ls > x").kind == "allow"
    assert anywhere.judge("ls > $x").kind == "allow"
    assert anywhere.judge("ls > ../x").kind == "allow"
    guarded = anywhere.with_rules([Rule(write=["/etc"], verdict="deny")])
    assert guarded.judge("ls > x", Facts("/tmp")).kind == "allow"
    for line in ("ls > x", "ls > $x", "ls > /tmp/a/../../etc/x/../../b"):
        assert guarded.judge(line).kind == "ask"
    assert guarded.judge("ls > /tmp/../etc/x").kind == "deny"


def test_a_program_in_a_changed_directory_is_another() -> None:
    policy = Policy([Rule([["./build.sh", "cd", "ls"]], "allow")])
    assert policy.judge("./build.sh").kind == "allow"
    assert policy.judge("ls && ./build.sh").kind == "allow"
    assert policy.judge("cd /tmp && ./build.sh").kind == "ask"
    assert policy.judge("env -C /tmp ./build.sh").kind == "ask"


def test_a_rule_must_reach_the_word_that_decides() -> None:
    assert Policy([Rule(["python3"], "allow")]).judge(["python3", "-c", "x"]).kind == "ask"
    assert Policy([Rule(["python3", "-c"], "allow")]).judge(["python3", "-c", "x"]).kind == "ask"
    assert Policy([Rule(["python3", "-c", "x"], "allow")]).judge(["python3", "-c", "x"]).kind == "allow"
    assert (
        Policy([Rule(["python3", "-c", "x"], "allow", exact=True)]).judge(["python3", "-c", "x"]).kind
        == "allow"
    )


def test_too_much_is_not_looked_at() -> None:
    policy = Policy([Rule([], "allow")])
    line = "x"
    for _ in range(12):
        line = "sh -c " + "'" + line.replace("'", "'\\''") + "'"
    assert policy.judge(line).kind == "ask"
    assert policy.judge("ls;" * 3000).kind == "ask"
    assert policy.judge("echo " + "x" * 70000).kind == "ask"
    assert policy.judge("(" * 500 + "ls" + ")" * 500).kind == "ask"
