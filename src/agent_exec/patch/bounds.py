"""Where files may be written for a caller: by a patch, and by any other request that names a path."""

import os

from agent_exec.model.paths import inside as lies_inside
from agent_exec.patch.journal import journals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.sandbox.plan.plan import Plan

_GITS = (".git", "git~1")
_UNSEEN = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
"""Characters that macOS does not see in a name."""


class Bounds:
    """Paths below `root` that may be written.

    Nothing that is written is a `.git` or lies in one, however deep, whether
    it is there already or not: git obeys what is in it. With `inside`, what
    is written must lie in one of these folders; it lies in none of
    `protected`, and is not a journal of ours, which says what is restored
    where. Names are compared without regard to case.
    """

    def __init__(self, root: str, inside: "Sequence[str] | None", protected: "Sequence[str]") -> None:
        self._inside = (
            None if inside is None else [os.path.realpath(os.path.join(root, path)) for path in inside]
        )
        kept = [os.path.join(root, path) for path in (*protected, *journals())]
        self._protected = [
            real(path).casefold() for path in kept for real in (os.path.normpath, os.path.realpath)
        ]

    def refusal(self, plain: str, real: str) -> str:
        """Return why a file may not be written, empty if it may; `real` is `plain` with links followed."""
        allowed = self._inside
        if allowed is not None and not any(lies_inside(real, root) for root in allowed):
            return f"it would be {real}, and only {', '.join(allowed) or 'nothing'} may be written"
        if any(lies_inside(real.casefold(), kept) for kept in self._protected):
            return "it is protected"
        if _in_repository(real) or _in_repository(plain):
            return "it is protected, as all of a .git is; let git change it"
        return ""


def confined(plan: "Plan") -> "tuple[list[str], tuple[str, ...]]":
    """Return the folders in which a plan lets files be written, and the paths in them that are protected."""
    return [root.path for root in plan.roots], (*plan.protected, *plan.missing, *plan.masks, *plan.absent)


def obeyed(plan: "Plan", written: "Sequence[str]") -> tuple[str, str]:
    """Return which path would be removed again after a command, if files were written, and why; or two "".

    `written` are real paths.
    """
    from agent_exec.sandbox.plan.protections import would_be_obeyed

    found = would_be_obeyed(plan.profile, written, [root.path for root in plan.roots])
    if not found:
        return "", ""
    return found, (
        f"{found} would be obeyed by programs on this machine, and is protected; a person"
        " can let a name stay: --unprotect NAME, or `unprotect` in the profile"
    )


def _in_repository(path: str) -> bool:
    """True if a name on a path is one by which some system knows a .git."""
    lowered = path.casefold()
    if ".git" not in lowered and "git~" not in lowered and path.isascii():
        return False
    names = lowered.translate(_UNSEEN).replace(os.sep, "/").split("/")
    return any(name.partition(":")[0].rstrip(". ") in _GITS for name in names)
