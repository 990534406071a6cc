"""Whether what is protected is still as it was, since no confinement is its own witness; and its removal."""

import os
import stat

from agent_exec.model.digest import sha256
from agent_exec.model.paths import inside
from agent_exec.model.value import Value
from agent_exec.sandbox.closing import Closing
from agent_exec.sandbox.plan.gitdirs import inner, parts
from agent_exec.sandbox.plan.paths import FOLDER, identity
from agent_exec.sandbox.plan.protections import wanted
from agent_exec.sandbox.plan.survey import BOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agent_exec.sandbox.plan.plan import Plan
    from agent_exec.sandbox.plan.survey import Survey, Surveyor

    Surveys = dict[tuple[str, bool], Survey]
    """What was found below roots, with what lies in each `.git` or without it."""

MOST_ENTRIES = 1000
"""How many entries of one protected folder are looked at."""

_MARK = ".blocked-"
"""What follows the name of something that was taken away."""


class Snapshot(Value):
    """How protected paths looked at one moment.

    `digests` are by path, "" for what was not there; `present` are paths that
    the plan has looked for and that existed already; `gits` is every `.git` below
    the roots, `obeyed` everything else there that programs obey, `inner` each
    repository inside of one that commands may write to. `partial` are folders
    too large to be looked at whole.
    """

    digests: tuple[tuple[str, str], ...]
    present: tuple[str, ...]
    partial: tuple[str, ...]
    gits: tuple[str, ...]
    obeyed: tuple[str, ...]
    inner: tuple[str, ...]


