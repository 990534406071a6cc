"""Turns a launch into a confined one: by the strongest backend that works here, or not at all."""

import os

from agent_exec.model.box import Box
from agent_exec.model.errors import InvalidArgument, SandboxUnavailable
from agent_exec.sandbox.environment import scrub
from agent_exec.sandbox.paths import identity
from agent_exec.sandbox.plan import Plan, changed_protections, changed_roots, make_plan, unmasked
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.steps import STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.command import Launch

_roots: dict[str, tuple[int, int]] = {}
"""Who the roots were when they were first used."""

ENTRY = "agent_exec.sandbox.linux.box"
BACKEND = "ns"
STRENGTH = "full"


def confine(launch: "Launch", plan: Plan) -> "Launch":
    """Give a launch that runs in a box of this plan; raise SandboxUnavailable if there can be none."""
    if plan.profile.name == "full-access":
        return launch
    import sys

    if sys.platform != "linux":
        raise SandboxUnavailable("there is no sandbox for this system yet; nothing was run")
    if not isinstance(plan.profile.net, str):
        raise SandboxUnavailable("a list of hosts is not carried out yet; use net off, and nothing was run")
    return launch.replace(box=box(plan), env=scrub(launch.env, plan.profile, backend=BACKEND))


def planned(sandbox: "Profile | Plan") -> Plan:
    """Give the plan of a profile, made now; or a plan that was made before, if it still holds.

    To make one takes as long as to look at every entry of the roots; whoever
    keeps one does without what appears there later. A root that has become
    another folder is refused, in this process for ever.
    """
    if isinstance(sandbox, Plan):
        plan = sandbox
        if changed_protections(plan) or unmasked(plan):
            plan = make_plan(plan.profile, home=os.path.expanduser("~"))
    elif isinstance(sandbox, Profile):
        plan = make_plan(sandbox, home=os.path.expanduser("~"))
    else:
        raise InvalidArgument(f"sandbox must be a Profile; got {sandbox!r}")
    for asked in plan.profile.roots:
        found = identity(os.path.realpath(asked))
        if found is None or _roots.setdefault(asked, found) != found:
            raise SandboxUnavailable(
                f"the root {asked!r} is no longer the folder that it was; nothing was run. If that is as it "
                "should be, start this program anew"
            )
    if changed := changed_roots(plan):
        raise SandboxUnavailable(f"{changed[0]}; nothing was run")
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
