"""What is told of a box after a command: how strong it was, and what it kept the command from."""

from agent_exec.sandbox.denials import denials, human

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.model.outcome import Outcome
    from agent_exec.sandbox.changes import Change
    from agent_exec.sandbox.plan import Plan

_LIMITS = {"SIGXCPU": "cpu", "SIGXFSZ": "file"}


def block(
    plan: "Plan", outcome: "Outcome", cwd: str, changes: "Sequence[Change]", *, backend: str, strength: str
) -> "dict[str, Any]":
    """Give the `sandbox` part of an answer."""
    confined = plan.profile.name != "full-access"
    found = denials(plan, f"{outcome.stdout_text}\n{outcome.stderr_text}", cwd) if confined else []
    limits = ["wall"] if outcome.timed_out else []
    if outcome.signal in _LIMITS:
        limits.append(_LIMITS[outcome.signal])
    return {
        "backend": backend if confined else "none",
        "strength": strength if confined else "none",
        "profile": plan.profile.name,
        "policy": plan.profile.digest,
        "denials": found,
        "limits_hit": limits,
        "unenforced": list(plan.unenforced),
        "protected_changes": [change.to_json() for change in changes],
        "message": human(found),
    }
