"""A workspace: the one folder below which a caller's paths must lie, links followed."""

import os

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class OutsideWorkspace(Exception):
    """A path leads out of the workspace."""


class Workspace:
    r"""A folder that paths may not lead out of.

    Paths may be written with / or \ and be relative to the root. Both the
    root and the path are followed through links before they are compared,
    part by part.
    """

    __slots__ = ("root",)

    def __init__(self, root: "str | os.PathLike[str]") -> None:
        self.root = os.path.realpath(os.fsdecode(root))

    def resolve(self, path: str) -> str:
        """Return the real, absolute path; raise OutsideWorkspace if it leads out."""
        real = self.real(path)
        if not self.holds(real):
            raise OutsideWorkspace(f"{path!r} leads out of the workspace {self.root!r}")
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
        """True if a real path is the root, or lies below it."""
        return inside(real, self.root)


class Workspaces:
    """One folder or more that paths may not lead out of; relative ones start from the first."""

    __slots__ = ("_all",)

    def __init__(self, roots: "Sequence[str]") -> None:
        self._all = tuple({one.root: one for one in map(Workspace, roots)}.values())

    @property
    def roots(self) -> tuple[str, ...]:
        """The real paths of all of them."""
        return tuple(one.root for one in self._all)

    def holds(self, real: str) -> bool:
        """True if a real path is one of the roots, or lies below one."""
        return any(one.holds(real) for one in self._all)

    def resolve(self, path: str, name: str) -> str:
        """Return the real, absolute path; raise InvalidArgument if it leads out of all of them."""
        real = self._all[0].real(path)
        if not self.holds(real):
            raise InvalidArgument(
                f"{name} {path!r} is outside of the workspace {', '.join(self.roots)}; choose a path below "
                f"it, or have the server started with --workspace {real}"
            )
        return real


def _drive(path: str) -> str:
    """Return the drive or the share of a path, in small letters; only Windows has them."""
    return os.path.splitdrive(path)[0].lower()
