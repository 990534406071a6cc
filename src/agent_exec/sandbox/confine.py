"""Turns a launch into a confined one, as its plan says, or not at all."""

import os
from errno import EAGAIN

from agent_exec.model.box_spec import Box
from agent_exec.model.errors import InvalidArgument, PlanFailed, SandboxUnavailable
from agent_exec.places import make_folder
from agent_exec.sandbox.backends import backend
from agent_exec.sandbox.environment import scrub
from agent_exec.sandbox.plan.homes import uncovered
from agent_exec.sandbox.plan.paths import identity, inside
from agent_exec.sandbox.plan.plan import Plan, changed_protections, changed_roots, make_plan, unmasked
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.setup_steps import STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from agent_exec.model.box_spec import Server
    from agent_exec.model.command import Launch
    from agent_exec.sandbox.plan.ours import Ours

_roots: dict[str, tuple[int, int]] = {}
"""Who the roots were when they were first used."""

_TRIES = 5
"""How often a box is planned while what it protects changes."""

_MOST_ORDERS = 64
_orders: dict[int, tuple[Plan, Box]] = {}
"""The orders of plans that are in use, by who they are."""

_last: "tuple[Mapping[str, str] | Mapping[bytes, bytes], Plan, dict[bytes, bytes]] | None" = None
"""The last variables: from which, for which plan, and what is left of them."""

_tokens: dict[str, str] = {}
"""What opens the way to the network, by the boxes that have one."""


def confine(launch: "Launch", plan: Plan, given: "Collection[str]" = ()) -> "Launch":
    """Return a launch that runs as its plan says, whose backend has been chosen.

    `given` are names of variables that were set for this command, even if they are as in this process.
    """
    profile = plan.profile
    if profile.name == "full-access":
        return launch
    if not plan.backend:
        raise SandboxUnavailable("nobody was chosen to carry out the plan, and so nothing was run")
    env = _environment(launch.env, plan, given)
    if plan.backend == "seatbelt":
        from agent_exec.sandbox.seatbelt import wrap

        words = wrap(plan, [os.fsdecode(launch.program), *map(os.fsdecode, launch.argv[1:])])
        return launch.replace(program=words[0], argv=tuple(words), env=env)
    order = box(plan)
    if order.on_listener is not None:
        from agent_exec.sandbox.linux.box_common import PORT
        from agent_exec.sandbox.proxy.server import variables

        shown = variables(PORT, _tokens[order.digest])
        env = env | {name.encode(): value.encode() for name, value in shown.items()}
    return launch.replace(box=order, env=env)


def _environment(
    env: "Mapping[str, str] | Mapping[bytes, bytes]", plan: Plan, given: "Collection[str]"
) -> dict[bytes, bytes]:
    """Give the variables that go into the box; those of the command before, if they are the same."""
    global _last  # noqa: PLW0603 - what was given is not changed by anyone
    if given:
        return scrub(env, plan.profile, backend=plan.backend, given=given)
    if _last is None or _last[1] is not plan or _last[0] != env:
        _last = env, plan, scrub(env, plan.profile, backend=plan.backend)
    return _last[2]


def planned(sandbox: "Profile | Plan", ours: "Ours") -> Plan:
    """Return the plan of a profile, made now; or a plan that was made before, if it still holds.

    This is the only place where boxes are planned, and `ours` says what every
    one of them protects and hides. To make a plan takes as long as to look at
    every entry of the roots. A root that has become another folder is
    refused, in this process for ever.
    """
    if isinstance(sandbox, Plan):
        plan = sandbox
        if changed_protections(plan) or unmasked(plan):
            plan = _make(plan.profile, plan.own, plan.state)
    elif isinstance(sandbox, Profile):
        _make_folders(sandbox, ours.folders)
        plan = _make(sandbox, ours.files, ours.folders)
    else:
        raise InvalidArgument(f"sandbox must be a Profile; got {sandbox!r}")
    for asked in plan.profile.roots:
        found = identity(asked, follow=True)
        if found is None or _roots.setdefault(asked, found) != found:
            raise PlanFailed(
                f"the root {asked!r} is no longer the folder that it was; nothing was run. If that is as it "
                "should be, start this program anew"
            )
    if changed := changed_roots(plan):
        raise PlanFailed(f"{changed[0]}; nothing was run")
    return plan


