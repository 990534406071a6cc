"""What carries out a plan: the backends, strongest first, their gaps, and the order that makes a box."""

import os
import sys
from errno import EAGAIN

from agent_exec.model.box_spec import Box
from agent_exec.model.digest import sha256
from agent_exec.model.paths import inside
from agent_exec.model.value import Value
from agent_exec.sandbox.setup_steps import STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.model.box_spec import Server
    from agent_exec.sandbox.plan.plan import Plan

_SHOWN = 10
_TRUNCATES, _SCOPES = 3, 6
"""Versions of Landlock: from when on it knows of truncation, and of signals."""


class Backend(Value):
    """One way to confine; `entry` is the module that makes a box, "" where there are none.

    `gaps` says in words what of a plan it does not enforce; `refuses` why it
    cannot carry out a plan at all, "" if it can.
    """

    name: str
    strength: str
    entry: str
    gaps: "Callable[[Plan], tuple[str, ...]]" = lambda _plan: ()
    refuses: "Callable[[Plan], str]" = lambda _plan: ""
    own_pids: bool = True


_COUNTED = "inotify instances, terminals: what one command takes is missing for others of the same user"


def _bwrap_gaps(plan: "Plan") -> tuple[str, ...]:
    gaps = [_COUNTED, "memory: the box is not the first to be ended when the machine runs out of it"]
    if plan.profile.tmp == "private":
        gaps.append("tmp_mb: the number of files in the private /tmp is not limited, only their size")
        gaps.append("tmp_mb: /tmp and /var/tmp are limited one by one, not together")
    if plan.profile.loopback and plan.profile.net != "on":
        gaps.append("loopback: each box has a network of its own; start a server and use it in one command")
    return tuple(gaps)


def _bwrap_refuses(plan: "Plan") -> str:
    from agent_exec.sandbox.linux.bwrap import PLACES

    if getattr(os, "geteuid", lambda: 0)() == 0:
        return "behind it, root could change the machine's devices and start any number of processes"
    found = [os.path.realpath(place) for place in PLACES if os.path.exists(place)]
    if not found:
        return f"it is not installed (looked for {', '.join(PLACES)})"
    if inside(found[0], *(root.path for root in plan.roots)):
        return "it lies in a root, where commands could change it"
    return ""


def _landlock_gaps(plan: "Plan") -> tuple[str, ...]:
    profile = plan.profile
    gaps = [f"protect: what is protected inside of a root can be changed{_such_as(plan.protected)}"]
    if profile.secrets == "allow-list":
        gaps.append("secrets: home folders are not hidden, and all in them can be read")
    if profile.deny_read:
        gaps.append(f"deny_read: nothing is hidden{_such_as(plan.masks)}")
    if profile.tmp == "private":
        gaps.append("tmp: there is no private /tmp; the machine's is used, and none in a read-only profile")
    if profile.limits.procs is not None:
        gaps.append("limits.procs: the number of processes is not limited")
    gaps.append("modes, owners, times and attributes of files outside of the roots can be changed")
    gaps.append("other processes can be seen, and those of the same user slowed down")
    gaps.append("terminals and System V objects of the same user can be used")
    gaps.append(_COUNTED)
    if _landlock() < _SCOPES:
        gaps.append("processes of the same user can be signalled, and so a command may outlive its end")
    if profile.net == "off":
        gaps.append("a loopback of its own: programs cannot even reach themselves over the network")
    return tuple(gaps)


def _such_as(paths: tuple[str, ...]) -> str:
    return f" ({', '.join(paths[:_SHOWN])}{' …' if len(paths) > _SHOWN else ''})" if paths else ""


def _no_hosts(plan: "Plan") -> str:
    return "" if isinstance(plan.profile.net, str) else "a list of hosts needs a network of the box's own"


def _landlock_refuses(plan: "Plan") -> str:
    if reason := _no_hosts(plan):
        return reason
    if 0 < _landlock() < _TRUNCATES:
        return "this kernel's Landlock is too old: what may not be written to could be truncated"
    return ""


def _landlock() -> int:
    """Return the version of the kernel's Landlock, 0 if there is none or it cannot be asked."""
    from agent_exec.sandbox.linux.landlock import abi

    try:
        return abi()
    except OSError:
        return 0


def _seatbelt_gaps(plan: "Plan") -> tuple[str, ...]:
    from agent_exec.sandbox.seatbelt import unenforced

    return unenforced(plan)


NS = Backend("ns", "full", "agent_exec.sandbox.linux.namespaces")
BWRAP = Backend("bwrap", "full", "agent_exec.sandbox.linux.bwrap", _bwrap_gaps, _bwrap_refuses)
LANDLOCK = Backend(
    "landlock",
    "degraded",
    "agent_exec.sandbox.linux.landlock_only",
    _landlock_gaps,
    _landlock_refuses,
    own_pids=False,
)
SEATBELT = Backend("seatbelt", "degraded", "", _seatbelt_gaps, _no_hosts, own_pids=False)

ALL = (NS, BWRAP, LANDLOCK, SEATBELT)
_OF = {"linux": (NS, BWRAP, LANDLOCK), "darwin": (SEATBELT,)}


def backends(platform: str = sys.platform) -> tuple[Backend, ...]:
    """Return those of a system, strongest first."""
    return _OF.get(platform, ())


def backend(name: str) -> Backend:
    """Return the one of this name."""
    return next(one for one in ALL if one.name == name)


def new_order(plan: "Plan", tokens: "dict[str, str]") -> Box:
    """Return the order to be a box for a plan; `tokens` open the proxies, by the digests of boxes."""
    from marshal import dumps

    profile = plan.profile
    limits = profile.limits
    hosts = () if isinstance(profile.net, str) else profile.net
    chosen = backend(plan.backend)
    held = {path for path, _ in plan.held}
    spec: dict[str, object] = {
        "roots": [(os.fsencode(root.path), root.device, root.inode) for root in plan.roots or plan.visible],
        "writable": profile.name == "workspace-write",
        "protected": [
            (os.fsencode(path), *known) for path, known in zip(plan.protected, plan.identities, strict=True)
        ],
        "masks": [os.fsencode(path) for path in plan.masks if path in held],
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
        "loopback": plan.loopback,
    }
    # A box that was made before something hidden was replaced shows it, and must not serve this plan.
    digest = sha256(dumps((chosen.name, hosts, plan.held, sorted(spec.items())))).hexdigest()
    return Box(
        digest,
        chosen.entry,
        spec,
        STEPS,
        _way_out(hosts, tokens.setdefault(digest, os.urandom(16).hex())) if hosts else None,
        own_pids=chosen.own_pids,
        reuse=profile.reuse,
        loopback=plan.loopback or "",
    )


def _way_out(hosts: "Sequence[str]", token: str) -> "Callable[[int], Server]":
    """Return what serves the listener of a box: a proxy to these hosts and no others."""

    def serve(fd: int) -> "Server":
        from agent_exec.sandbox.proxy import server

        try:
            return server.serve(fd, hosts, token)
        except RuntimeError as error:  # no thread can be had
            raise OSError(EAGAIN, str(error)) from error

    return serve
