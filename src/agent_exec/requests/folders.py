"""A workspace: the folders below which a caller's paths must lie, links followed."""

import os

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import inside


class Workspace:
    r"""One folder or more that paths may not lead out of; relative paths start from the first.

    Paths may be written with / or \. Both the roots and the path are
    followed through links before they are compared, part by part.
    """

    __slots__ = ("root", "roots")

    def __init__(self, *roots: "str | os.PathLike[str]") -> None:
        self.roots = tuple(dict.fromkeys(os.path.realpath(os.fsdecode(root)) for root in roots))
        self.root = self.roots[0]

    def resolve(self, path: str, name: str = "path") -> str:
        """Return the real, absolute path; raise InvalidArgument if it leads out of all roots."""
        real = self.real(path)
        if not self.holds(real):
            raise InvalidArgument(
                f"{name} {path!r} is outside of the workspace {', '.join(self.roots)}; choose a path below "
                f"it, or have the server started with --workspace {real}"
            )
        return real

    def real(self, path: str) -> str:
        """Return the real, absolute path, wherever it leads; it need not exist."""
        if "\0" in path:
            raise InvalidArgument(f"a path must not contain a NUL character; got {path!r}")
        joined = os.path.join(self.root, path.replace("\\", "/"))
        if _drive(joined) != _drive(self.root):
            # Outside, and not even looked at: to look at a share is to sign in to its server.
            return os.path.normpath(joined)
        try:
            real = os.path.realpath(joined)
        except (ValueError, OSError):  # no text for a path, or a link that cannot be read
            raise InvalidArgument(f"no path can be {path!r}") from None
        # Two slashes at the front are kept for systems to which they mean something; ours are not.
        return real[1:] if real.startswith("//") else real

    def holds(self, real: str) -> bool:
        """True if a real path is one of the roots, or lies below one."""
        return any(inside(real, root) for root in self.roots)


def _drive(path: str) -> str:
    """Return the drive or the share of a path, in small letters; only Windows has them."""
    return os.path.splitdrive(path)[0].lower()
