"""The gate: what passes, who is asked, what is remembered, and what is refused with a reason."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from agent_exec.model.errors import ApprovalRequired, CommandDenied, InvalidArgument, InvalidRules
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.policy.verdict import Verdict
from agent_exec.requests.gate import ANSWERS, Gate, Request
from agent_exec.requests.rulefile import add_rules, load_rules

RULES = Policy(
    [
        Rule(["ls"], "allow"),
        Rule(["git", "push"], "ask", reason="others see it", source="r.toml:7"),
        Rule(["rm"], "deny", reason="use trash"),
    ]
)


class Someone:
    """An approver who answers as told, and remembers what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> str:
        self.asked.append(request)
        return self.answers.pop(0)


def test_what_is_allowed_passes_and_what_is_denied_does_not() -> None:
    gate = Gate(RULES)
    verdict = gate.admit(["ls", "-l"])
    assert verdict is not None
    assert verdict.kind == "allow"
    with pytest.raises(CommandDenied, match="use trash") as caught:
        gate.admit(["rm", "x"])
    assert caught.value.details["verdict"] == "deny"
    with pytest.raises(CommandDenied):
        gate.admit("ls && rm x")


def test_a_command_that_is_repeated_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, judged = Policy.judge, []

    def counted(self: Policy, *given: Any) -> Verdict:
        judged.append(given)
        return judge(self, *given)

    class Reading(Policy):
        """A policy that may read files, as one of a caller's own may do."""

        __slots__ = ()

    monkeypatch.setattr(Policy, "judge", counted)
    gate = Gate(RULES)
    for cwd, count in (("/tmp", 1), ("/tmp", 1), ("/", 2), ("/tmp", 2)):
        gate.admit(["ls"], cwd)
        assert len(judged) == count
    for number in range(200):
        gate.admit(["ls", str(number)])
    assert len(gate._verdicts) <= 64
    judged.clear()
    reading = Gate(Reading(RULES.rules))
    reading.admit(["ls"])
    reading.admit(["ls"])
    assert len(judged) == 2


def test_without_rules_everything_passes_but_harm_to_ourselves() -> None:
    assert Gate().admit(["rm", "x"]) is None
    assert Gate().admit(["sh", "-c", "$x"]) is None
    assert Gate().admit(["pkill", "nothing-of-this-name"]) is not None
    for command in (
        ["kill", str(os.getpid())],
        f"kill -9 {os.getppid()}",
        ["sh", "-c", f"kill {os.getpid()}"],
    ):
        with pytest.raises(CommandDenied, match="one of ours"):
            Gate().admit(command)


def test_what_no_rule_knows_is_the_face_s_to_decide() -> None:
    assert Gate(RULES, unmatched="run").admit(["make"]) is not None
    with pytest.raises(ApprovalRequired, match="no approver"):
        Gate(RULES, unmatched="ask").admit(["make"])


@pytest.mark.parametrize(
    "command",
    [["git", "push"], ["python3", "-c", "run('rm x')"], "make `x`", "$x", "ls | sh", "find . -exec $x ;"],
)
def test_rules_that_ask_and_guards_hold_in_every_face(command: list[str] | str) -> None:
    with pytest.raises(ApprovalRequired, match="no approver"):
        Gate(RULES, unmatched="run").admit(command)


def test_untrusted_asks_for_all_that_no_rule_allows() -> None:
    gate = Gate(RULES, approval="untrusted", unmatched="run")
    gate.admit(["ls"])
    with pytest.raises(ApprovalRequired):
        gate.admit(["make"])


def test_never_does_not_ask() -> None:
    someone = Someone("once")
    with pytest.raises(ApprovalRequired, match="never"):
        Gate(RULES, approver=someone, approval="never").admit(["git", "push"])
    assert not someone.asked
    Gate(RULES, approver=someone, approval="never").admit(["make"])


def test_no_is_no() -> None:
    with pytest.raises(ApprovalRequired, match="the answer was no") as caught:
        Gate(RULES, approver=Someone("no")).admit(["git", "push"])
    known = {"verdict": "ask", "reason": "others see it", "rule": "r.toml:7"}
    assert caught.value.details == {**known, "answer": "no"}


def test_no_answer_is_no_refusal_by_a_person() -> None:
    """An approver whose question got no answer gives the reason, and the refusal names the rule."""

    def unanswered(_request: Request) -> str:
        raise ApprovalRequired("No answer came")

    with pytest.raises(ApprovalRequired) as caught:
        Gate(RULES, approver=unanswered).admit(["git", "push"])
    said = "others see it. No answer came; allow it by a rule: the one that asks is at r.toml:7"
    assert caught.value.message == f"this command needs approval: {said}"
    assert "answer" not in caught.value.details


