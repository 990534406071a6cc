"""Confined commands, as answers of the program."""

from agent_exec.faces.answers import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.sandbox.profile import Profile

    Answer = dict[str, Any]


def run(
    profile: "Profile",
    argv: "Sequence[str]",
    *,
    cwd: str,
    timeout: float | None = None,
    stdin: bytes | None = None,
) -> "Answer":
    """Run a command in a box to its end, and tell how that went and what the box kept it from."""
    from agent_exec.engine.engine import run_command
    from agent_exec.model.command import Command
    from agent_exec.model.limits import Limits
    from agent_exec.sandbox.changes import compare, snapshot
    from agent_exec.sandbox.confine import BACKEND, STRENGTH, planned
    from agent_exec.sandbox.report import block

    plan = planned(profile)
    before = snapshot(plan, scan=True)
    outcome = run_command(Command(argv, cwd=cwd, stdin=stdin, limits=Limits(timeout=timeout)), sandbox=plan)
    return answer(
        "sandbox_run",
        {
            "exit_code": outcome.exit_code,
            "signal": outcome.signal,
            "timed_out": outcome.timed_out,
            "duration_ms": int(outcome.duration * 1000),
            "stdout": outcome.stdout_text,
            "stderr": outcome.stderr_text,
            "truncated": outcome.stdout_observed > len(outcome.stdout)
            or outcome.stderr_observed > len(outcome.stderr),
            "sandbox": block(plan, outcome, cwd, compare(before, plan), backend=BACKEND, strength=STRENGTH),
        },
    )


def doctor() -> "Answer":
    """Tell which backends work here and why the others do not, and what a box costs."""
    backends = [_namespaces(), _bubblewrap(), _landlock(), _seatbelt()]
    chosen = next((one["name"] for one in backends if one["available"] and one["used"]), None)
    return answer("sandbox_doctor", {"backends": backends, "chosen": chosen, "spawn_ratio": _ratio(chosen)})


def _backend(name: str, strength: str, reason: str | None, *, used: bool = True) -> "Answer":
    return {
        "name": name,
        "available": reason is None,
        "used": used,
        "strength": strength,
        "reason": reason,
    }


def _namespaces() -> "Answer":
    """Try a real box: nothing else tells whether one works."""
    from agent_exec.engine.engine import run
    from agent_exec.model.errors import AgentExecError
    from agent_exec.sandbox.profile import Profile

    try:
        outcome = run(["true"], cwd="/", timeout=20, sandbox=Profile("read-only"))
    except AgentExecError as error:
        return _backend("ns", "full", error.message)
    return _backend("ns", "full", None if outcome.ok else f"true ended with {outcome.exit_code} in a box")


def _bubblewrap() -> "Answer":
    from agent_exec.engine.engine import run
    from agent_exec.model.errors import AgentExecError

    try:
        outcome = run(["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"], cwd="/", timeout=20)
    except AgentExecError as error:
        return _backend("bwrap", "full", error.message, used=False)
    reason = None if outcome.ok else outcome.stderr_text.strip() or f"it ended with {outcome.exit_code}"
    return _backend("bwrap", "full", reason, used=False)


def _landlock() -> "Answer":
    import sys

    if sys.platform != "linux":
        return _backend("landlock", "degraded", "it is a part of Linux", used=False)
    from agent_exec.sandbox.linux.landlock import abi

    reason = None if abi() > 0 else "this kernel has no Landlock"
    return _backend("landlock", "degraded", reason, used=False)


def _seatbelt() -> "Answer":
    import sys

    reason = "untested" if sys.platform == "darwin" else "it is a part of macOS"
    return _backend("seatbelt", "full", reason, used=False)


def _ratio(chosen: str | None) -> float | None:
    """Measure what a spawn in a warm box takes, in those of a plain one."""
    if chosen is None:
        return None
    from time import perf_counter

    from agent_exec.engine.engine import run
    from agent_exec.sandbox.confine import planned
    from agent_exec.sandbox.profile import Profile

    plan = planned(Profile("read-only"))
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(30):
        for boxed in (True, False):
            start = perf_counter()
            run(["true"], cwd="/", sandbox=plan if boxed else None)
            seconds[boxed].append(perf_counter() - start)
    inside, outside = (sorted(seconds[boxed])[15] for boxed in (True, False))
    return round(inside / outside, 2)
