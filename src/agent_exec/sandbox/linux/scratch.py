"""The folders in memory that a box has for itself: one file system, and so one bound for all of them."""

import os

from agent_exec.sandbox.linux import calls
from agent_exec.sandbox.linux.mounts import attach_over_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_QUIET = calls.MOUNT_NOSUID | calls.MOUNT_NODEV
_PART = 8
_FEWEST_ENTRIES = 1024
_PAGE = 4096


def size(wanted: int) -> int:
    """Return how many bytes a box may keep in memory: what is wanted, or its part of the machine's."""
    return min(wanted, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _PART)


def make_folders(paths: "Sequence[str]", wanted: int) -> dict[str, int]:
    """Make an empty folder for each path, together of so many bytes; attach their trees or close them."""
    room = size(wanted)
    options = {"size": str(room), "nr_inodes": str(max(_FEWEST_ENTRIES, room // _PAGE)), "mode": "755"}
    store = calls.new_filesystem("tmpfs", options, _QUIET)
    trees: dict[str, int] = {}
    try:
        attach_over_root(store)
        try:
            for number, path in enumerate(paths):
                trees[path] = _make_folder(str(number), store, path)
        finally:
            calls.umount(f"/proc/self/fd/{store}")
    except BaseException:
        for tree in trees.values():
            os.close(tree)
        raise
    finally:
        os.close(store)
    return trees


def _make_folder(name: str, at: int, path: str) -> int:
    os.mkdir(name, dir_fd=at)
    os.chmod(name, 0o1777, dir_fd=at)
    folder = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        return calls.open_tree(folder, path=path)
    finally:
        os.close(folder)