def test_once_is_once_and_a_session_lasts() -> None:
    someone = Someone("once", "session")
    gate = Gate(RULES, approver=someone)
    for _ in range(4):
        gate.admit(["git", "push"], "/x")
    assert len(someone.asked) == 2
    request = someone.asked[0]
    assert (request.command, request.cwd, request.verdict.kind) == (("git", "push"), "/x", "ask")


def test_a_session_is_for_this_command_in_this_place() -> None:
    someone = Someone("session", "no", "no", "no")
    gate = Gate(RULES, approver=someone)
    gate.admit(["git", "push"], "/x")
    for command, cwd in ((["git", "push", "-f"], "/x"), (["git", "push"], "/y"), ("git push", "/x")):
        with pytest.raises(ApprovalRequired):
            gate.admit(command, cwd)


@pytest.mark.parametrize("answer", ["session", "always"])
def test_variables_not_shown_before_need_a_new_approval(answer: str) -> None:
    someone = Someone(answer, answer, "no", "no")
    gate = Gate(RULES, approver=someone)
    gate.admit(["git", "push"], "/x")
    gate.admit(["git", "push"], "/x")
    gate.admit(["git", "push"], "/x", ["LD_PRELOAD"])
    for _ in range(2):
        with pytest.raises(ApprovalRequired):
            gate.admit(["git", "push"], "/x", ["LD_PRELOAD"])
    assert [request.env_names for request in someone.asked] == [(), *[("LD_PRELOAD",)] * 3]


def test_an_input_is_shown_and_asked_for_again() -> None:
    someone = Someone("session", "session", "no")
    gate = Gate(RULES, approver=someone)
    gate.admit(["git", "push"], "/x")
    gate.admit(["git", "push"], "/x", stdin=b"one")
    with pytest.raises(ApprovalRequired):
        gate.admit(["git", "push"], "/x", stdin=b"two")
    gate.admit(["git", "push"], "/x")
    assert [request.stdin for request in someone.asked] == [b"", b"one", b"two"]


def test_always_takes_nothing_away_that_was_denied(tmp_path: Path) -> None:
    """Whatever has become of the file meanwhile: it is read again when a rule is added to it."""
    file = tmp_path / "rules.toml"
    for text in ("", '[[rule]]\nprefix = ["git", "push"]\nverdict = "deny"\n'):
        file.write_text(text)
        someone = Someone("always", "no")
        gate = Gate(RULES, approver=someone, unmatched="ask", remember=lambda more: add_rules(file, more))
        gate.admit(["touch", "x"])
        gate.admit(["touch", "x"])
        with pytest.raises(CommandDenied, match="use trash"):
            gate.admit(["rm", "x"])
        with pytest.raises(CommandDenied if text else ApprovalRequired):
            gate.admit(["git", "push"])
        file.unlink()


def test_an_approval_request_names_its_reason() -> None:
    someone = Someone("once", "once")
    gate = Gate(RULES, approver=someone)
    gate.admit(["git", "push"])
    gate.ask(["git", "push"], None, "it must")
    assert [request.escalated for request in someone.asked] == [False, True]


def test_always_is_written_down_and_holds_in_the_next_gate(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "rules.toml"
    someone = Someone("always")
    gate = Gate(Policy(), approver=someone, unmatched="ask", remember=lambda more: add_rules(file, more))
    gate.admit(["npm", "install", "it's"])
    gate.admit(["npm", "install", "it's"])
    assert len(someone.asked) == 1
    policy = load_rules(file)
    assert [rule.prefix for rule in policy.rules] == [("npm", "install", "it's")]
    assert Gate(policy, unmatched="ask").admit(["npm", "install", "it's"]) is not None
    with pytest.raises(ApprovalRequired):
        Gate(policy, unmatched="ask").admit(["npm", "install", "it's", "more"])
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("command", [["bash"], ["python"], ["git"], ["sudo"], "make `x`"])
def test_always_never_writes_down_what_is_broad_or_not_understood(
    tmp_path: Path, command: list[str] | str
) -> None:
    file = tmp_path / "rules.toml"
    gate = Gate(
        Policy(), approver=Someone("always"), unmatched="ask", remember=lambda more: add_rules(file, more)
    )
    gate.admit(command)
    gate.admit(command)  # for this session
    assert not file.exists()


def test_always_without_a_file_is_for_the_session() -> None:
    someone = Someone("always")
    gate = Gate(Policy(), approver=someone, unmatched="ask")
    gate.admit(["make"])
    gate.admit(["make"])
    assert len(someone.asked) == 1


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="on-request"):
        Gate(RULES, approval="sometimes")
    with pytest.raises(InvalidArgument, match="unmatched"):
        Gate(RULES, unmatched="deny")
    with pytest.raises(InvalidArgument, match=", ".join(ANSWERS)):
        Gate(RULES, approver=Someone("yes")).admit(["git", "push"])


