"""What the policy says, as answers of the program."""

from agent_exec.faces.answers import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.model.identity import Ancestor
    from agent_exec.policy.rule import Rule
    from agent_exec.policy.verdict import Finding

    Answer = dict[str, Any]


def explain(
    command: "Sequence[str] | str", *, rules: str | None, cwd: str, ancestors: "tuple[Ancestor, ...]" = ()
) -> "Answer":
    """Tell what the rules of a file say to a command or a line, and to each part of it; None is no rules."""
    from agent_exec.policy.facts import Facts
    from agent_exec.policy.policy import Policy
    from agent_exec.requests.rulefile import load_rules

    policy = Policy() if rules is None else load_rules(rules)
    verdict = policy.judge(command, Facts(cwd, ancestors))
    return answer(
        "policy_explain",
        {
            "verdict": verdict.kind,
            "reason": verdict.reason,
            "basis": verdict.basis,
            "rule": _rule(verdict.rule),
            "rules": rules,
            "cwd": cwd,
            "commands": [_finding(one) for one in verdict.findings if one.what == "command"],
            "writes": [_finding(one) for one in verdict.findings if one.what == "write"],
            "doubts": [_finding(one) for one in verdict.findings if one.what == "line"],
        },
    )


def check(file: str) -> "Answer":
    """Return what is in a file of rules, if it is right; raise InvalidRules if it is not."""
    from agent_exec.requests.rulefile import load_book

    book = load_book(file)
    kinds = [rule.verdict for rule in book.rules]
    return answer(
        "policy_check",
        {
            "file": file,
            "rules": len(kinds),
            "allow": kinds.count("allow"),
            "ask": kinds.count("ask"),
            "deny": kinds.count("deny"),
            "approval_policy": book.approval,
        },
    )


def _finding(one: "Finding") -> "Answer":
    fields: Answer = {"text": one.text}
    if one.what == "command":
        fields["words"] = list(one.words)
    return fields | {"verdict": one.kind, "reason": one.reason, "basis": one.basis, "rule": _rule(one.rule)}


def _rule(rule: "Rule | None") -> "Answer | None":
    if rule is None:
        return None
    fields: Answer = {"verdict": rule.verdict, "source": rule.source}
    if rule.write:
        fields["write"] = list(rule.write)
    else:
        fields["prefix"] = [token if isinstance(token, str) else list(token) for token in rule.prefix]
        if rule.exact:
            fields["exact"] = True
    if rule.reason:
        fields["reason"] = rule.reason
    return fields
