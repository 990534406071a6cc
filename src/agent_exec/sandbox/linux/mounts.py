"""Mounts, for a process in a mount namespace of its own: read-only trees, masks, a private /dev and /proc.

No path is ever followed through a symbolic link: it is opened once, and what
was opened is what is copied or covered. What a read-only mount denies gives
EROFS; renaming or removing what something is mounted on gives EBUSY.
"""

import os
import stat
from errno import EIO, ENODEV

from agent_exec.sandbox.closing import Closing
from agent_exec.sandbox.linux import calls
from agent_exec.sandbox.linux.calls import open_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SYSTEM_MASKS = tuple(f"/sys/{path}" for path in "devices/virtual/powercap firmware".split()) + tuple(
    f"/sys/kernel/{name}" for name in "debug security tracing".split()
)
"""Folders that tell of the machine what no command needs; not all of them are everywhere."""

PROC_MASKS = tuple(
    f"/proc/{name}"
    for name in (
        "acpi asound kallsyms kcore key-users keys kmsg kpagecgroup kpagecount kpageflags latency_stats"
        " pagetypeinfo sched_debug scsi slabinfo sysrq-trigger timer_list timer_stats vmallocinfo"
    ).split()
)
"""What of the kernel is covered, where it is there: root without capabilities may read some of it."""

DEVICES = (
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
)
_DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
_DEVICE_FOLDER = {"size": "65536", "nr_inodes": "64", "mode": "755"}
_TERMINALS = {"ptmxmode": "0666", "mode": "0620", "max": "64"}
_MASK_STORE = {"size": "4096", "nr_inodes": "8", "mode": "755"}

BARE = calls.MOUNT_NOSUID | calls.MOUNT_NODEV
_SEALED = BARE | calls.MOUNT_RDONLY
_EMPTY = _SEALED | calls.MOUNT_NOEXEC
_OF_DEVICES = calls.MOUNT_NOSUID | calls.MOUNT_NOEXEC
_MS_PRIVATE = (1 << 14) | (1 << 18)  # and all below
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC

_PART = 8
_FEWEST_ENTRIES = 1024
_PAGE = 4096


def make_private() -> None:
    """Let no mount of ours be seen elsewhere, nor theirs here."""
    calls.invoke("mount", None, b"/", None, _MS_PRIVATE, None, path="/")


def clone(path: str, *, identity: tuple[int, int] | None = None, recursive: bool = True) -> int:
    """Return a detached copy of what is at a path, with the mounts below it; attach it or close it."""
    with Closing(open_path(path, identity=identity)) as fd:
        return calls.open_tree(fd, recursive=recursive, path=path)


def seal(where: int | str) -> None:
    """Make a tree, at a descriptor or a path, read-only, and its devices and set-id bits void."""
    calls.mount_setattr(where, _SEALED)


def harden(where: int | str) -> None:
    """Make the devices and the set-id bits in a tree void, and leave it writable."""
    calls.mount_setattr(where, BARE)


def attach(tree: int, path: str) -> None:
    """Put a detached tree over a path, and close its descriptor, whatever happens."""
    with Closing(tree):
        put(tree, path)


def put(tree: int, path: str) -> None:
    """Put a detached tree over a path, and leave its descriptor open."""
    with Closing(open_path(path)) as target:
        calls.move_mount(tree, target, path=path)


def protect(path: str, *, identity: tuple[int, int]) -> None:
    """Make a path read-only by a mount of its own; ESTALE if it is not the expected file."""
    with Closing(clone(path, identity=identity)) as tree:
        calls.mount_setattr(tree, _SEALED, path=path)
        put(tree, path)


def pin(path: str) -> None:
    """Keep a folder from being renamed or removed, by mounting it on itself.

    Pins hold even below another mount: the kernel asks whether something is
    mounted on the entry anywhere in the namespace. So pins under a copy that
    is attached above them cost no boundary that links and renames stop at.
    """
    attach(clone(path), path)


def make_folder(path: str) -> None:
    """Make a folder to attach something to, and those above it, where they are missing."""
    at = open_path("/")
    try:
        done = ""
        for part in path.strip("/").split("/"):
            done += f"/{part}"
            try:
                os.mkdir(part, 0o755, dir_fd=at)
            except FileExistsError:
                pass
            except OSError as problem:
                raise calls.failure(problem.errno or EIO, "mkdir", done) from problem
            below = open_path(done)
            os.close(at)
            at = below
    finally:
        os.close(at)


def make_entry(name: str, folder: int, *, is_folder: bool, mode: int) -> None:
    """Make an empty folder or file to attach something to, in an open folder."""
    if is_folder:
        os.mkdir(name, mode, dir_fd=folder)
    else:
        os.mknod(name, mode | stat.S_IFREG, dir_fd=folder)


