"""Turns a launch into a confined one: by the strongest backend that works here, or not at all."""

import os

from agent_exec.model.box import Box
from agent_exec.model.errors import InvalidArgument, SandboxUnavailable
from agent_exec.sandbox.environment import scrub
from agent_exec.sandbox.plan import Plan, changed_protections, changed_roots, make_plan
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.steps import STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.command import Launch

_MOST_PLANS = 16
_plans: dict[Profile, Plan] = {}
"""To look at a large root takes long, so a plan is kept for as long as it holds."""

ENTRY = "agent_exec.sandbox.linux.box"
BACKEND = "ns"
STRENGTH = "full"


def confine(launch: "Launch", sandbox: "Profile | Plan") -> "Launch":
    """Give a launch that runs in a box of this profile; raise SandboxUnavailable if there can be none."""
    plan = planned(sandbox)
    if plan.profile.name == "full-access":
        return launch
    import sys

    if sys.platform != "linux":
        raise SandboxUnavailable("there is no sandbox for this system yet; nothing was run")
    if not isinstance(plan.profile.net, str):
        raise SandboxUnavailable("a list of hosts is not carried out yet; use net off, and nothing was run")
    return launch.replace(box=box(plan), env=scrub(launch.env, plan.profile, backend=BACKEND))


def planned(sandbox: "Profile | Plan") -> Plan:
    """Give the plan of a profile, or the one that was made for it before, if it still holds.

    A root that has become another folder is refused; what is protected is
    looked for anew when it has changed, or when something protected appeared.
    """
    profile = sandbox.profile if isinstance(sandbox, Plan) else sandbox
    if not isinstance(profile, Profile):
        raise InvalidArgument(f"sandbox must be a Profile; got {sandbox!r}")
    plan = sandbox if isinstance(sandbox, Plan) else _plans.get(profile)
    if plan is not None:
        if changed := changed_roots(plan):
            _plans.pop(profile, None)
            raise SandboxUnavailable(f"{changed[0]}; nothing was run. Look whether that is as it should be")
        if not changed_protections(plan) and not any(os.path.lexists(path) for path in plan.missing):
            return plan
    plan = make_plan(profile, home=os.path.expanduser("~"))
    if len(_plans) >= _MOST_PLANS:
        _plans.pop(next(iter(_plans)))
    _plans[profile] = plan
    return plan


def box(plan: Plan) -> Box:
    """Give the order to be a box for a plan."""
    import hashlib
    from marshal import dumps

    profile = plan.profile
    limits = profile.limits
    spec: dict[str, object] = {
        "roots": [(os.fsencode(root.path), root.device, root.inode) for root in plan.roots or plan.visible],
        "writable": profile.name == "workspace-write",
        "protected": [
            (os.fsencode(path), *known) for path, known in zip(plan.protected, plan.identities, strict=True)
        ],
        "masks": [os.fsencode(path) for path in plan.masks],
        "tmp_mb": profile.tmp_mb if profile.tmp == "private" else 0,
        "net": profile.net == "on",
        "procs": limits.procs,
        "cpu": limits.cpu,
        "memory": None if limits.memory_mb is None else limits.memory_mb << 20,
        "file": None if limits.file_mb is None else limits.file_mb << 20,
        "open_files": limits.open_files,
    }
    digest = hashlib.sha256(dumps(sorted(spec.items()))).hexdigest()
    return Box(digest, ENTRY, spec, STEPS)
