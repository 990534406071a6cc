"""Small verbs about mounts, for a process in a mount namespace of its own.

No path is ever followed through a symbolic link: it is opened once, and what
was opened is what is copied or covered. What a read-only mount denies gives
EROFS; who renames or removes what something is mounted on gets EBUSY.
"""

import os
import stat
from errno import EIO

from agent_exec.sandbox.linux import calls
from agent_exec.sandbox.linux.calls import open_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SYSTEM_MASKS = (
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
    "/sys/kernel/debug",
    "/sys/kernel/security",
    "/sys/kernel/tracing",
)
"""Folders that tell of the machine what no command needs; not all of them are everywhere."""

_SEALED = calls.MOUNT_RDONLY | calls.MOUNT_NOSUID | calls.MOUNT_NODEV
_EMPTY = calls.MOUNT_RDONLY | calls.MOUNT_NOSUID | calls.MOUNT_NODEV | calls.MOUNT_NOEXEC


def make_private() -> None:
    """Let no mount of ours be seen elsewhere, nor theirs here."""
    calls.mount(None, "/", None, calls.MS_REC | calls.MS_PRIVATE)


def clone(path: str, *, identity: tuple[int, int] | None = None, recursive: bool = True) -> int:
    """Give a detached copy of what is at a path, with all that is mounted below it; attach it or close it."""
    fd = open_path(path, identity=identity)
    try:
        return calls.open_tree(fd, recursive=recursive, path=path)
    finally:
        os.close(fd)


def seal(where: int | str, *, recursive: bool = True) -> None:
    """Make a tree, at a descriptor or a path, read-only, and its devices and set-id bits void."""
    calls.mount_setattr(where, _SEALED, recursive=recursive)


def harden(where: int | str, *, recursive: bool = True) -> None:
    """Make the devices and the set-id bits in a tree void, and leave it writable."""
    calls.mount_setattr(where, calls.MOUNT_NOSUID | calls.MOUNT_NODEV, recursive=recursive)


def attach(tree: int, path: str, *, identity: tuple[int, int] | None = None) -> None:
    """Put a detached tree over a path, and close its descriptor, whatever happens.

    `identity` is who is to be covered.
    """
    try:
        put(tree, path, identity=identity)
    finally:
        os.close(tree)


def put(tree: int, path: str, *, identity: tuple[int, int] | None = None) -> None:
    """Put a detached tree over a path, and leave its descriptor open."""
    target = open_path(path, identity=identity)
    try:
        calls.move_mount(tree, target, path=path)
    finally:
        os.close(target)


def protect(path: str, *, identity: tuple[int, int]) -> None:
    """Make what is at a path read-only, by a mount of its own; ESTALE if it is not who is expected."""
    bind(path, readonly=True, identity=identity)


def bind(
    path: str,
    onto: str | None = None,
    *,
    readonly: bool = False,
    identity: tuple[int, int] | None = None,
) -> None:
    """Let a tree appear in another place, or in its own as a mount of its own."""
    tree = clone(path, identity=identity)
    try:
        if readonly:
            calls.mount_setattr(tree, _SEALED, path=path)
    except BaseException:
        os.close(tree)
        raise
    attach(tree, path if onto is None else onto)


def pin(path: str) -> None:
    """Keep a folder from being renamed or removed, by mounting it on itself.

    Pins hold even below another mount: the kernel asks whether something is
    mounted on the entry anywhere in the namespace. So pins under a copy that
    is attached above them cost no boundary that links and renames stop at.
    """
    bind(path)


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


def tmpfs(path: str, *, size: int, inodes: int | None = None, mode: int = 0o1777) -> None:
    """Cover a folder with an empty one in memory, of so many bytes and so many entries."""
    options = {"size": str(size), "mode": f"{mode:o}"}
    if inodes is not None:
        options["nr_inodes"] = str(inodes)
    attach(calls.new_filesystem("tmpfs", options, calls.MOUNT_NOSUID | calls.MOUNT_NODEV), path)


def mask(paths: "Iterable[str]") -> None:
    """Cover paths: folders by one that cannot be entered, all else by a file that cannot be read (EACCES)."""
    wanted = list(paths)
    if not wanted:
        return
    options = {"size": "4096", "nr_inodes": "8", "mode": "755"}
    store = calls.new_filesystem("tmpfs", options, _EMPTY & ~calls.MOUNT_RDONLY)
    try:
        attach_over_root(store)
        try:
            os.mkdir("folder", 0, dir_fd=store)
            os.close(os.open("file", os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0, dir_fd=store))
            calls.mount_setattr(store, _EMPTY, recursive=False, path="mask")
            for path in wanted:
                _mask(path, store)
        finally:
            calls.umount(f"/proc/self/fd/{store}")
    finally:
        os.close(store)


def is_readonly(path: str) -> bool:
    """True if what is at a path now is mounted read-only."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def attach_over_root(tree: int) -> None:
    """Attach a tree where no path leads: only what is attached can be copied in part.

    Whoever has the root open, as every process has, does not see what covers it.
    """
    put(tree, "/")


def _mask(path: str, store: int) -> None:
    target = open_path(path)
    try:
        name = "folder" if stat.S_ISDIR(os.fstat(target).st_mode) else "file"
        source = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=store)
        try:
            tree = calls.open_tree(source, path=path)
        finally:
            os.close(source)
        try:
            calls.move_mount(tree, target, path=path)
        finally:
            os.close(tree)
    finally:
        os.close(target)