def _make(profile: Profile, own: "Sequence[str]", state: "Sequence[str]") -> Plan:
    """Return a plan made now; again if something has changed meanwhile, as other commands may do."""
    for _ in range(_TRIES - 1):
        try:
            return make_plan(profile, home=_home(), own=own, state=state)
        except (PlanFailed, FileNotFoundError):
            continue
    return make_plan(profile, home=_home(), own=own, state=state)


def remembered(profile: Profile) -> dict[str, tuple[int, int]]:
    """Give who the roots of a profile were when this process first used them, in a form that can be sent."""
    return {asked: _roots[asked] for asked in profile.roots if asked in _roots}


def remember(roots: "Mapping[str, tuple[int, int]]") -> None:
    """Refuse roots that have become others since another process of ours first used them."""
    _roots.update(roots)


def _make_folders(profile: Profile, folders: "Sequence[str]") -> None:
    """Make folders of ours that would lie in a root: what is there can be hidden."""
    roots = [os.path.realpath(root) for root in (*profile.roots, *(("/tmp",) * (profile.tmp == "shared")))]
    for folder in folders:
        if not os.path.lexists(folder) and any(inside(os.path.realpath(folder), root) for root in roots):
            try:
                make_folder(folder)
            except OSError:
                continue  # the plan says why not


def _home() -> str:
    return os.path.expanduser("~")


def box(plan: Plan) -> Box:
    """Give the order to be a box for a plan; the same one for a plan that is kept."""
    known, order = _orders.get(id(plan), (None, None))
    if known is not plan or order is None:
        order = _order(plan)
        if len(_orders) >= _MOST_ORDERS:
            _orders.clear()
        _orders[id(plan)] = plan, order
    return order


def _order(plan: Plan) -> Box:
    import hashlib
    from marshal import dumps

    profile = plan.profile
    limits = profile.limits
    hosts = () if isinstance(profile.net, str) else profile.net
    if hosts:
        from agent_exec.sandbox.proxy.rules import Rules

        Rules(hosts)  # refused now, rather than when somebody waits for an answer
    chosen = backend(plan.backend)
    spec: dict[str, object] = {
        "roots": [(os.fsencode(root.path), root.device, root.inode) for root in plan.roots or plan.visible],
        "writable": profile.name == "workspace-write",
        "protected": [
            (os.fsencode(path), *known) for path, known in zip(plan.protected, plan.identities, strict=True)
        ],
        "masks": [
            os.fsencode(path)
            for path in uncovered(plan.masks, plan.view, [root.path for root in plan.roots or plan.visible])
        ],
        "view": [(kind, os.fsencode(path), os.fsencode(extra)) for kind, path, extra in plan.view],
        "own": [os.fsencode(os.path.realpath(path)) for path in plan.own],
        "tmp_mb": profile.tmp_mb if profile.tmp == "private" else 0,
        "net": profile.net == "on",
        "listen": bool(hosts),
        "procs": limits.procs,
        "cpu": limits.cpu,
        "memory": None if limits.memory_mb is None else limits.memory_mb << 20,
        "file": None if limits.file_mb is None else limits.file_mb << 20,
        "open_files": limits.open_files,
        "reuse": profile.reuse,
    }
    digest = hashlib.sha256(dumps((chosen.name, hosts, sorted(spec.items())))).hexdigest()
    return Box(
        digest,
        chosen.entry,
        spec,
        STEPS,
        _way_out(hosts, _tokens.setdefault(digest, os.urandom(16).hex())) if hosts else None,
        own_pids=chosen.own_pids,
        reuse=profile.reuse,
    )


def _way_out(hosts: "Sequence[str]", token: str) -> "Callable[[int], Server]":
    """Give who serves the listener of a box: a proxy to these hosts and no others."""

    def serve(fd: int) -> "Server":
        from agent_exec.sandbox.proxy import server

        try:
            return server.serve(fd, hosts, token)
        except RuntimeError as error:  # no thread can be had
            raise OSError(EAGAIN, str(error)) from error

    return serve
