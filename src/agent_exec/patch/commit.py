"""All changes of a patch, or none.

Every new content is written beside its target first, and every old file gets
a second, hidden name. Then all targets change, one rename each. When the last
one has changed the patch is applied, and the hidden names are removed. After
any failure before, also an interrupt, the changes are undone by the journal.

A process that is killed by force cannot undo. Every file then is its old or
its new self, whole; half-done changes, and the hidden files, named .patch-*,
are undone by the next patch in the same way: see `journal.py`.
"""

import errno
import os
import stat

from agent_exec.logs.folders import Folders, same
from agent_exec.model.value import Value
from agent_exec.patch.errors import PatchNotUndone, PatchNotWritten, UnfitPatch
from agent_exec.patch.journal import Journal, identity, settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EMLINK, errno.EOPNOTSUPP, getattr(errno, "ENOTSUP", 0))


class Change(Value):
    """A file to be written with `data` and the mode of `like`, or without data, a name to be removed.

    `shown` is its path in the patch, `old` the state of the file that is there now.
    """

    path: str
    shown: str
    old: os.stat_result | None
    data: bytes | None = None
    like: os.stat_result | None = None


def commit(changes: "Sequence[Change]") -> tuple[str, ...]:
    """Make all changes and return the hidden names that could not be removed; or change nothing and raise.

    Raise UnfitPatch for a file that changed since it was planned, and
    PatchNotWritten if the system refuses. After a KeyboardInterrupt all is
    done or nothing is, as if it had come after or before.
    """
    if not changes:
        return ()
    work = _Work(changes)
    try:
        try:
            work.change()
            left = work.settle()
        except BaseException as error:
            kept = work.settle()
            if work.applied:
                kept = {}
            if work.interrupt is not None and not kept:
                raise work.interrupt from error
            if kept or isinstance(error, OSError):
                raise _failure(work.shown, error, kept) from error
            raise
        if work.interrupt is not None:
            raise work.interrupt
        return tuple(left)
    finally:
        work.close()


def _failure(shown: str, error: BaseException, kept: "dict[str, str | None]") -> PatchNotWritten:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    message = f"Failed to write file {shown}: {reason};"
    if not kept:
        return PatchNotWritten(f"{message} no file was changed", path=shown)
    named = ", ".join(f"{path} (kept in {name})" if name else f"{path} (new)" for path, name in kept.items())
    return PatchNotUndone(f"{message} these could not be put back: {named}", path=shown, kept=kept)


class _Work:
    """One attempt, and its journal."""

    def __init__(self, changes: "Sequence[Change]") -> None:
        self._folders = Folders(make=True)
        self._journal = Journal()
        self._changes = sorted(changes, key=lambda change: change.data is None)  # names are removed last
        self._clean = False  # True if no hidden name is left
        self.shown = ""  # the path that is being changed
        self.applied = False
        self.interrupt: BaseException | None = None  # one that came when there was no stopping

    def change(self) -> None:
        """Make all changes; `settle` is to be called afterwards, also after an exception."""
        writes = [change for change in self._changes if change.data is not None]
        self.shown = self._journal.path
        self._journal.open()
        self._journal.write(
            changes=[(change.path, identity(change.old)) for change in self._changes],
            folders=_missing_folders(writes),
        )
        made = [identity(self._stage(number, write)) for number, write in enumerate(writes)]
        for number, change in enumerate(self._changes):
            self.shown = change.shown
            if change.data is None:
                _expect(change, self._folders.state(change.path))
            elif change.old is not None:
                self._link(number, change)
        self.shown = self._journal.path
        self._journal.write(made=made)
        for number, change in enumerate(self._changes):
            self.shown = change.shown
            if change.data is None:
                self._folders.rename(change.path, self._journal.hidden(number, "old"))
            else:
                self._folders.rename(self._journal.hidden(number, "new"), change.path)
        self.shown = self._journal.path
        self._journal.write(done=True)
        self.applied = True

    def close(self) -> None:
        """Close the folders, and the journal, which stays if a hidden name does."""
        self._folders.close()
        self._journal.close(keep=not self._clean)

    def settle(self) -> "dict[str, str | None]":
        """Clean up, or undo the changes unless all are made, in spite of interrupts; return what failed."""
        self._folders.make = False
        while True:
            try:
                if not self.applied:
                    self._journal.mark_undone(self._folders.made)
                failed = settle(self._journal.said, self._journal.token, self._folders)
                self._clean = not failed
                return failed
            except KeyboardInterrupt as interrupt:
                self.interrupt = interrupt

    def _stage(self, number: int, write: Change) -> os.stat_result:
        """Write the new content beside the target."""
        self.shown = write.shown
        now = self._folders.state(write.path)
        if now is not None and write.old is not None and stat.S_ISREG(now.st_mode):
            now = self._folders.writable(write.path)
        _expect(write, now)
        return self._folders.create(self._journal.hidden(number, "new"), (write.data or b"",), write.like)

    def _link(self, number: int, write: Change) -> None:
        """Give the old file a second name; on a file system without hard links, its only one."""
        name = self._journal.hidden(number, "old")
        try:
            self._folders.link(write.path, name)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._folders.rename(write.path, name)
        _expect(write, self._folders.state(name))


def _missing_folders(writes: "Sequence[Change]") -> list[str]:
    """Return the folders that have to be made, the outer before the inner."""
    found: set[str] = set()
    for write in writes:
        folder = os.path.dirname(write.path)
        while folder not in found and not os.path.lexists(folder):
            found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(found)


def _expect(change: Change, now: os.stat_result | None) -> None:
    if not same(now, change.old):
        raise UnfitPatch(f"{change.shown} was changed by another program; read it again and make a new patch")
