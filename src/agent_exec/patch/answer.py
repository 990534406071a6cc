"""A patch applied, and told as models expect it."""

from agent_exec.model.value import Value
from agent_exec.patch.apply import plan as place
from agent_exec.patch.errors import MalformedPatch, PatchRejected, UnfitPatch
from agent_exec.patch.grammar import parse
from agent_exec.patch.journal import recover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.patch.apply import Changes
    from agent_exec.sandbox.plan.plan import Plan

NOTHING = "No files were modified.\n"


class Applied(Value):
    """What a patch has done: paths as the patch has them, and the same as text."""

    added: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]
    text: str


def apply_patch(
    text: str, *, cwd: str, inside: "Sequence[str] | None" = None, protected: "Sequence[str]" = ()
) -> Applied:
    """Apply a patch to the files below `cwd`, all of it or nothing; raise a PatchError if it cannot be.

    With `inside`, only files in these folders may be touched; never those in `protected`, or in any `.git`.
    """
    changes = verify(text, cwd=cwd, inside=inside, protected=protected)
    return told(changes, changes.commit())


def verify(
    text: str, *, cwd: str, inside: "Sequence[str] | None" = None, protected: "Sequence[str]" = ()
) -> "Changes":
    """Return what a patch would do; nothing of it is written before `commit` is called on it.

    What a patch has left whose process was killed is undone first.
    """
    recover()
    try:
        return place(parse(text), cwd, inside=inside, protected=protected)
    except (MalformedPatch, UnfitPatch) as error:
        raise type(error)(f"apply_patch verification failed: {error.message}", **error.details) from None


def verify_confined(text: str, *, cwd: str, plan: "Plan") -> "Changes":
    """Return what a patch would do where commands of a plan may write; raise PatchRejected elsewhere.

    Nothing that a command would have taken away is made either.
    """
    from agent_exec.sandbox.plan.protections import would_be_obeyed

    roots = [root.path for root in plan.roots]
    kept = (*plan.protected, *plan.missing, *plan.masks, *plan.absent)
    changes = verify(text, cwd=cwd, inside=roots, protected=kept)
    if found := would_be_obeyed(plan.profile, [write.path for write in changes.writes], roots):
        raise PatchRejected(
            f"patch rejected: {found} would be obeyed by programs on this machine, and is protected; a person"
            " can let a name stay: --unprotect NAME, or `unprotect` in the profile",
            path=found,
        )
    return changes


def told(changes: "Changes", left: "Sequence[str]" = ()) -> Applied:
    """Return changes that were made as an answer; `left` are the names that `commit` could not take away."""
    kinds = (("A", changes.added), ("M", changes.modified), ("D", changes.deleted))
    lines = [f"{kind} {path}\n" for kind, paths in kinds for path in paths]
    text = "Success. Updated the following files:\n" + "".join(lines) if lines else NOTHING
    text += "".join(f"Could not remove {name}, an old file; remove it by hand.\n" for name in left)
    return Applied(changes.added, changes.modified, changes.deleted, text)
