"""Confined commands, as answers of the program."""

from agent_exec.faces.answers import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from agent_exec.model.choices import Stream
    from agent_exec.requests.dispatch import Dispatcher
    from agent_exec.sandbox.backends import Backend
    from agent_exec.sandbox.plan.ours import Ours
    from agent_exec.sandbox.profile import Profile

    Answer = dict[str, Any]

_ROUNDS = 31


def run(
    dispatcher: "Dispatcher",
    argv: "Sequence[str]",
    *,
    cwd: str,
    timeout: float | None = None,
    on_output: "Callable[[Stream, bytes], object] | None" = None,
) -> "Answer":
    """Run a command in a box to its end; return its outcome, and what the box kept it from.

    With `on_output`, it gets the output as it comes, and the answer has none.
    """
    from agent_exec.model.command import Command, Limits
    from agent_exec.sandbox.report.report import block

    dispatcher.gate.admit(argv, cwd)
    outcome, guard = dispatcher.run(
        Command(argv, cwd=cwd, limits=Limits(timeout=timeout), on_output=on_output)
    )
    return answer(
        "sandbox_run",
        {
            "exit_code": outcome.exit_code,
            "signal": outcome.signal,
            "timed_out": outcome.timed_out,
            "duration_ms": int(outcome.duration * 1000),
            "stdout": outcome.stdout_text if on_output is None else "",
            "stderr": outcome.stderr_text if on_output is None else "",
            "truncated": outcome.stdout_observed > len(outcome.stdout)
            or outcome.stderr_observed > len(outcome.stderr),
            "sandbox": guard and block(guard.plan, outcome, cwd),
        },
    )


def hidden_by(profile: "Profile", folders: "Sequence[str]" = ()) -> tuple[str, ...]:
    """Return the paths that a confined command may not read, ours and `folders` among them."""
    from agent_exec.sandbox.plan.ours import ours
    from agent_exec.sandbox.sandbox import shared_sandbox

    plan = shared_sandbox().look(profile, ours(folders=folders))
    return (*plan.masks, *plan.absent)


def explain(profile: "Profile", path: str, ours: "Ours") -> "Answer":
    """True if an absolute path can be read and written in a box, why, and what would change that."""
    import os

    from agent_exec.engine.engine import shared_spawner
    from agent_exec.sandbox.plan.explain import explain as explained
    from agent_exec.sandbox.sandbox import shared_sandbox

    plan = shared_sandbox().plan(profile, shared_spawner(), ours)
    home = os.path.realpath(os.path.expanduser("~"))
    return answer(
        "sandbox_explain",
        {**explained(plan, path, home), "profile": profile.name, "backend": plan.backend or "none"},
    )


def doctor() -> "Answer":
    """Tell which backends work here and why the others do not, what they leave open, and what a box costs."""
    from agent_exec.sandbox.backends import ALL

    backends = [_examine(one) for one in ALL]
    chosen = next((one["name"] for one in backends if one["available"] and one["strength"] == "full"), None)
    ratio = next((one["spawn_ratio"] for one in backends if one["name"] == chosen), None)
    return answer("sandbox_doctor", {"backends": backends, "chosen": chosen, "spawn_ratio": ratio})


def _examine(one: "Backend") -> "Answer":
    """Try a real box: nothing else tells whether one works."""
    from agent_exec.engine.engine import shared_spawner
    from agent_exec.sandbox.plan.plan import Plan
    from agent_exec.sandbox.profile import Profile
    from agent_exec.sandbox.sandbox import shared_sandbox

    usable = one in shared_sandbox().candidates()
    reason = shared_sandbox().probe(one, shared_spawner()) if usable else "it is made for another system"
    return {
        "name": one.name,
        "available": not reason,
        "strength": one.strength,
        "reason": reason or None,
        "unenforced": list(one.gaps(Plan(Profile("workspace-write", loopback="any")))) if usable else [],
        "spawn_ratio": _ratio(one) if not reason else None,
    }


def _ratio(one: "Backend") -> float:
    """Measure what a spawn in a warm box takes, in those of a plain one."""
    from time import perf_counter

    from agent_exec.engine.engine import run
    from agent_exec.sandbox.plan.plan import Plan
    from agent_exec.sandbox.profile import Profile

    plan = Plan(Profile("read-only", deny_read=()), backend=one.name)
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(_ROUNDS):
        for boxed in (True, False):
            start = perf_counter()
            run(["true"], cwd="/", sandbox=plan if boxed else None)
            seconds[boxed].append(perf_counter() - start)
    inside, outside = (sorted(seconds[boxed])[_ROUNDS // 2] for boxed in (True, False))
    return round(inside / outside, 2)
