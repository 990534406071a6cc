"""Who can carry out a plan: the backends, strongest first, and what each of them does not enforce."""

import os
import sys

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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
    gaps: "Callable[[Plan], tuple[str, ...]]"
    refuses: "Callable[[Plan], str]"
    own_pids: bool = True


def _no_gaps(_plan: "Plan") -> tuple[str, ...]:
    return ()


def _nothing(_plan: "Plan") -> str:
    return ""


_COUNTED = "inotify instances, terminals: what one command takes is missing for others of the same user"


def _bwrap_gaps(plan: "Plan") -> tuple[str, ...]:
    gaps = [_COUNTED, "memory: the box is not the first to be ended when the machine runs out of it"]
    if plan.profile.tmp == "private":
        gaps.append("tmp_mb: the number of files in the private /tmp is not limited, only their size")
        gaps.append("tmp_mb: /tmp and /var/tmp are limited one by one, not together")
    return tuple(gaps)


def _bwrap_refuses(plan: "Plan") -> str:
    from agent_exec.model.paths import inside
    from agent_exec.sandbox.linux.bwrap import PLACES

    if getattr(os, "geteuid", lambda: 0)() == 0:
        return "behind it, root could change the machine's devices and start any number of processes"
    found = [os.path.realpath(place) for place in PLACES if os.path.exists(place)]
    if not found:
        return f"it is not installed (looked for {', '.join(PLACES)})"
    if any(inside(found[0], root.path) for root in plan.roots):
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


def _landlock_refuses(plan: "Plan") -> str:
    if not isinstance(plan.profile.net, str):
        return "a list of hosts needs a network of the box's own"
    if 0 < _landlock() < _TRUNCATES:
        return "this kernel's Landlock is too old: what may not be written to could be truncated"
    return ""


def _landlock() -> int:
    """Return the version of the kernel's Landlock, 0 if there is none or nobody knows."""
    from agent_exec.sandbox.linux.landlock import abi

    try:
        return abi()
    except OSError:
        return 0


def _seatbelt_gaps(plan: "Plan") -> tuple[str, ...]:
    from agent_exec.sandbox.seatbelt import unenforced

    return unenforced(plan)


def _seatbelt_refuses(plan: "Plan") -> str:
    if not isinstance(plan.profile.net, str):
        return "a list of hosts needs a network of the box's own"
    return ""


NS = Backend("ns", "full", "agent_exec.sandbox.linux.namespaces", _no_gaps, _nothing)
BWRAP = Backend("bwrap", "full", "agent_exec.sandbox.linux.bwrap", _bwrap_gaps, _bwrap_refuses)
LANDLOCK = Backend(
    "landlock",
    "degraded",
    "agent_exec.sandbox.linux.landlock_only",
    _landlock_gaps,
    _landlock_refuses,
    own_pids=False,
)
SEATBELT = Backend("seatbelt", "degraded", "", _seatbelt_gaps, _seatbelt_refuses, own_pids=False)

ALL = (NS, BWRAP, LANDLOCK, SEATBELT)
_OF = {"linux": (NS, BWRAP, LANDLOCK), "darwin": (SEATBELT,)}


def backends(platform: str = sys.platform) -> tuple[Backend, ...]:
    """Return those of a system, strongest first."""
    return _OF.get(platform, ())


def backend(name: str) -> Backend:
    """Return the one of this name."""
    return next(one for one in ALL if one.name == name)
