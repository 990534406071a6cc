"""What lies below a root: every `.git`, names that programs obey; looked at anew where it has changed.

A folder is known by its identity and its time of change, which no command can
set back. What was found in one is kept, unless it had changed so shortly
before that another change may bear the same time.
"""

import os
import stat
from time import time_ns

from agent_exec.model.paths import inside
from agent_exec.model.value import Value
from agent_exec.sandbox.profile import PROTECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    Stamp = tuple[int, int, int]
    """Device, inode, and when it was last changed."""

    Found = tuple[Stamp, int, tuple[str, ...], tuple[str, ...], tuple[str, ...], int, tuple[str, ...]]
    """A folder: its stamp, how many entries, the paths of other folders in it, of each `.git`, and of files
    with further names, the first few, and how many of these; and what programs obey in it."""

    Known = tuple[Mapping[str, Found], tuple[str, ...]]
    """What was found below a root, by folder, and every `.git`."""

BOUND = 200_000
"""How many entries of a root are looked at."""

_OBEYED = {name.casefold(): name for name in PROTECTED}
_PACKAGES = ("/node_modules/", "/site-packages/", "/dist-packages/")
"""Folders of installed packages: many contain names that programs obey, and no program starts there."""

_BARE = frozenset({"head", "objects", "refs"})
_SHARED = frozenset({"head", "commondir"})
_SHAPE = {name: name for name in _BARE | _SHARED} | {"head": "HEAD"}
"""What git takes a folder for a repository by, whatever the folder is called."""

_NAMED = 5
_MOST_ROOTS = 16
_SETTLED_NS = 3 * 10**9
"""How long a folder must have been as it is: the clocks of file systems go by up to two seconds."""

_HONEST = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})
"""File systems whose time of the last change is the kernel's own, and not what a command may have set."""

_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Survey(Value):
    """What was found below a root: paths of every `.git`, and what may matter besides.

    `obeyed` are names that programs obey, and folders that have the shape of a
    repository under another name; of packages that are installed, none.
    `shut` are folders that we may not read or enter.
    `linked` are regular files that had further names, perhaps outside, when
    their folder was looked at; `unscanned` are folders that were not looked
    into. Of both, the first few are kept, and all are counted.
    """

    gits: tuple[str, ...]
    obeyed: tuple[str, ...]
    shut: tuple[str, ...]
    linked: tuple[str, ...]
    linked_count: int
    unscanned: tuple[str, ...]
    unscanned_count: int
    entries: int


class Surveyor:
    """Surveys roots, and keeps what was found in each folder until the folder changes."""

    __slots__ = ("_honest", "_known", "_whole")

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        # The last survey of a root all of whose folders are known: their paths, their stamps, what it found.
        self._whole: dict[tuple[str, bool], tuple[tuple[str, ...], tuple[Stamp, ...], Survey]] = {}
        self._honest: dict[tuple[str, int], bool] = {}

    def survey(self, root: str, *, bound: int = BOUND, into_git: bool = False) -> Survey:
        """Return what is at and below a root, upper folders first, without links, until the bound is reached.

        What lies in a `.git` is looked at only if asked: it is protected whole.
        A `.git` that was found before is found again if it is there, whatever
        has been put before it since.
        """
        last = self._whole.get((root, into_git))
        if last is not None and last[2].entries < bound and _stamps(last[0]) == last[1]:
            return last[2]
        made, kept = self._walk(root, bound, into_git=into_git)
        below = sum(len(found[2]) + (len(found[3]) if into_git else 0) for found in kept.values())
        if len(kept) == 1 + below:  # every folder is known
            self._whole[root, into_git] = tuple(kept), tuple(found[0] for found in kept.values()), made
        return made

    def known(self, root: str) -> "Known":
        """Return what is known of a root, in a form that can be sent to another process."""
        return self._known.get(root, ({}, ()))

    def learn(self, root: str, found: "Known") -> None:
        """Know this of a root, which another process of ours may have found."""
        self._forget(root)
        if len(self._known) >= _MOST_ROOTS:
            self._forget(next(iter(self._known), root))
        self._known[root] = found

    def _forget(self, root: str) -> None:
        self._known.pop(root, None)
        self._whole.pop((root, False), None)
        self._whole.pop((root, True), None)

    def _walk(self, root: str, bound: int, *, into_git: bool) -> "tuple[Survey, dict[str, Found]]":
        """Return a survey and what is kept of it; only folders that have changed are looked into."""
        gits: list[str] = []
        obeyed: list[str] = []
        shut: list[str] = []
        linked: list[str] = []
        unscanned: list[str] = []
        links = left = entries = 0
        known, before = self.known(root)
        kept: dict[str, Found] = {}
        device = self._device(root)
        settled = time_ns() - _SETTLED_NS
        level = [root]
        while level:
            following: list[str] = []
            for folder in level:
                try:
                    if entries >= bound:
                        raise OSError
                    found = known.get(folder)
                    if found is None or found[0] != _stamp(os.lstat(folder)):
                        found = _look(folder)
                except (FileNotFoundError, NotADirectoryError):
                    continue  # gone since it was seen
                except PermissionError:
                    shut.append(folder)
                    continue
                except OSError:
                    left += 1
                    if len(unscanned) < _NAMED:
                        unscanned.append(folder)
                    continue
                stamp, count, folders, repositories, further, many, names = found
                if stamp[0] == device and stamp[2] < settled:
                    kept[folder] = found
                entries += count
                following += folders
                if repositories:
                    gits += repositories
                    if into_git:
                        following += repositories
                if names:
                    obeyed += names
                if many:
                    links += many
                    linked += further[: _NAMED - len(linked)]
            level = following
        if left:
            gits += [git for git in {*before}.difference(gits) if os.path.lexists(git)]
        gits.sort()
        self.learn(root, (kept, tuple(gits)))
        return Survey(
            gits=tuple(gits),
            obeyed=tuple(sorted(obeyed)),
            shut=tuple(shut),
            linked=tuple(linked),
            linked_count=links,
            unscanned=tuple(unscanned),
            unscanned_count=left,
            entries=entries,
        ), kept

    def _device(self, root: str) -> int:
        """Return the device of a root whose file system dates changes truly, -1 for others."""
        try:
            device = os.lstat(root).st_dev
        except OSError:
            return -1
        known = self._honest.get((root, device))
        if known is None:
            if len(self._honest) >= _MOST_ROOTS:
                self._honest.clear()
            known = self._honest[root, device] = _file_system(root) in _HONEST
        return device if known else -1


