"""What is told of a box after a command: how strong it was, and what it kept the command from."""

from agent_exec.sandbox.backends import backend
from agent_exec.sandbox.report.denials import denials, exhausted, human

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.model.outcome import Outcome
    from agent_exec.sandbox.plan.plan import Plan

_REQUESTS = 100
"""How many of the last requests to the network are told."""

_SHOWN = 5
"""How many changes a line for people names."""

_LIMITS = {"SIGXCPU": "cpu", "SIGXFSZ": "file_mb"}


def block(plan: "Plan", outcome: "Outcome", cwd: str, text: str | None = None) -> "dict[str, Any]":
    """Return the `sandbox` part of an answer; `text` is what was printed, if the outcome has it not."""
    confined = bool(plan.backend)
    text = f"{outcome.stdout_text}\n{outcome.stderr_text}" if text is None else text
    found = [*refused_hosts(plan.profile.net, outcome.network), *denials(plan, text, cwd)] if confined else []
    limits = ["wall"] if outcome.timed_out else []
    if outcome.signal in _LIMITS:
        limits.append(_LIMITS[outcome.signal])
    if confined:
        limits += [name for name in exhausted(plan, text) if name not in limits]
    return {
        "backend": plan.backend or "none",
        "strength": backend(plan.backend).strength if confined else "none",
        "profile": plan.profile.name,
        "policy": plan.profile.digest,
        "denials": found,
        "limits_hit": limits,
        "unenforced": list(plan.unenforced),
        "protected_changes": [dict(change) for change in outcome.changes],
        "network": [dict(decision) for decision in outcome.network[-_REQUESTS:]],
        "message": "; ".join(filter(None, (human(found), said(outcome.changes)))),
    }


def said(changes: "Sequence[Mapping[str, object]]") -> str:
    """Return one line for people about what became of protected paths; "" if nothing did."""
    if not changes:
        return ""
    shown = [
        f"{change['path']!r} {change['what']}"
        + (f", and is now {change['moved_to']!r}" if "moved_to" in change else "")
        + (f" ({change['why']})" if "why" in change else "")
        for change in changes[:_SHOWN]
    ]
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    moved = any("moved_to" in change for change in changes)
    allow = ". A person can let a name stay: --unprotect NAME, or `unprotect` in the profile" if moved else ""
    return f"[sandbox] protected: {'; '.join(shown)}{more}{allow}"


def refused_hosts(
    hosts: "Sequence[str]", network: "Sequence[Mapping[str, object]]"
) -> "list[dict[str, Any]]":
    """Return what the proxy to these hosts has refused, each once."""
    if not network:
        return []
    from agent_exec.sandbox.proxy.log import NO_TOKEN

    keys = {
        (one["host"], one["port"], one["reason"])
        for one in network
        if not one["allowed"] and one["reason"] != NO_TOKEN
    }
    common = {"kind": "net.connect", "evidence": "exact", "remedy": f"allowed: {', '.join(hosts)}"}
    return [
        {**common, "host": host, "port": port, "rule": reason}
        for host, port, reason in sorted(keys, key=str)[:_REQUESTS]
    ]