def test_an_approver_that_fails_approves_nothing() -> None:
    def broken(_request: Request) -> str:
        raise RuntimeError("the dialog was closed")

    with pytest.raises(RuntimeError):
        Gate(RULES, approver=broken).admit(["git", "push"])


def test_rules_are_added_at_the_end_and_not_twice(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('# mine\n[[rule]]\nprefix = ["ls"]\nverdict = "allow"')
    file.chmod(0o640)
    rule = Rule(["make", 'te"st\n'], "allow", exact=True)
    for _ in range(3):
        add_rules(file, [rule, rule])
    assert [one.prefix for one in load_rules(file).rules] == [("ls",), ("make", 'te"st\n')]
    text = file.read_text()
    assert text.startswith('# mine\n[[rule]]\nprefix = ["ls"]\nverdict = "allow"\n\n[[rule]]\n')
    assert file.stat().st_mode & 0o777 == 0o640
    assert not list(tmp_path.glob("*.new"))


def test_many_add_at_once_and_none_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    threads = [
        threading.Thread(target=add_rules, args=(file, [Rule(["x", str(number % 12)], "allow")]))
        for number in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {rule.prefix for rule in load_rules(file).rules} == {("x", str(n)) for n in range(12)}
    assert len(load_rules(file).rules) == 12


def test_a_file_through_a_link_is_added_to_where_it_is(tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text("")
    link = tmp_path / "link.toml"
    link.symlink_to(real)
    add_rules(link, [Rule(["a"], "allow")])
    assert link.is_symlink()
    assert load_rules(real).rules


def test_a_file_that_is_wrong_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("[[rule]]\nnonsense")
    with pytest.raises(InvalidRules):
        add_rules(file, [Rule(["a"], "allow")])
    assert file.read_text() == "[[rule]]\nnonsense"
    with pytest.raises(InvalidRules, match="cannot be written"):
        add_rules(file / "below", [Rule(["a"], "allow")])
    with pytest.raises(InvalidRules, match="cannot be read"):
        load_rules(tmp_path / "none.toml")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidRules, match="UTF-8"):
        load_rules(tmp_path / "bytes")
    with pytest.raises(InvalidRules, match="UTF-8"):
        add_rules(tmp_path / "bytes", [Rule(["a"], "allow")])
    assert (tmp_path / "bytes").read_bytes() == b"\xff\xfe"


def test_rules_without_end_are_refused() -> None:
    with pytest.raises(InvalidRules, match="characters, and this has more"):
        load_rules("/dev/zero")


def test_what_leaves_the_sandbox_is_asked_for_by_itself() -> None:
    """Neither a rule, nor a yes to run it, nor a yes to another command lets it out."""
    someone = Someone("session", "session", "no", "no", "no")
    gate = Gate(RULES, approver=someone)
    gate.admit(["git", "push"], "/x")
    for _ in range(2):
        gate.ask("ls /etc", "/x", "why", ("ls", "/etc"))
    for command, cwd, grant in (
        ("ls /etc", "/y", ("ls", "/etc")),
        ("ls /", "/x", ("ls", "/")),
        ("git push", "/x", None),
    ):
        with pytest.raises(ApprovalRequired):
            gate.ask(command, cwd, "why", grant)
    assert [request.rules for request in someone.asked[1:]] == [()] * 4


@pytest.mark.parametrize("answer", ["session", "always"])
def test_what_may_be_another_the_next_time_is_asked_for_each_time(answer: str) -> None:
    someone = Someone(answer, answer, "no")
    gate = Gate(RULES, approver=someone)
    for _ in range(2):
        gate.ask("sh x.sh", "/x", "why")
    with pytest.raises(ApprovalRequired):
        gate.ask("sh x.sh", "/x", "why")
    assert [request.once for request in someone.asked] == [True] * 3


def test_files_that_a_command_writes_are_judged() -> None:
    """As the targets of redirections are: what a rule denies is denied, and untrusted asks."""
    rules = Policy([Rule(verdict="deny", write=["/etc"]), Rule(["apply_patch"], "allow")])
    gate = Gate(rules)
    gate.admit(["apply_patch"], "/x", writes=["/x/a"])
    with pytest.raises(CommandDenied):
        gate.admit(["apply_patch"], "/x", writes=["/x/a", "/etc/b"])
    Gate(rules, approval="untrusted").admit(["apply_patch"], "/x", writes=["/x/a"])
    with pytest.raises(ApprovalRequired):
        Gate(Policy(), approval="untrusted").admit(["apply_patch"], "/x", writes=["/x/a"])