def packaged(path: str) -> bool:
    """True if names that are obeyed are not looked for at a path, because it lies in an installed package."""
    return any(part in path for part in _PACKAGES)


def _stamps(folders: "tuple[str, ...]") -> "tuple[Stamp, ...] | None":
    """Return the identities of folders and when they last changed, None if one of them is missing."""
    try:
        return tuple([(one.st_dev, one.st_ino, one.st_ctime_ns) for one in map(os.lstat, folders)])
    except OSError:
        return None


def _stamp(found: os.stat_result) -> "Stamp":
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _look(folder: str) -> "Found":
    """Return the entries of a folder and its identity, both of one descriptor: a command may swap folders."""
    entries = links = 0
    folders: list[str] = []
    gits: list[str] = []
    linked: list[str] = []
    obeyed: list[str] = []
    shape: list[str] = []
    start = folder.rstrip("/") + "/"
    fd = _open(folder)
    try:
        stamp = _stamp(os.stat(".", dir_fd=fd))  # which needs the right to enter it, too
        with os.scandir(fd) as listed:
            for entry in listed:
                entries += 1
                name = entry.name
                folded = name.casefold()
                if folded in _OBEYED and _is_found(start, name, _OBEYED[folded]):
                    obeyed.append(start + name)
                elif folded in _SHAPE and _is_found(start, name, _SHAPE[folded]):
                    shape.append(folded)
                if folded == ".git":
                    gits.append(start + name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(start + name)
                elif entry.is_file(follow_symlinks=False) and _names(entry) > 1:
                    links += 1
                    if len(linked) < _NAMED:
                        linked.append(start + name)
    finally:
        os.close(fd)
    if packaged(start):
        obeyed.clear()
    if shape and has_shape(shape) and "/.git/" not in start.lower():
        obeyed.append(folder)
    return stamp, entries, tuple(folders), tuple(gits), tuple(linked), links, tuple(obeyed)


def has_shape(folded: "Collection[str]") -> bool:
    """True if git takes a folder with these names in it, all in small letters, for a repository."""
    return _BARE.issubset(folded) or _SHARED.issubset(folded)


def _is_found(start: str, name: str, usual: str) -> bool:
    """True if programs that ask for a name find this spelling: some folders do not tell capitals apart."""
    return name == usual or os.path.lexists(start + usual)


def _open(folder: str) -> int:
    """Open a folder to list it, also one of ours that may be entered and not listed: programs go there."""
    try:
        return os.open(folder, _FOLDER)
    except PermissionError:
        place = os.open(folder, getattr(os, "O_PATH", 0) | _FOLDER)
        try:
            mode = stat.S_IMODE(os.fstat(place).st_mode)
            if mode & stat.S_IRUSR or not mode & stat.S_IXUSR:
                raise
            real = f"/proc/self/fd/{place}"
            os.chmod(real, mode | stat.S_IRUSR)
            try:
                return os.open(f"{real}/.", _FOLDER)
            finally:
                os.chmod(real, mode)
        finally:
            os.close(place)


def _names(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_nlink
    except OSError:
        return 0


def _file_system(path: str) -> str:
    """Return the type of the file system that a real path is on, "" if unknown."""
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            return kind_of(path, file.read())
    except OSError:
        return ""


def kind_of(path: str, mounts: bytes) -> str:
    """Return the kind of the file system that a real path is on, by the kernel's table of mounts."""
    found, kind = "", ""
    for line in mounts.splitlines():
        mount, _, source = line.partition(b" - ")
        point = os.fsdecode(mount.split(b" ")[4].decode("unicode_escape").encode("latin-1"))
        if inside(path, point) and len(point) >= len(found):  # of two on one place, the later one
            found, kind = point, source.split(b" ")[0].decode("ascii", "replace")
    return kind
