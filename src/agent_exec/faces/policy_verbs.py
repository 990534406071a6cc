"""What the policy says, as answers of the program."""

from agent_exec.faces.answers import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.policy.rule import Rule
    from agent_exec.policy.verdict import Finding
    from agent_exec.requests.arguments import Rules

    Answer = dict[str, Any]

_ASKS = {"cli": False, "mcp": True, "shell": True, "python": True}
"""The ways in which commands are started, and whether an approver can be asked there."""


def explain(command: "Sequence[str] | str", *, rules: "Rules", cwd: str) -> "Answer":
    """Return the verdict on a command or a line, and on each part of it, and what every door does with it."""
    from agent_exec.requests.opening import facts_here, open_gate, rules_file

    gate = open_gate(rules)
    asked = command if isinstance(command, str) else tuple(command)
    verdict = gate.judge(asked, facts_here(asked, cwd))
    outcome = gate.outcome(verdict)
    return answer(
        "policy_explain",
        {
            "verdict": verdict.kind,
            "reason": verdict.reason,
            "basis": verdict.basis,
            "rule": _rule(verdict.rule),
            "rules": rules_file(rules),
            "approval_policy": gate.approval,
            "doors": {
                door: outcome if asks or outcome != "ask" else "refuse" for door, asks in _ASKS.items()
            },
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
