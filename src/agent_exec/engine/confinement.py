"""Who confines a command here: the strongest backend that was seen to work; without one it is refused."""

import os

from agent_exec.model.errors import SCARCE, PlanFailed, SandboxUnavailable
from agent_exec.sandbox import confine
from agent_exec.sandbox.backends import Backend, backends
from agent_exec.sandbox.plan.ours import Ours
from agent_exec.sandbox.plan.plan import Plan
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.seatbelt import PROGRAM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host import Spawner
    from agent_exec.sandbox.report.guard import Guard

NOTHING_CONFINES = "nothing can confine a command here"
"""How a refusal begins where no backend makes even the smallest box."""

_proven: set[str] = set()
_useless: dict[str, str] = {}
"""Backends that do not work here, while a strong one does."""

_MOST_RECENT = 8
_recent: list[Plan] = []

among: tuple[str, ...] = ()
"""The names of the only backends to be tried, for operators and tests; all of them by default."""


def guarded(sandbox: "Profile | Plan", spawner: "Spawner", ours: "Ours") -> "Guard":
    """Return a guard over what the plan of a profile protects, with the backend of the plan chosen.

    Every confined command of every face begins here. If something is there by
    now that a kept plan does not protect, it is planned anew.
    """
    from agent_exec.sandbox.report.guard import Guard, look_at_all

    look_at_all()
    plan = settle(sandbox, spawner, ours)
    guard = Guard(plan, fresh=isinstance(sandbox, Profile))
    if guard.stale:
        plan = settle(plan.profile, spawner, Ours(plan.own, plan.state))
        guard = Guard(plan, fresh=True)
    return guard


def settle(sandbox: "Profile | Plan", spawner: "Spawner", ours: "Ours") -> Plan:
    """Return the plan of a profile, or one that was made before and still holds, with its backend chosen.

    The first time, that takes as long as to make a box, which is then used.
    Raise PlanFailed for what is the fault of this plan, or of this moment;
    any other SandboxUnavailable says that no backend makes even the smallest box.
    """
    try:
        plan = confine.planned(sandbox, ours)
    except OSError as error:  # a folder that went, or changed, while it was looked at
        raise PlanFailed(
            f"the sandbox cannot be planned, and so nothing was run: {error.filename!r}: {error.strerror}; "
            "try again",
            errno=error.errno,
        ) from None
    if plan.profile.name == "full-access" or plan.backend:
        return plan
    profile = plan.profile
    reasons: dict[str, str] = {}
    for one in candidates():
        if profile.min_strength == "full" and one.strength != "full":
            reasons[one.name] = 'too weak, unless the profile says min_strength="degraded"'
        elif reason := one.refuses(plan) or _useless.get(one.name) or _prove(one, plan, spawner):
            reasons[one.name] = reason
        else:
            if one.strength == "full":
                _useless.update(reasons)
            return _for(plan, one)
    told = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    raise SandboxUnavailable(
        f"{NOTHING_CONFINES} ({told or 'there is no sandbox for this system yet'}), and so "
        "nothing was run; `agent-exec sandbox doctor` tells more, and only --sandbox full-access runs "
        "commands unconfined"
    )


def candidates() -> tuple[Backend, ...]:
    """Give the backends that are tried, strongest first."""
    return tuple(one for one in backends() if not among or one.name in among)


def probe(one: Backend, spawner: "Spawner") -> str:
    """Try whether a backend works here, with a plan that asks for little; say why not."""
    smallest = _smallest()
    if reason := one.refuses(smallest):
        return reason
    try:
        _try(one, smallest, spawner)
    except SandboxUnavailable as error:
        return _words(error)
    return ""


def _prove(one: Backend, plan: Plan, spawner: "Spawner") -> str:
    """Say why a backend does not work here, "" if it does; raise what is the plan's fault, or of now."""
    if one.name in _proven:
        return ""
    try:
        _try(one, plan, spawner)
    except SandboxUnavailable as error:
        if _passes(error):
            raise
        try:
            _try(one, _smallest(), spawner)
        except SandboxUnavailable as second:
            if not _passes(second):
                return _words(second)
        raise PlanFailed(error.message, **error.details) from None
    _proven.add(one.name)
    return ""


def _smallest() -> Plan:
    return Plan(Profile("read-only", deny_read=()))


def _passes(error: SandboxUnavailable) -> bool:
    """True if the machine is too busy now, which says nothing about a backend."""
    return error.details.get("errno") in SCARCE


def _words(error: SandboxUnavailable) -> str:
    step, number = error.details.get("step"), error.details.get("errno")
    return f"{step}: {os.strerror(number)}" if step and isinstance(number, int) else error.message


def _try(one: Backend, plan: Plan, spawner: "Spawner") -> None:
    """Have a box made, and wait until it is ready: nothing else tells whether it can be."""
    if one.entry:
        spawner.ready(confine.box(_for(plan, one)))
    elif not os.access(PROGRAM, os.X_OK):
        raise SandboxUnavailable(f"there is no {PROGRAM}")


def _for(plan: Plan, one: Backend) -> Plan:
    """Give a plan as a backend carries it out; the one of before, if it is equal, whose order is known."""
    made = plan.replace(backend=one.name, unenforced=(*plan.unenforced, *one.gaps(plan)))
    for known in _recent:
        if known == made:
            return known
    _recent.insert(0, made)
    del _recent[_MOST_RECENT:]
    return made
