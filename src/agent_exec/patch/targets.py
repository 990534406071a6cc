"""Where a patch may write: paths made real, and held against what is allowed."""

import os

from agent_exec.model.paths import inside
from agent_exec.patch.errors import PatchRejected, UnfitPatch
from agent_exec.patch.journal import journals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_GITS = (".git", "git~1")
_UNSEEN = frozenset(
    map(chr, (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
)


class Targets:
    """The folder that a patch's paths are relative to, and what of the world it may change.

    Nothing below the folder may be a link that leads out of it, and nothing
    that is written is a `.git` or lies in one, however deep, whether it is
    there already or not: git obeys what is in it. With `inside`, what is
    written must lie in one of these folders; it lies in none of `protected`,
    nor is it a journal of ours, which says what is put back where.
    Names are compared without regard to case.
    """

    def __init__(
        self, root: str, inside: "Sequence[str] | None" = None, protected: "Sequence[str]" = ()
    ) -> None:
        self.root = os.path.realpath(root)
        if not os.path.isdir(self.root):
            raise UnfitPatch(f"Failed to read {root}: there is no such directory")
        self._inside = None if inside is None else [os.path.realpath(self._join(path)) for path in inside]
        self._protected = [
            way
            for path in (*protected, *journals())
            for way in (os.path.normpath(self._join(path)), os.path.realpath(self._join(path)))
        ]

    def file(self, path: str) -> str:
        """Give the real path of a file to be written, through links; raise PatchRejected if it may not be."""
        return self._allowed(path, self._real(self._join(path), path))

    def name(self, path: str) -> str:
        """Return the real path of a name to be taken away, a link itself; raise PatchRejected likewise."""
        self.file(path)
        parent, name = os.path.split(self._join(path).rstrip(os.sep))
        if name in ("", os.curdir, os.pardir):
            raise UnfitPatch(f"Failed to read {path}: it is a directory")
        return self._allowed(path, os.path.join(self._real(parent, path), name))

    def _join(self, path: str) -> str:
        return os.path.join(self.root, path)

    def _real(self, joined: str, path: str) -> str:
        try:
            return os.path.realpath(joined)
        except (OSError, ValueError):
            raise UnfitPatch(f"Failed to read {path}: no file can have this name") from None

    def _allowed(self, path: str, real: str) -> str:
        if inside(os.path.normpath(self._join(path)), self.root) and not inside(real, self.root):
            raise _rejected(path, "a link on its way leads out of the working directory", real)
        if self._inside is not None and not any(inside(real, root) for root in self._inside):
            allowed = ", ".join(self._inside) or "nothing"
            raise _rejected(path, f"it would be {real}, and only {allowed} may be written", real)
        if any(inside(real.casefold(), kept.casefold()) for kept in self._protected):
            raise _rejected(path, "it is protected", real)
        if _in_repository(real) or _in_repository(os.path.normpath(self._join(path))):
            raise _rejected(path, "it is protected, as all of a .git is; let git change it", real)
        return real


def _in_repository(path: str) -> bool:
    """True if a name on a path is one by which some system knows a .git."""
    lowered = path.casefold()
    if ".git" not in lowered and "git~" not in lowered and path.isascii():
        return False
    names = lowered.replace(os.sep, "/").split("/")
    return any(_plain(name).partition(":")[0].rstrip(". ") in _GITS for name in names)


def _plain(name: str) -> str:
    """Return a name without the characters that macOS does not see in it."""
    return name if name.isascii() else "".join(one for one in name if one not in _UNSEEN)


def _rejected(path: str, reason: str, real: str) -> PatchRejected:
    return PatchRejected(
        f"patch rejected: writing outside of the project; {path}: {reason}", path=path, real=real
    )