class Change(Value):
    """What became of a protected path: "appeared", "changed" or "removed".

    `moved_to` is where it is now, if it was taken away; `why` says what made
    it dangerous, or why it could not be taken away.
    """

    path: str
    what: str
    moved_to: str = ""
    why: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the fields that say something, by name."""
        return {name: value for name in ("path", "what", "moved_to", "why") if (value := getattr(self, name))}


def snapshot(
    plan: "Plan",
    surveyor: "Surveyor",
    *,
    bound: int = BOUND,
    fresh: bool = False,
    surveys: "Surveys | None" = None,
) -> Snapshot:
    """Look at everything that the plan protects, and for what may appear below its roots.

    Files are known by inode, mode, size and times, not by their bytes: a
    command cannot set back the time of a file's last change. A plan that is
    `fresh` was made just now: what lies below its roots is known. `surveys`
    are kept there for others that look at the same moment.
    """
    digests: list[tuple[str, str]] = []
    partial: list[str] = []
    for path in plan.protected:
        for part in _watched(path):
            digest, whole = _digest(part)
            digests.append((part, digest))
            if not whole:
                partial.append(part)
    gits, obeyed = plan.gits, plan.obeyed
    commit = plan.profile.git == "commit"
    if not fresh:
        surveys = {} if surveys is None else surveys
        for root in plan.roots:
            if (root.path, commit) not in surveys:
                surveys[root.path, commit] = surveyor.survey(root.path, bound=bound, into_git=commit)
        found = [surveys[root.path, commit] for root in plan.roots]
        partial += [root.path for root, one in zip(plan.roots, found, strict=True) if one.unscanned_count]
        gits = tuple(git for one in found for git in one.gits)
        obeyed = tuple(path for one in found for path in wanted(plan.profile, one.obeyed))
    present = tuple(path for path in plan.sought if os.path.lexists(path))
    within = tuple(one for git in plan.gits for one in inner(git)) if commit else ()
    return Snapshot(tuple(digests), present, tuple(partial), gits, obeyed, within)


def compare(
    before: Snapshot,
    plan: "Plan",
    surveyor: "Surveyor",
    *,
    bound: int = BOUND,
    surveys: "Surveys | None" = None,
) -> tuple[Change, ...]:
    """Return what has changed since a snapshot of the same plan, in the order of the paths."""
    after = snapshot(plan, surveyor, bound=bound, surveys=surveys)
    if after == before and not plan.links:
        return ()
    found: dict[str, str] = {}
    old, new = dict(before.digests), dict(after.digests)
    for path in old | new:
        if path not in old and any(inside(known, path) for known in old):
            continue  # a repository's folder that no longer looks like one: its parts are told
        was = old.get(path, "")
        now = new[path] if path in new else _digest(path)[0]
        if was != now:
            found[path] = "removed" if not now else "changed" if was else "appeared"
    for path in {*before.present, *before.obeyed}.difference(after.present, after.obeyed):
        found[path] = "removed"
    whole = list(found)  # what is in others may be obeyed there, wherever they are renamed to
    for name in ("present", "gits", "obeyed", "inner"):
        known = set(getattr(before, name))
        for path in getattr(after, name):
            if path not in known and not inside(path, *whole):
                found[path] = "appeared"
                if name in {"gits", "inner"}:
                    whole.append(path)
    for path, target in plan.links:
        if not os.path.islink(path) or os.readlink(path) != target:
            found[path] = "changed" if os.path.lexists(path) else "removed"
    changes = [Change(path, found[path]) for path in sorted(found)]
    for path in {root.path for root in plan.roots}.intersection(after.partial).difference(
        before.partial, found
    ):
        said = f"folders below {path!r} were not looked into"  # when it was planned
        if not any(said in text for text in plan.unenforced):
            why = "not all of it was looked at: it has too many entries, or too deep ones"
            changes.insert(0, Change(path, "changed", "", why))
    return tuple(changes)


def _watched(path: str) -> "Iterator[str]":
    """Return what is looked at of a protected path; of a repository's folder, what decides what git runs.

    The rest of a repository is large, and other users of git change it all the time.
    """
    if os.path.isdir(path) and os.path.lexists(os.path.join(path, "HEAD")):
        yield from parts(path)
    else:
        yield path


def _digest(path: str) -> tuple[str, bool]:
    """Return a hash of what is at a path and below it, "" for nothing, and whether all was looked at."""
    hashed = sha256()
    count = 0
    waiting = [path]
    while waiting:
        here = waiting.pop()
        try:
            found = os.lstat(here)
        except OSError:
            if here == path:
                return "", True
            continue
        count += 1
        if count > MOST_ENTRIES:
            return hashed.hexdigest(), False
        kept = (found.st_dev, found.st_ino, found.st_mode, found.st_uid, found.st_gid)
        times = (found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        hashed.update(repr((os.fsencode(here), kept, times)).encode())
        if stat.S_ISDIR(found.st_mode):
            try:
                names = sorted(os.listdir(here), reverse=True)
            except OSError:
                continue
            waiting.extend(os.path.join(here, name) for name in names)
    return hashed.hexdigest(), True


def take_away(path: str, roots: "Iterable[str]") -> str:
    """Rename what is at a path below a root to a name that no program obeys, and return the new path.

    The folder is opened from the root on, and no link is followed: a command
    that still runs may swap folders meanwhile. Raise OSError if that fails.
    """
    fresh = f"{os.path.basename(path)}{_MARK}{os.urandom(3).hex()}"
    name = os.path.basename(path)
    with Closing(_open_above(path, roots)) as folder:
        _writing(folder, lambda: os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=folder))
    return os.path.join(os.path.dirname(path), fresh)


def was_taken_away(path: str, known: tuple[int, int] | None) -> bool:
    """True if what was at a path is beside it now, under the name that `take_away` gives."""
    folder, name = os.path.split(path)
    try:
        beside = [one for one in os.listdir(folder) if one.startswith(name + _MARK)]
    except OSError:
        return False
    return known is not None and any(identity(os.path.join(folder, one)) == known for one in beside)


def put_back(path: str, target: str, roots: "Iterable[str]") -> None:
    """Make a link again that a command has removed, or that was taken away; raise OSError if that fails."""
    with Closing(_open_above(path, roots)) as folder:
        _writing(folder, lambda: os.symlink(target, os.path.basename(path), dir_fd=folder))


def _writing(folder: int, act: "Callable[[], None]") -> None:
    """Do what changes a folder, also one that a command has made read-only."""
    try:
        act()
    except PermissionError:
        mode = stat.S_IMODE(os.fstat(folder).st_mode)
        if mode & stat.S_IWUSR:
            raise
        place = f"/proc/self/fd/{folder}"
        os.chmod(place, mode | stat.S_IWUSR)
        try:
            act()
        finally:
            os.chmod(place, mode)


def _open_above(path: str, roots: "Iterable[str]") -> int:
    """Return a descriptor of the folder that holds a path, opened below a root part by part."""
    above = os.path.dirname(path)
    root = next((root for root in roots if inside(above, root)), None)
    if root is None:
        raise OSError(0, "it lies below no root", path)
    here = os.open(root, FOLDER)
    for part in above[len(root) :].split("/"):
        if part:
            with Closing(here):
                here = os.open(part, FOLDER, dir_fd=here)
    return here