def mask(paths: "Iterable[str]") -> None:
    """Cover paths: folders by one that cannot be entered, all else by a file that cannot be read (EACCES)."""
    wanted = list(paths)
    if not wanted:
        return
    with _Store(_MASK_STORE, _EMPTY & ~calls.MOUNT_RDONLY) as store:
        make_entry("folder", store, is_folder=True, mode=0)
        make_entry("file", store, is_folder=False, mode=0)
        calls.mount_setattr(store, _EMPTY, recursive=False, path="mask")
        for path in wanted:
            with Closing(open_path(path)) as target:
                name = "folder" if stat.S_ISDIR(os.fstat(target).st_mode) else "file"
                with Closing(_part_of(store, name, path)) as tree:
                    calls.move_mount(tree, target, path=path)


def is_readonly(path: str) -> bool:
    """True if what is at a path now is mounted read-only."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


class _Store:
    """A file system in memory that no path leads to, of which parts can be copied while it is attached.

    It is attached over the root: every process has the root open, and so does not see what covers it.
    """

    __slots__ = ("_fd",)

    def __init__(self, options: dict[str, str], attributes: int) -> None:
        self._fd = calls.new_filesystem("tmpfs", options, attributes)

    def __enter__(self) -> int:
        try:
            put(self._fd, "/")
        except BaseException:
            os.close(self._fd)
            raise
        return self._fd

    def __exit__(self, *_: object) -> None:
        with Closing(self._fd) as fd:
            calls.umount(f"/proc/self/fd/{fd}")


def _part_of(store: int, name: str, path: str) -> int:
    """Return a detached copy of a folder or file of a store; `path` is for the error only."""
    with Closing(os.open(name, _PLACE, dir_fd=store)) as source:
        return calls.open_tree(source, path=path)


def room(wanted: int) -> int:
    """Return how many bytes a box may keep in memory: what is wanted, or its part of the machine's."""
    return min(wanted, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _PART)


def memory_folders(paths: "Sequence[str]", wanted: int) -> dict[str, int]:
    """Make an empty folder for each path, together of so many bytes; attach their trees or close them.

    They are one file system, and so have one bound.
    """
    size = room(wanted)
    options = {"size": str(size), "nr_inodes": str(max(_FEWEST_ENTRIES, size // _PAGE)), "mode": "755"}
    trees: dict[str, int] = {}
    try:
        with _Store(options, BARE) as store:
            for number, path in enumerate(paths):
                os.mkdir(name := str(number), dir_fd=store)
                os.chmod(name, 0o1777, dir_fd=store)
                trees[path] = _part_of(store, name, path)
    except BaseException:
        _close(trees)
        raise
    return trees


def private_devices(*, shared_memory: int) -> None:
    """Cover /dev; `shared_memory` is the tree to be found in /dev/shm, whose descriptor is closed.

    The devices are those of the old /dev, and must be what they are called.
    The folder itself cannot be changed (EROFS).
    """
    trees = {"shm": shared_memory}
    try:
        for name, major, minor in DEVICES:
            trees[name] = _clone_device(f"/dev/{name}", major, minor)
        trees["pts"] = calls.new_filesystem("devpts", _TERMINALS, _OF_DEVICES)
        with Closing(calls.new_filesystem("tmpfs", _DEVICE_FOLDER, _OF_DEVICES)) as folder:
            put(folder, "/dev")
            for name, tree in trees.items():
                is_folder = name in {"shm", "pts"}
                make_entry(name, folder, is_folder=is_folder, mode=0o755 if is_folder else 0o666)
                calls.move_mount(tree, folder, name, path=f"/dev/{name}")
            for name, leads_to in _DEVICE_LINKS.items():
                os.symlink(leads_to, name, dir_fd=folder)
            calls.mount_setattr(folder, calls.MOUNT_RDONLY | _OF_DEVICES, recursive=False, path="/dev")
    finally:
        _close(trees)


def _clone_device(path: str, major: int, minor: int) -> int:
    tree = clone(path, recursive=False)
    try:
        found = os.fstat(tree)
        if not stat.S_ISCHR(found.st_mode) or found.st_rdev != os.makedev(major, minor):
            raise calls.failure(ENODEV, "open_tree", path, f"not the device {major}:{minor}")
        # The whole tree may have been hardened before; these are the devices that are wanted.
        calls.mount_setattr(tree, calls.MOUNT_NOSUID, calls.MOUNT_NODEV, recursive=False, path=path)
    except BaseException:
        os.close(tree)
        raise
    return tree


def _close(trees: dict[str, int]) -> None:
    for tree in trees.values():
        os.close(tree)


def private_proc() -> None:
    """Cover /proc with one of this process's pid namespace, and mask what no command needs."""
    attach(calls.new_filesystem("proc", {}, BARE | calls.MOUNT_NOEXEC), "/proc")
    mask(path for path in PROC_MASKS if os.path.lexists(path))


def seal_proc() -> None:
    """Make all of /proc read-only; what is to be set by it must be set before.

    All of it, for lists of what is dangerous are never complete: to the
    kernel, root without capabilities is still the owner of /proc/sys.
    """
    calls.mount_setattr("/proc", _EMPTY)
