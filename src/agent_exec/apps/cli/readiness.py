"""The options of readiness, ports and health: validated, and turned into terms of a job."""

from agent_exec.apps.parse import UsageError
from agent_exec.faces import readiness
from agent_exec.requests.opening import IN_FORCE, gate_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.jobs.start import Order
    from agent_exec.requests.gate import Gate


def add(asked: "Parsed", order: "Order") -> None:
    """Add what the options of `run` ask for to the order of a job; raise UsageError for what contradicts."""
    options = asked.options
    if "for" in options and "ready-when" in options:
        raise UsageError("--for and --ready-when contradict each other; --for records it too", "run")
    conditions: list[str] = options.get("for") or options.get("ready-when") or []
    if "all" in options and not conditions:
        raise UsageError("--all needs --for or --ready-when", "run")
    if "health" not in options and any(name.startswith("health-") for name in options):
        raise UsageError("--health-every, --health-timeout and --health-failures need --health", "run")
    given: dict[str, Any] = {
        name.replace("-", "_"): options[name]
        for name in ("health", "health-every", "health-timeout", "health-failures")
        if name in options
    }
    readiness.add_terms(
        order,
        gate_of(asked, conditions, options.get("health", "")),
        conditions=conditions,
        every="all" in options,
        ports=options.get("port", ()),
        stop_after_idle=idle(options.get("stop-after")),
        **given,
    )


def gate_of(asked: "Parsed", conditions: "list[str]", health: str = "") -> "Gate | None":
    """Return the gate that judges the commands of checks; None if there is none to judge."""
    from agent_exec.host import shell

    lines = [text.partition("=")[2] for text in conditions if text.startswith("exec=")]
    for line in (*lines, *filter(None, (health,))):
        gate = gate_for(shell(line), asked.options.get("rules", IN_FORCE))
        if gate is not None:
            return gate
    return None


def idle(text: str | None) -> float | None:
    """Return the seconds of --stop-after."""
    if text is None:
        return None
    from agent_exec.model.command import seconds
    from agent_exec.model.errors import InvalidArgument

    kind, _, value = text.partition("=")
    if kind != "idle":
        raise UsageError(f"--stop-after takes idle=TIME, such as idle=10m; got {text!r}", "run")
    try:
        return seconds(value, bare="s")
    except InvalidArgument as error:
        raise UsageError(f"--stop-after: {error.message}", "run") from None
