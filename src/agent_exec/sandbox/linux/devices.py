"""A private /dev: the few devices that every program expects, and terminals of its own."""

import os
import stat
from errno import ENODEV

from agent_exec.sandbox.linux import calls
from agent_exec.sandbox.linux.mounts import clone, put

NODES = (
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
)
LINKS = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
)
_QUIET = calls.MOUNT_NOSUID | calls.MOUNT_NOEXEC
_BARE = {"size": "65536", "nr_inodes": "64", "mode": "755"}
_TERMINALS = {"ptmxmode": "0666", "mode": "0620", "max": "64"}


def private_devices(*, shared_memory: int) -> None:
    """Cover /dev; `shared_memory` is the tree to be found in /dev/shm, whose descriptor is closed.

    The devices are those of the old /dev, and must be what they are called.
    The folder itself cannot be changed (EROFS).
    """
    trees = {}
    try:
        trees = _clone_nodes()
        folder = calls.new_filesystem("tmpfs", _BARE, _QUIET)
        try:
            _fill(folder, trees)
            os.mkdir("shm", 0o755, dir_fd=folder)
            calls.move_mount(shared_memory, folder, "shm", path="/dev/shm")
            calls.mount_setattr(folder, calls.MOUNT_RDONLY | _QUIET, recursive=False, path="/dev")
        finally:
            os.close(folder)
    finally:
        for tree in (shared_memory, *trees.values()):
            os.close(tree)


def _clone_nodes() -> dict[str, int]:
    trees: dict[str, int] = {}
    try:
        for name, major, minor in NODES:
            path = f"/dev/{name}"
            trees[name] = tree = clone(path, recursive=False)
            found = os.fstat(tree)
            if not stat.S_ISCHR(found.st_mode) or found.st_rdev != os.makedev(major, minor):
                raise calls.failure(ENODEV, "open_tree", path, f"not the device {major}:{minor}")
            # The whole tree may have been hardened before; these are the devices that are wanted.
            calls.mount_setattr(tree, calls.MOUNT_NOSUID, calls.MOUNT_NODEV, recursive=False, path=path)
    except BaseException:
        for tree in trees.values():
            os.close(tree)
        raise
    return trees


def _fill(folder: int, trees: dict[str, int]) -> None:
    put(folder, "/dev")
    for name, tree in trees.items():
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder))
        calls.move_mount(tree, folder, name, path=f"/dev/{name}")
    terminals = calls.new_filesystem("devpts", _TERMINALS, _QUIET)
    try:
        os.mkdir("pts", 0o755, dir_fd=folder)
        calls.move_mount(terminals, folder, "pts", path="/dev/pts")
    finally:
        os.close(terminals)
    for name, leads_to in LINKS:
        os.symlink(leads_to, name, dir_fd=folder)
