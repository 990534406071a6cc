"""What stays as it is below the roots, wherever it was found: names, repositories, and our own files."""

import os

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.gitdirs import Places, guard, locate
from agent_exec.sandbox.paths import below, inside, outermost, settle
from agent_exec.sandbox.survey import Survey, survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.sandbox.profile import Profile

MOST_PROTECTED = 5000
"""How many paths a plan may protect: a box that mounts each would take too long to start."""


def find_protections(
    profile: "Profile",
    folders: "Sequence[str]",
    *,
    named: "Sequence[str]",
    home: str,
    own: "Sequence[str]",
    bound: int,
) -> tuple[tuple[str, ...], set[str], tuple[str, ...], tuple[str, ...]]:
    """Give what is protected below the folders, what is missing, what cannot be enforced, and every `.git`.

    What is missing is to be looked for later.
    `named` are the folders that were asked for, also those that lie in others:
    each has its own protected names.
    """
    commit = profile.git == "commit"
    protected: list[str] = []
    missing: set[str] = set()
    unenforced: list[str] = []
    repositories: list[Places] = []
    gits: list[str] = []
    for folder in folders:
        found = survey(folder, bound=bound, into_git=commit)
        if folder in found.shut:
            raise InvalidArgument(
                f"the root {folder!r} cannot be looked into; make it readable (chmod u+rx)",
                path=folder,
            )
        protected.extend(found.shut)  # a command could open them again, and there may be a .git in them
        unenforced.extend(_unseen(found, folder))
        gits.extend(found.gits)
        repositories.extend(place for git in found.gits if (place := locate(git, folders)))
    for folder in named:
        if not os.path.lexists(os.path.join(folder, ".git")):
            missing.add(os.path.join(folder, ".git"))
        for name in (*profile.protect, *profile.protect_also):
            path, there = settle(os.path.join(folder, name), folders, "protect")
            if any(inside(root, path) for root in folders):
                raise InvalidArgument(
                    f"{path!r} is to be protected and is or holds a root; take one of them away", path=path
                )
            if below(path, folders):  # outside, nothing is writable
                (protected.append if there else missing.add)(path)
    if profile.missing == "allow":
        missing.clear()
    used = [place.folder for place in repositories if place.folder and place.folder != place.dotgit]
    for place in repositories:
        guarded = guard(place, folders, commit=commit, home=home, used=used)
        protected.extend(guarded.protected)
        unenforced.extend(guarded.unenforced)
        if commit or profile.missing == "report":
            missing.update(guarded.missing)
    for path in own:
        real, there = settle(os.path.abspath(path), folders, "agent-exec's own files")
        if real in folders:
            raise InvalidArgument(f"{real!r} cannot be a root: agent-exec itself runs from it", path=real)
        if below(real, folders):
            (protected.append if there else missing.add)(real)
    if commit and repositories:
        unenforced.append(
            "git commit: the index and refs may be written, so a repository that is put below another"
            " can be obeyed from the outer one"
        )
    kept = outermost(protected)
    if len(kept) > MOST_PROTECTED:
        raise InvalidArgument(
            f"{len(kept)} paths below the roots are to be protected, and {MOST_PROTECTED} can be"
        )
    return kept, missing, tuple(dict.fromkeys(unenforced)), tuple(gits)


def _unseen(found: Survey, root: str) -> list[str]:
    said = []
    if found.unscanned_count:
        names = ", ".join(map(repr, found.unscanned))
        said.append(
            f"{found.unscanned_count} folders below {root!r} were not looked into after {found.entries}"
            f" entries: a .git in them is not protected ({names}, ...)"
        )
    if found.linked_count:
        names = ", ".join(map(repr, found.linked))
        said.append(
            f"{found.linked_count} files below {root!r} have further names, perhaps outside:"
            f" what is written to them is written there too ({names}, ...)"
        )
    return said
