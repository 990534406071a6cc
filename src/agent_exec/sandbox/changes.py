"""Whether what is protected is still as it was: no confinement is its own witness."""

import os
import stat

from agent_exec.model.value import Value
from agent_exec.sandbox.gitdirs import parts
from agent_exec.sandbox.paths import inside
from agent_exec.sandbox.survey import BOUND, survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.sandbox.plan import Plan

MOST_ENTRIES = 1000
"""How many entries of one protected folder are looked at."""


class Snapshot(Value):
    """How protected paths looked at one moment.

    `digests` are by path, "" for what was not there; `present` are names that
    were missing in the plan and existed already; `gits` is every `.git` below
    the roots, or None if nobody asked. `partial` are folders too large to be
    looked at whole.
    """

    __slots__ = ("digests", "gits", "partial", "present")

    def __init__(
        self,
        digests: tuple[tuple[str, str], ...],
        present: tuple[str, ...],
        partial: tuple[str, ...],
        gits: tuple[str, ...] | None,
    ) -> None:
        self.digests = digests
        self.present = present
        self.partial = partial
        self.gits = gits


class Change(Value):
    """What became of a protected path: "appeared", "changed" or "removed"."""

    __slots__ = ("path", "what")

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        self.what = what

    def to_json(self) -> dict[str, str]:
        """Give the fields by name."""
        return {"path": self.path, "what": self.what}


def snapshot(plan: "Plan", *, scan: bool = False, bound: int = BOUND) -> Snapshot:
    """Look at everything that the plan protects; with `scan`, also for each `.git` below its roots.

    Files are known by inode, mode, size and times, not by their bytes: a
    command cannot set back the time of a file's last change.
    """
    digests: list[tuple[str, str]] = []
    partial: list[str] = []
    for path in plan.protected:
        for part in _watched(path):
            digest, whole = _digest(part)
            digests.append((part, digest))
            if not whole:
                partial.append(part)
    gits: tuple[str, ...] | None = None
    if scan:
        gits = tuple(git for root in plan.roots for git in survey(root.path, bound=bound).gits)
    present = tuple(path for path in plan.missing if os.path.lexists(path))
    return Snapshot(tuple(digests), present, tuple(partial), gits)


def compare(before: Snapshot, plan: "Plan", *, bound: int = BOUND) -> tuple[Change, ...]:
    """Give what has changed since a snapshot of the same plan, in the order of the paths.

    A `.git` that appeared anywhere is found if the snapshot was made with `scan`.
    """
    after = snapshot(plan, scan=before.gits is not None, bound=bound)
    found: dict[str, str] = {}
    old, new = dict(before.digests), dict(after.digests)
    for path in old | new:
        if path not in old and any(inside(known, path) for known in old):
            continue  # a repository's folder that no longer looks like one: its parts are told
        was = old.get(path, "")
        now = new[path] if path in new else _digest(path)[0]
        if was != now:
            found[path] = "removed" if not now else "changed" if was else "appeared"
    for path in after.present:
        if path not in before.present:
            found[path] = "appeared"
    for path in before.present:
        if path not in after.present:
            found[path] = "removed"
    for path in after.gits or ():
        if path not in (before.gits or ()) and not any(inside(path, one) for one in found):
            found[path] = "appeared"
    return tuple(Change(path, found[path]) for path in sorted(found))


def _watched(path: str) -> "Iterator[str]":
    """Give what is looked at of a protected path; of a repository's folder, what decides what git runs.

    The rest of a repository is large, and others who use git change it all the time.
    """
    if os.path.isdir(path) and os.path.lexists(os.path.join(path, "HEAD")):
        yield from parts(path)
    else:
        yield path


def _digest(path: str) -> tuple[str, bool]:
    """Give a hash of what is at a path and below it, "" for nothing, and whether all was looked at."""
    import hashlib

    hashed = hashlib.sha256()
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
