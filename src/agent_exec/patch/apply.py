"""A patch verified and applied: every file read and every chunk placed first, then all changes or none."""

import os
import stat

from agent_exec.logs.folders import Folders
from agent_exec.model.paths import inside as lies_inside
from agent_exec.model.value import Value
from agent_exec.patch.bounds import Bounds, confined, obeyed
from agent_exec.patch.commit import Change, commit
from agent_exec.patch.errors import MalformedPatch, PatchRejected, UnfitPatch
from agent_exec.patch.grammar import AddFile, DeleteFile, parse
from agent_exec.patch.journal import recover
from agent_exec.patch.lines import rewritten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.patch.grammar import Patch, UpdateFile
    from agent_exec.sandbox.plan.plan import Plan


class Applied(Value):
    """The changes that a patch made: paths as the patch has them, and the same as text."""

    added: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]
    text: str


class Changes(Value):
    """The changes that a patch would make, verified: paths as the patch has them, and the files themselves.

    Files that would come out as they are, are not among them.
    """

    added: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The real paths of all files that would be written or removed."""
        return tuple(change.path for change in self.changes)

    def commit(self) -> tuple[str, ...]:
        """Make all changes or none: see `commit.commit`."""
        return commit(self.changes)

    def apply(self) -> Applied:
        """Make all changes or none; return them as models expect to read them."""
        left = self.commit()
        kinds = (("A", self.added), ("M", self.modified), ("D", self.deleted))
        lines = [f"{kind} {path}\n" for kind, paths in kinds for path in paths]
        text = (
            "".join(("Success. Updated the following files:\n", *lines))
            if lines
            else "No files were modified.\n"
        )
        text += "".join(f"Could not remove {name}, an old file; remove it by hand.\n" for name in left)
        return Applied(self.added, self.modified, self.deleted, text)


def apply_patch(
    text: str, *, cwd: str, inside: "Sequence[str] | None" = None, protected: "Sequence[str]" = ()
) -> Applied:
    """Apply a patch to the files below `cwd`, all of it or nothing; raise a PatchError if it cannot be.

    With `inside`, only files in these folders may be touched; never those in `protected`, or in any `.git`.
    """
    return verify(text, cwd=cwd, inside=inside, protected=protected).apply()


def verify(
    text: str, *, cwd: str, inside: "Sequence[str] | None" = None, protected: "Sequence[str]" = ()
) -> Changes:
    """Return the changes that a patch would make; nothing is written yet.

    The changes of a patch whose process was killed are undone first.
    """
    recover()
    try:
        return plan(parse(text), cwd, inside=inside, protected=protected)
    except (MalformedPatch, UnfitPatch) as error:
        raise type(error)(f"apply_patch verification failed: {error.message}", **error.details) from None


def verify_confined(text: str, *, cwd: str, plan: "Plan") -> Changes:
    """Return the changes that a patch would make, within a plan; raise PatchRejected elsewhere.

    A path that would be removed again after a command is rejected as well.
    """
    roots, kept = confined(plan)
    changes = verify(text, cwd=cwd, inside=roots, protected=kept)
    found, why = obeyed(plan, [change.path for change in changes.changes if change.data is not None])
    if found:
        raise PatchRejected(f"patch rejected: {why}", path=found)
    return changes


def plan(
    patch: "Patch", root: str, *, inside: "Sequence[str] | None" = None, protected: "Sequence[str]" = ()
) -> Changes:
    """Verify a patch against the files below `root`; raise UnfitPatch or PatchRejected."""
    planner = _Planner(root, inside, protected)
    try:
        return planner.plan(patch)
    finally:
        planner.folders.close()


class _Planner:
    """The changes of one patch below `root`, as far as they are known.

    Nothing below the root may be a link that leads out of it; for all else
    see Bounds.
    """

    def __init__(self, root: str, inside: "Sequence[str] | None", protected: "Sequence[str]") -> None:
        self._root = os.path.realpath(root)
        if not os.path.isdir(self._root):
            raise _unread(root, "there is no such directory")
        self._bounds = Bounds(self._root, inside, protected)
        self.folders = Folders()
        self._taken: set[str] = set()
        self._changes: list[Change] = []
        self._listed: dict[str, list[str]] = {"A": [], "M": [], "D": []}

    def plan(self, patch: "Patch") -> Changes:
        for hunk in patch.hunks:  # whether it is allowed comes first: nothing else is looked at
            self._file(hunk.path)
            if not isinstance(hunk, AddFile | DeleteFile) and hunk.move_to is not None:
                self._file(hunk.move_to)
        for hunk in patch.hunks:
            if isinstance(hunk, AddFile):
                self._add(hunk)
            elif isinstance(hunk, DeleteFile):
                self._remove(self._claim(self._name(hunk.path), hunk.path), hunk.path)
                self._listed["D"].append(hunk.path)
            else:
                self._update(hunk)
        added, modified, deleted = (tuple(self._listed[kind]) for kind in "AMD")
        return Changes(added, modified, deleted, tuple(self._changes))

    def _add(self, hunk: AddFile) -> None:
        real = self._claim(self._file(hunk.path), hunk.path)
        data = "".join(f"{line}\n" for line in hunk.lines).encode("utf-8", "surrogateescape")
        before, old = self._read(real, hunk.path, missing=True)
        if old is None or before != data:
            self._changes.append(Change(real, hunk.path, old, data, like=old))
            self._listed["A"].append(hunk.path)

    def _update(self, hunk: "UpdateFile") -> None:
        real = self._claim(self._file(hunk.path), hunk.path)
        before, state = self._read(real, hunk.path)
        data = rewritten(before, hunk.chunks, hunk.path) if hunk.chunks else before
        move_to = hunk.move_to
        moved = real if move_to is None else self._file(move_to)
        if move_to is None or moved == real:
            if data != before:
                self._changes.append(Change(real, hunk.path, state, data, like=state))
                self._listed["M"].append(hunk.path)
            return
        self._claim(moved, move_to)
        _, old = self._read(moved, move_to, missing=True)
        self._changes.append(Change(moved, move_to, old, data, like=state))
        name = self._name(hunk.path)
        if name != real:
            self._claim(name, hunk.path)
        self._remove(name, hunk.path)
        self._listed["M"].append(move_to)

    def _claim(self, real: str, shown: str) -> str:
        if real in self._taken:
            raise UnfitPatch(f"multiple operations target {shown}")
        self._taken.add(real)
        return real

    def _read(self, real: str, shown: str, *, missing: bool = False) -> "tuple[bytes, os.stat_result | None]":
        """Return a file's content and state; the state is None for a file that may be missing, and is."""
        try:
            return self.folders.read(real)
        except OSError as error:
            if missing and isinstance(error, FileNotFoundError):
                return b"", None
            raise _unread(shown, error.strerror) from None

    def _remove(self, name: str, shown: str) -> None:
        try:
            state = self.folders.state(name)
        except OSError as error:
            raise _unread(shown, error.strerror) from None
        if state is None:
            raise _unread(shown, "No such file or directory")
        if stat.S_ISDIR(state.st_mode):
            raise _unread(shown, "Is a directory")
        self._changes.append(Change(name, shown, state))

    def _file(self, path: str) -> str:
        """Return the real path of a file to be written, through links; raise PatchRejected if forbidden."""
        return self._allowed(path, self._real(self._join(path), path))

    def _name(self, path: str) -> str:
        """Return the real path of a name to be removed, a link itself; raise PatchRejected likewise."""
        self._file(path)
        parent, name = os.path.split(self._join(path).rstrip(os.sep))
        if name in ("", os.curdir, os.pardir):
            raise _unread(path, "it is a directory")
        return self._allowed(path, os.path.join(self._real(parent, path), name))

    def _join(self, path: str) -> str:
        return os.path.join(self._root, path)

    def _real(self, joined: str, path: str) -> str:
        try:
            return os.path.realpath(joined)
        except (OSError, ValueError):
            raise _unread(path, "no file can have this name") from None

    def _allowed(self, path: str, real: str) -> str:
        plain = os.path.normpath(self._join(path))
        if lies_inside(plain, self._root) and not lies_inside(real, self._root):
            reason = "a link on its way leads out of the working directory"
        else:
            reason = self._bounds.refusal(plain, real)
        if not reason:
            return real
        message = f"patch rejected: writing outside of the project; {path}: {reason}"
        raise PatchRejected(message, path=path, real=real)


def _unread(shown: str, reason: str | None) -> UnfitPatch:
    return UnfitPatch(f"Failed to read {shown}: {reason}")
