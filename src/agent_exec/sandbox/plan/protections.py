"""What stays as it is below the roots, wherever it was found: names, repositories, and our own files."""

import os

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import below, inside
from agent_exec.model.value import Value
from agent_exec.sandbox.plan.gitdirs import Places, guard, locate
from agent_exec.sandbox.plan.paths import outermost, settle
from agent_exec.sandbox.plan.survey import Survey, has_shape, packaged
from agent_exec.sandbox.profile import PROTECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_exec.sandbox.plan.survey import Surveyor
    from agent_exec.sandbox.profile import Profile

_NAMES = frozenset(PROTECTED)
_FOLDED = frozenset(name.casefold() for name in PROTECTED)

MOST_PROTECTED = 5000
"""How many paths a plan may protect: a box that mounts each would take too long to start."""


class Protections(Value):
    """What is `protected` below the roots, what is `missing` and looked for later, what is `unenforced`.

    Those of the missing paths that no survey of the roots finds are `sought`.
    `gits` is every `.git`, `obeyed` every name that programs obey and every
    repository under another name. `links` are such names that are links, with
    where they lead: no mount can hold a link, and so it is put back.
    """

    protected: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    sought: tuple[str, ...] = ()
    unenforced: tuple[str, ...] = ()
    gits: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


def find_protections(
    profile: "Profile",
    folders: "Sequence[str]",
    *,
    named: "Sequence[str]",
    home: str,
    own: "Sequence[str]",
    bound: int,
    surveyor: "Surveyor",
) -> Protections:
    """Return what is protected below the folders.

    `named` are the folders that were asked for, also those that lie in others:
    each has its own protected names.
    """
    commit = profile.git == "commit"
    protected: list[str] = []
    missing: set[str] = set()
    unenforced: list[str] = []
    repositories: list[Places] = []
    gits: list[str] = []
    obeyed: list[str] = []
    expected: set[str] = set()
    for folder in folders:
        found = surveyor.survey(folder, bound=bound, into_git=commit)
        if folder in found.shut:
            raise InvalidArgument(
                f"the root {folder!r} cannot be looked into; make it readable (chmod u+rx)",
                path=folder,
            )
        protected.extend(found.shut)  # a command could open them again, and there may be a .git in them
        unenforced.extend(_unseen(found, folder))
        gits.extend(found.gits)
        obeyed.extend(wanted(profile, found.obeyed))
        repositories.extend(place for git in found.gits if (place := locate(git, folders)))
    for folder in named:
        for path in _named(profile, folder, folders):
            (protected.append if os.path.lexists(path) else missing.add)(path)
        expected |= _expected(profile, folder)
    protected.extend(filter(is_name, obeyed))
    links = {path: os.readlink(path) for path in protected if os.path.islink(path)}
    protected = [path for path in protected if path not in links]
    protected.extend(real for real in map(os.path.realpath, links) if below(real, folders))
    if profile.missing == "allow":
        missing.clear()
    used = [place.folder for place in repositories if place.folder and place.folder != place.dotgit]
    disguised = [Places(path, path, path, path) for path in obeyed if not is_name(path)]
    for place in (*repositories, *disguised):
        guarded = guard(place, folders, commit=commit or place in disguised, home=home, used=used)
        protected.extend(guarded.protected)
        unenforced.extend(guarded.unenforced)
        if commit or profile.missing != "allow":
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
    if links:
        unenforced.append(f"links can be replaced while a command runs, and are put back: {_few(links)}")
    kept = outermost(protected)
    if len(kept) > MOST_PROTECTED:
        raise InvalidArgument(
            f"{len(kept)} paths below the roots are to be protected, and {MOST_PROTECTED} can be; remove the "
            f"folders that hold them, such as {os.path.dirname(kept[-1])!r}, or name a smaller root"
        )
    return Protections(
        kept,
        tuple(sorted(missing | (set() if profile.missing == "allow" else expected.difference(obeyed)))),
        tuple(sorted(missing)),
        tuple(dict.fromkeys(unenforced)),
        tuple(gits),
        tuple(obeyed),
        tuple(sorted(links.items())),
    )


def _named(profile: "Profile", folder: str, folders: "Sequence[str]") -> "Iterator[str]":
    """Return what a profile protects right below one folder and no survey finds, whether it exists or not."""
    yield from () if os.path.lexists(git := os.path.join(folder, ".git")) else (git,)
    surveyed = not packaged(f"{folder}/")
    for name in (*profile.protect, *profile.protect_also):
        if name in profile.unprotect or (surveyed and name in _NAMES):
            continue
        path = os.path.join(folder, name)
        if "/" in name or not os.path.islink(path):
            path = settle(path, folders, "protect")[0]
        if any(inside(root, path) for root in folders):
            raise InvalidArgument(
                f"{path!r} is to be protected and is or holds a root; take one of them away", path=path
            )
        if below(path, folders):  # outside, nothing is writable
            yield path


def _expected(profile: "Profile", folder: str) -> "set[str]":
    """Return what a survey finds right below a folder of what a profile protects, if it exists."""
    names = _NAMES.intersection(profile.protect).difference(profile.unprotect)
    return set() if packaged(f"{folder}/") else {f"{folder}/{name}" for name in names}


def is_name(path: str) -> bool:
    """True if a path that was found to be obeyed is so by its name, and not by its shape."""
    return path[path.rfind("/") + 1 :].casefold() in _FOLDED


def wanted(profile: "Profile", obeyed: "Sequence[str]") -> "list[str]":
    """Return those of the obeyed paths that a profile protects."""
    if not obeyed:
        return []
    names = {name.casefold() for name in profile.protect if name not in profile.unprotect}
    return [path for path in obeyed if not is_name(path) or os.path.basename(path).casefold() in names]


def would_be_obeyed(profile: "Profile", paths: "Iterable[str]", roots: "Sequence[str]") -> str:
    """Return what programs would obey if files were made at these real paths below the roots, "" for nothing.

    That is a name that a profile protects, or a folder that would become a repository.
    """
    if profile.missing == "allow":
        return ""
    names = {name.casefold() for name in profile.protect if name not in profile.unprotect} & _FOLDED
    made: dict[str, set[str]] = {}
    for path in paths:
        here = path
        while below(here, roots):
            above, _, name = here.rpartition("/")
            if name.casefold() in names and not packaged(here):
                return here
            made.setdefault(above, set()).add(name.casefold())
            here = above
    for folder, new in made.items():
        there = {name.casefold() for name in os.listdir(folder)} if os.path.isdir(folder) else set()
        if has_shape(there | new) and not has_shape(there):
            return folder
    return ""


def _few(paths: "Iterable[str]") -> str:
    shown = [repr(path) for path in paths]
    return ", ".join(shown[:5]) + (", …" if len(shown) > 5 else "")


def _unseen(found: Survey, root: str) -> list[str]:
    said = []
    if found.unscanned_count:
        names = ", ".join(map(repr, found.unscanned))
        said.append(
            f"{found.unscanned_count} folders below {root!r} were not looked into after {found.entries}"
            f" entries: what is to be protected in them is not ({names}, ...)"
        )
    if found.linked_count:
        names = ", ".join(map(repr, found.linked))
        said.append(
            f"{found.linked_count} files below {root!r} have further names, perhaps outside:"
            f" what is written to them is written there too ({names}, ...)"
        )
    return said
