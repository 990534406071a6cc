"""From a patch to the changes it makes: every file read, every chunk placed, nothing written yet."""

import stat

from agent_exec.logs.folders import Folders
from agent_exec.model.value import Value
from agent_exec.patch.commit import Remove, Write, commit
from agent_exec.patch.errors import UnfitPatch
from agent_exec.patch.grammar import AddFile, DeleteFile
from agent_exec.patch.lines import rewritten
from agent_exec.patch.targets import Targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from agent_exec.patch.grammar import Patch, UpdateFile


class Changes(Value):
    """What a patch would do, verified: paths as the patch has them, and the files themselves.

    Files that would come out as they are, are not among them.
    """

    added: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]
    writes: tuple[Write, ...]
    removes: tuple[Remove, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The real paths of all files that would be written or removed."""
        return (*(write.path for write in self.writes), *(remove.path for remove in self.removes))

    def commit(self) -> tuple[str, ...]:
        """Make all changes or none: see `commit.commit`."""
        return commit(self.writes, self.removes)


def plan(
    patch: "Patch", root: str, *, inside: "Sequence[str] | None" = None, protected: "Sequence[str]" = ()
) -> Changes:
    """Verify a patch against the files below `root`; raise UnfitPatch or PatchRejected."""
    planner = _Planner(Targets(root, inside, protected))
    try:
        return planner.plan(patch)
    finally:
        planner.folders.close()


class _Planner:
    """What is known so far of the changes of one patch."""

    def __init__(self, targets: Targets) -> None:
        self.folders = Folders()
        self._targets = targets
        self._taken: set[str] = set()
        self._writes: list[Write] = []
        self._removes: list[Remove] = []
        self._listed: dict[str, list[str]] = {"A": [], "M": [], "D": []}

    def plan(self, patch: "Patch") -> Changes:
        for hunk in patch.hunks:  # whether it is allowed comes first: nothing else is looked at
            self._targets.file(hunk.path)
            if not isinstance(hunk, AddFile | DeleteFile) and hunk.move_to is not None:
                self._targets.file(hunk.move_to)
        for hunk in patch.hunks:
            if isinstance(hunk, AddFile):
                self._add(hunk)
            elif isinstance(hunk, DeleteFile):
                self._delete(hunk)
            else:
                self._update(hunk)
        added, modified, deleted = (tuple(self._listed[kind]) for kind in "AMD")
        return Changes(added, modified, deleted, tuple(self._writes), tuple(self._removes))

    def _add(self, hunk: AddFile) -> None:
        real = self._claim(self._targets.file(hunk.path), hunk.path)
        data = "".join(f"{line}\n" for line in hunk.lines).encode("utf-8", "surrogateescape")
        before, old = self._present(real, hunk.path)
        if old is None or before != data:
            self._writes.append(Write(real, hunk.path, data, old=old, like=old))
            self._listed["A"].append(hunk.path)

    def _delete(self, hunk: DeleteFile) -> None:
        name = self._claim(self._targets.name(hunk.path), hunk.path)
        self._remove(name, hunk.path)
        self._listed["D"].append(hunk.path)

    def _update(self, hunk: "UpdateFile") -> None:
        real = self._claim(self._targets.file(hunk.path), hunk.path)
        try:
            before, state = self.folders.read(real)
        except OSError as error:
            raise _unread(hunk.path, error) from None
        data = rewritten(before, hunk.chunks, hunk.path) if hunk.chunks else before
        move_to = hunk.move_to
        moved = real if move_to is None else self._targets.file(move_to)
        if move_to is None or moved == real:
            if data != before:
                self._writes.append(Write(real, hunk.path, data, old=state, like=state))
                self._listed["M"].append(hunk.path)
            return
        self._claim(moved, move_to)
        _, old = self._present(moved, move_to)
        self._writes.append(Write(moved, move_to, data, old=old, like=state))
        name = self._targets.name(hunk.path)
        if name != real:
            self._claim(name, hunk.path)
        self._remove(name, hunk.path)
        self._listed["M"].append(move_to)

    def _claim(self, real: str, shown: str) -> str:
        if real in self._taken:
            raise UnfitPatch(f"multiple operations target {shown}")
        self._taken.add(real)
        return real

    def _present(self, real: str, shown: str) -> "tuple[bytes, os.stat_result | None]":
        """Return the file that will be overwritten, if there is one."""
        try:
            return self.folders.read(real)
        except FileNotFoundError:
            return b"", None
        except OSError as error:
            raise _unread(shown, error) from None

    def _remove(self, name: str, shown: str) -> None:
        try:
            state = self.folders.state(name)
        except OSError as error:
            raise _unread(shown, error) from None
        if state is None:
            raise UnfitPatch(f"Failed to read {shown}: No such file or directory")
        if stat.S_ISDIR(state.st_mode):
            raise UnfitPatch(f"Failed to read {shown}: Is a directory")
        self._removes.append(Remove(name, shown, state))


def _unread(shown: str, error: OSError) -> UnfitPatch:
    return UnfitPatch(f"Failed to read {shown}: {error.strerror}")
