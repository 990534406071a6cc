"""Why a path can or cannot be read and written in a box, and what in the profile would change that."""

import os

from agent_exec.model.paths import inside
from agent_exec.sandbox.plan.paths import Look
from agent_exec.sandbox.report.report import forbids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sandbox.plan.plan import Plan

    Access = dict[str, bool | str | None]

_TEMPORARY = ("/tmp", "/var/tmp")
_PRIVATE = ("/dev", "/proc")


def explain(plan: "Plan", path: str, home: str) -> dict[str, object]:
    """Return whether an absolute path can be read and written in a box of the plan, and by which rule.

    `remedy` is what in the profile, or on the command line, would allow it.
    """
    if plan.profile.name == "full-access":
        all_of_it = _access(allowed=True, rule="full-access confines nothing")
        return {"path": path, "real_path": os.path.realpath(path), "read": all_of_it, "write": all_of_it}
    *ways, (real, _, _) = Look().walk(path)
    read = _read(plan, real, home)
    for place in [place for place, target, _ in ways if target]:
        if not (seen := _read(plan, place, home))["allowed"]:
            real, read = place, seen  # as far as a command can follow it
            break
    if read["allowed"] and os.path.lexists(real) and not os.access(real, os.R_OK):
        read = _access(allowed=False, rule="the system itself does not let this user read it")
    return {"path": path, "real_path": real, "read": read, "write": _write(plan, real, read)}


def _access(*, allowed: bool, rule: str, remedy: str | None = None) -> "Access":
    return {"allowed": allowed, "rule": rule, "remedy": remedy}


def hidden_by(plan: "Plan", path: str, home: str) -> "Access | None":
    """Return the rule that hides a place from a box, and its remedy; None if it is not hidden."""
    if plan.backend == "landlock":
        return None
    seen = _masked(plan, path, home)
    if seen is None and not inside(path, *(root.path for root in (*plan.roots, *plan.visible))):
        seen = _in_view(plan, path, home)
    return seen if seen is not None and not seen["allowed"] else None


def _masked(plan: "Plan", path: str, home: str) -> "Access | None":
    mask = next((mask for mask in (*plan.masks, *plan.absent) if inside(path, mask)), None)
    if mask is not None and mask in map(os.path.realpath, plan.state):
        return _access(allowed=False, rule=f"{mask} holds agent-exec's own files")
    if mask is not None:
        spelled = _spelled(mask, home)
        return _access(
            allowed=False,
            rule=f"deny_read hides {spelled}",
            remedy=f"leave {spelled} out of `deny_read` in the profile{_and_show(plan, mask, home)}",
        )
    return None


def _read(plan: "Plan", path: str, home: str) -> "Access":
    """Return whether a place, which no link leads away from, is seen."""
    if plan.backend == "landlock":
        return _access(allowed=True, rule="the backend landlock hides nothing")
    if (masked := _masked(plan, path, home)) is not None:
        return masked
    root = next((root.path for root in (*plan.roots, *plan.visible) if inside(path, root.path)), None)
    if root is not None:
        return _access(allowed=True, rule=f"it lies in the root {root}")
    seen = _in_view(plan, path, home)
    if seen is not None:
        return seen
    if plan.profile.tmp == "private" and (base := _base(path, _TEMPORARY)):
        remedy = None if path == base else f'`"tmp": "shared"` in the profile, or --root {path}'
        return _access(allowed=path == base, rule=f"the box has a {base} of its own", remedy=remedy)
    if base := _base(path, _PRIVATE):
        return _access(allowed=True, rule=f"the box has a {base} of its own")
    return _access(allowed=True, rule="outside of home folders all that is no secret can be read")


def _in_view(plan: "Plan", path: str, home: str) -> "Access | None":
    """Return what the view says of a path; None if it says nothing."""
    entries = {place: kind for kind, place, _ in plan.view}
    place = path
    while place and place not in entries:
        place = place.rpartition("/")[0]
    kind = entries.get(place, "")
    if kind == "text":
        return _access(allowed=True, rule="a copy without the lines that look like secrets is shown")
    if kind in {"show", "open", "link"}:
        listed = place in {_full(written, home) for written in plan.profile.show}
        return _access(allowed=True, rule=f"{_spelled(place, home)} is {'in `show`' if listed else 'shown'}")
    if kind == "hide":
        return _access(allowed=False, rule=f"{_spelled(place, home)} may hold what deny_read hides")
    if kind != "cover":
        return None
    if any(other != path and inside(other, path) for other in entries):
        return _access(allowed=True, rule="a folder of the box's own, with what is shown below it")
    return _access(
        allowed=False,
        rule=f"of {place} only roots, toolchains and what the profile shows can be seen",
        remedy=f'`"show": ["{_spelled(path, home)}"]` in the profile, or --root to write there too',
    )


def _and_show(plan: "Plan", path: str, home: str) -> str:
    covered = any(kind == "cover" and inside(path, place) for kind, place, _ in plan.view)
    return f', and add `"show": ["{_spelled(path, home)}"]`' if covered else ""


def _write(plan: "Plan", path: str, read: "Access") -> "Access":
    if not read["allowed"]:
        return _access(allowed=False, rule="it cannot be seen", remedy=None)
    rule = forbids(plan, path)
    if not rule:
        return _access(allowed=True, rule="it lies in a root, or in a folder of the box's own")
    protected = inside(path, *plan.protected)
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    return _access(allowed=False, rule=rule, remedy=None if protected else f"--root {folder}")


def _spelled(path: str, home: str) -> str:
    """Return a path as people write it in a profile."""
    return f"~{path[len(home) :]}" if path != home and inside(path, home) else path


def _full(written: str, home: str) -> str:
    return os.path.realpath(os.path.join(home, written[2:]) if written.startswith("~/") else written)


def _base(path: str, folders: tuple[str, ...]) -> str:
    return next((folder for folder in folders if inside(path, folder)), "")
