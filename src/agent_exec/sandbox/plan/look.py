"""Looks at paths as the kernel would go, each place once, and remembers what would show a change."""

import os
import stat

from agent_exec.model.paths import below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Stamp = tuple[int, int, int]

_LINKS = 40
_NOTHING = (0, 0, 0)


class Look:
    """What was seen of the file system during one plan.

    `stamps` are the folders in which names were looked up, and files whose
    content counts, with who they are and their time of change: while those
    are the same, another look would find the same.
    """

    __slots__ = ("_facts", "_plain", "stamps")

    def __init__(self) -> None:
        self._facts: dict[str, os.stat_result | None] = {}
        self._plain: set[str] = set()  # folders without links on the way
        self.stamps: dict[str, Stamp] = {}

    def facts(self, path: str) -> "os.stat_result | None":
        """Return what is at a path, links not followed; None if nothing is, or nobody can tell."""
        if path not in self._facts:
            try:
                self._facts[path] = os.lstat(path)
            except (OSError, ValueError):
                self._facts[path] = None
        return self._facts[path]

    def stamp(self, path: str) -> int:
        """Remember a place as it is now; return its time of change."""
        found = self.stamps[path] = _stamp(self.facts(path))
        return found[2]

    def walk(self, path: str) -> "Iterator[tuple[str, str, os.stat_result | None]]":
        """Yield each place on the way of an absolute path: itself, the target if it is a link, its facts.

        The last one is where the path really leads, which may be nothing.
        """
        here, rest, links = "", path.split("/")[::-1], 0
        while rest:
            part = rest.pop()
            if part in {"", "."}:
                continue
            if part == "..":
                here = here.rpartition("/")[0]
                continue
            if here not in self.stamps:
                self.stamp(here or "/")
            here = f"{here}/{part}"
            found = self.facts(here)
            if found is None:
                yield "/".join((here, *(name for name in rest[::-1] if name))), "", None
                return
            if not stat.S_ISLNK(found.st_mode):
                yield here, "", found
                continue
            links += 1
            try:
                target = os.readlink(here)
            except OSError:
                target = ""
            if links > _LINKS or not target:
                yield here, "", None
                return
            yield here, target, found
            here = "" if target.startswith("/") else here.rpartition("/")[0]
            rest.extend(target.split("/")[::-1])
        if not here:
            yield "/", "", self.facts("/")

    def lead(self, path: str) -> "tuple[str, os.stat_result | None]":
        """Return where an absolute path really leads, and what is there."""
        above = path.rpartition("/")[0]
        if above in self._plain and not path.endswith(("/", "/.", "/..")):
            found = self.facts(path)
            if found is None or not stat.S_ISLNK(found.st_mode):
                return path, found
        real, found = "/", self.facts("/")
        for real, _, found in self.walk(path):  # noqa: B007 - the last one counts
            pass
        if found is not None and real == path and stat.S_ISDIR(found.st_mode):
            self._plain.add(path)
        elif below(real, (above,)) and self.facts(above) is not None and self.lead(above)[0] == above:
            self._plain.add(above)
        return real, found


def unchanged(stamps: "dict[str, Stamp]") -> bool:
    """True if every place is as it was when it was looked at."""
    lstat = os.lstat
    for path, known in stamps.items():
        try:
            found = lstat(path)
        except OSError:
            if known != _NOTHING:
                return False
            continue
        if (found.st_dev, found.st_ino, found.st_ctime_ns) != known:
            return False
    return True


def _stamp(found: "os.stat_result | None") -> "Stamp":
    return _NOTHING if found is None else (found.st_dev, found.st_ino, found.st_ctime_ns)
