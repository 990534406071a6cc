"""Where paths lead, as the kernel would go."""

import os
import stat

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LINKS = 40
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


def outermost(paths: "Iterable[str]") -> tuple[str, ...]:
    """Return paths without those that lie in others of them, outer ones first."""
    found: list[str] = []
    kept: set[str] = set()
    for path in sorted(set(paths), key=lambda path: (path.count("/"), path)):
        ends = (index for index, letter in enumerate(path) if letter == "/" and index)
        if not any(path[:end] in kept for end in ends):
            kept.add(path)
            found.append(path)
    return tuple(found)


def settle(path: str, roots: "Sequence[str]", field: str) -> tuple[str, bool]:
    """Return where an absolute path really leads, and whether anything is there.

    A link below a root is refused, and named: who may write to the root may
    change it at any time, and then something else would be protected.
    """
    here, rest, links = "/", path.split("/")[::-1], 0
    while rest:
        part = rest.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            here = os.path.dirname(here)
            continue
        there = os.path.join(here, part)
        try:
            mode = os.lstat(there).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return os.path.normpath("/".join((there, *rest[::-1]))), False
        except OSError as error:
            if isinstance(error, PermissionError) and not below(there, roots):
                return there, False  # whoever may not go there finds nothing there either
            raise InvalidArgument(
                f"{field}: {there!r} cannot be looked at: {error.strerror}", path=there
            ) from None
        if not stat.S_ISLNK(mode):
            here = there
            continue
        if below(there, roots):
            raise InvalidArgument(
                f"{field}: {path!r} cannot be protected, for {there!r} is a symbolic link inside a root,"
                " which could be pointed elsewhere; put the real file or folder in its place, or remove it",
                path=path,
                symlink=there,
            )
        links += 1
        if links > _LINKS:
            raise InvalidArgument(
                f"{field}: {path!r} goes in circles at the link {there!r}", path=path, symlink=there
            )
        target = os.readlink(there)
        here = "/" if target.startswith("/") else here
        rest.extend(target.split("/")[::-1])
    return here, True


def identity(path: str, *, follow: bool = False) -> tuple[int, int] | None:
    """Return device and inode of what is at a path, or of where links lead from there; None if nothing is."""
    try:
        found = os.stat(path, follow_symlinks=follow)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def leads_straight(path: str, fd: int) -> bool:
    """True if what was opened by a path is there without the help of any link."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}") == path
    except OSError:  # no /proc, as on macOS
        return os.path.realpath(path) == path


def led(path: str) -> list[str]:
    """Return where links lead: the path, if it is one, or those in it, if it is a folder."""
    try:
        found = [path] if os.path.islink(path) else [os.path.join(path, name) for name in os.listdir(path)]
    except OSError:
        return []
    return [os.path.join(os.path.dirname(link), os.readlink(link)) for link in found if os.path.islink(link)]


def read_small(path: str, limit: int = 1 << 20) -> str:
    """Return the text of a regular file; raise OSError if it is none or larger than the limit."""
    fd = os.open(path, os.O_RDONLY | _NOFOLLOW)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            raise OSError(0, "no regular file, or too large", path)
        return os.fsdecode(os.read(fd, limit))
    finally:
        os.close(fd)
