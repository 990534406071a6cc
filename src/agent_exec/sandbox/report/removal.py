"""Takes away what a command made and must not be there: by renaming it, so that nothing is lost."""

import os
import stat

from agent_exec.model.paths import inside
from agent_exec.sandbox.plan.paths import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MARK = ".blocked-"
"""What follows the name of something that was taken away."""

_FOLDER = (
    getattr(os, "O_PATH", 0)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


def take_away(path: str, roots: "Iterable[str]") -> str:
    """Rename what is at a path below a root to a name that no program obeys, and return the new path.

    The folder is opened from the root on, and no link is followed: a command
    that still runs may swap folders meanwhile. Raise OSError if that fails.
    """
    fresh = f"{os.path.basename(path)}{_MARK}{os.urandom(3).hex()}"
    folder = _open_above(path, roots)
    try:
        _writing(
            folder, lambda: os.rename(os.path.basename(path), fresh, src_dir_fd=folder, dst_dir_fd=folder)
        )
    finally:
        os.close(folder)
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
    folder = _open_above(path, roots)
    try:
        _writing(folder, lambda: os.symlink(target, os.path.basename(path), dir_fd=folder))
    finally:
        os.close(folder)


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
    here = os.open(root, os.O_RDONLY | _FOLDER)
    for part in above[len(root) :].split("/"):
        if part:
            try:
                there = os.open(part, os.O_RDONLY | _FOLDER, dir_fd=here)
            finally:
                os.close(here)
            here = there
    return here
