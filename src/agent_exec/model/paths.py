"""The one containment of paths: what lies in what, part by part, in the case that the system goes by."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def posix(path: str) -> str:
    """Return a path as it is, with one separator at its end."""
    return path if path[-1:] == "/" else path + "/"


def windows(path: str) -> str:
    r"""Return a path in small letters and with \ alone, one of them at its end."""
    return path.replace("/", "\\").lower().rstrip("\\") + "\\"


_whole = windows if sys.platform == "win32" else posix


def inside(path: str, *folders: str) -> bool:
    """True if a path is one of the folders, or lies below one.

    All are absolute, with links followed as far as they are to be followed,
    and without `.` and `..`; one separator at their end does not matter.
    """
    return _whole(path).startswith(tuple([_whole(folder) for folder in folders]))


def below(path: str, folders: "Iterable[str]") -> bool:
    """True if a path lies below one of the folders, and is not that folder."""
    start = _whole(path)
    return any(start != end and start.startswith(end) for end in map(_whole, folders))
