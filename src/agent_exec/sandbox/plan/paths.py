"""Where paths lead, as the kernel would go, and what a plan has seen on the way."""

import os
import stat

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import below
from agent_exec.sandbox.closing import Closing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    Stamp = tuple[int, int, int]
    """Device, inode, and when it was last changed."""

    Facts = os.stat_result | None
    Step = tuple[str, str, Facts]

_LINKS = 40
_NOTHING = (0, 0, 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0)
LISTED = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_DIRECTORY", 0)
FOLDER = LISTED | getattr(os, "O_PATH", 0)
"""How a folder is opened: to be listed, and for its place only; never through a link."""


def above_all(path: str) -> "Iterator[str]":
    """Return the folders above a path, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


def held(path: str, places: "Container[str]") -> bool:
    """True if a folder above a path is one of the places."""
    while path := path.rpartition("/")[0]:
        if path in places:
            return True
    return False


def outermost(paths: "Iterable[str]") -> tuple[str, ...]:
    """Return paths without those that lie in others of them, outer ones first."""
    kept: dict[str, None] = {}
    for path in sorted(set(paths), key=lambda path: (path.count("/"), path)):
        if not held(path, kept):
            kept[path] = None
    return tuple(kept)


def _walk(path: str, facts: "Callable[[str], Facts]") -> "Iterator[Step]":
    """Yield each place on the way of an absolute path: itself, the target if it is a link, its facts.

    The last one is where the path really leads, which may be nothing; a link
    without facts leads in circles.
    """
    here, rest, links = "", path.split("/")[::-1], 0
    last = None
    while rest:
        part = rest.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            here = here.rpartition("/")[0]
            continue
        here = f"{here}/{part}"
        found = facts(here)
        if found is None:
            yield "/".join((here, *(name for name in rest[::-1] if name))), "", None
            return
        if not stat.S_ISLNK(found.st_mode):
            yield here, "", found
            last = here
            continue
        links += 1
        try:
            target = os.readlink(here)
        except OSError:
            target = ""
        if links > _LINKS or not target:
            yield here, target, None
            return
        yield here, target, found
        here = "" if target.startswith("/") else here.rpartition("/")[0]
        rest.extend(target.split("/")[::-1])
    if here != last:  # the root of all, or what `..` leads to at the end
        yield here or "/", "", facts(here or "/")


def settle(path: str, roots: "Sequence[str]", field: str) -> tuple[str, bool]:
    """Return where an absolute path really leads, and whether anything is there.

    A link below a root is refused, and named: a command that may write to the
    root may change it at any time, and then something else would be protected.
    """

    def facts(place: str) -> "Facts":
        try:
            return os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if isinstance(error, PermissionError) and not below(place, roots):
                return None  # a process that may not go there finds nothing there either
            raise InvalidArgument(
                f"{field}: {place!r} cannot be looked at: {error.strerror}", path=place
            ) from None

    real, found = "/", None
    for real, target, found in _walk(path, facts):
        if target and below(real, roots):
            raise InvalidArgument(
                f"{field}: {path!r} cannot be protected, for {real!r} is a symbolic link inside a root,"
                " which could be pointed elsewhere; put the real file or folder in its place, or remove it",
                path=path,
                symlink=real,
            )
        if target and found is None:
            raise InvalidArgument(
                f"{field}: {path!r} goes in circles at the link {real!r}", path=path, symlink=real
            )
    return (os.path.normpath(real), False) if found is None else (real, True)


def identity(path: str, *, follow: bool = False) -> tuple[int, int] | None:
    """Return device and inode of what is at a path, or of where links lead from there; None if nothing is."""
    try:
        found = os.stat(path, follow_symlinks=follow)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def led(path: str) -> list[str]:
    """Return where links lead: the path, if it is one, or those in it, if it is a folder."""
    try:
        found = [path] if os.path.islink(path) else [os.path.join(path, name) for name in os.listdir(path)]
    except OSError:
        return []
    return [os.path.join(os.path.dirname(link), os.readlink(link)) for link in found if os.path.islink(link)]


def read_small(path: str, limit: int = 1 << 20) -> str:
    """Return the text of a regular file; raise OSError for anything else or larger than the limit."""
    with Closing(os.open(path, _FILE)) as fd:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            raise OSError(0, "no regular file, or too large", path)
        return os.fsdecode(os.read(fd, limit))


class Look:
    """What was seen of the file system during one plan.

    `stamps` are the folders in which names were looked up, and files whose
    content counts, with their identity and time of change: while those
    are the same, another look would find the same.
    """

    __slots__ = ("_facts", "_missing", "_plain", "stamps")

    def __init__(self) -> None:
        self._facts: dict[str, Facts] = {}
        self._plain: set[str] = set()  # folders without links on the way
        self._missing: set[str] = set()  # what is not there, without links on the way
        self.stamps: dict[str, Stamp] = {}

    def facts(self, path: str) -> "Facts":
        """Return what is at a path, links not followed; None if nothing can be seen there."""
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

    def walk(self, path: str) -> "Iterator[Step]":
        """Yield each place on the way of an absolute path: itself, the target if it is a link, its facts."""
        return _walk(path, self._looked_up)

    def _looked_up(self, path: str) -> "Facts":
        above = path.rpartition("/")[0]
        if above not in self.stamps:
            self.stamp(above or "/")
        return self.facts(path)

    def lead(self, path: str) -> "tuple[str, Facts]":
        """Return where an absolute path really leads, and what is there."""
        above = path.rpartition("/")[0]
        if not path.endswith(("/", "/.", "/..")):
            if above in self._missing:
                self._missing.add(path)
                return path, None
            if above in self._plain:
                found = self.facts(path)
                if found is None:
                    self._missing.add(path)
                if found is None or not stat.S_ISLNK(found.st_mode):
                    return path, found
        real, found = "/", self.facts("/")
        for real, _, found in self.walk(path):  # noqa: B007 - the last one counts
            pass
        if found is None and real == path and self._facts.get(path) is None:  # which is not a link in circles
            self._missing.add(path)
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


def _stamp(found: "Facts") -> "Stamp":
    return _NOTHING if found is None else (found.st_dev, found.st_ino, found.st_ctime_ns)
