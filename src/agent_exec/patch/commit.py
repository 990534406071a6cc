"""All changes of a patch, or none.

Every new content is written beside its target first, and every old file gets
a second, hidden name. Then all targets change, one rename each. After any
failure, also an interrupt, the changes are undone from a list in which each
step is noted before it is taken, and whose every entry may be done twice. When
the last target has changed the patch is applied; the hidden names are removed.

A process that is killed by force cannot undo. Every file then is its old or
its new self, whole; half-done changes, and the hidden files, named .patch-*,
are undone by the next patch: see `journal.py`.
"""

import errno
import os
import stat

from agent_exec.logs.folders import Folders, same
from agent_exec.model.value import Value
from agent_exec.patch.errors import PatchNotUndone, PatchNotWritten, UnfitPatch
from agent_exec.patch.journal import Journal, hidden, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Undo = tuple[Callable[..., object], tuple[object, ...], str, str | None]  # step, path, hidden name

_TRIES = 3
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
    """One attempt, and the steps that undo it."""

    def __init__(self, changes: "Sequence[Change]") -> None:
        self.folders = Folders(make=True)
        self.shown = ""  # the path that is being changed
        self.applied = False
        self.interrupt: BaseException | None = None  # one that came when there was no stopping
        self._changes = sorted(changes, key=lambda change: change.data is None)  # names are removed last
        self._numbers = {change.path: number for number, change in enumerate(self._changes)}
        self._journal = Journal()  # for the next process, if this one is killed
        self._undo: list[Undo] = [(self._unmake_folders, (), "new folders", None)]
        self._spare: list[str] = []  # hidden names of old files
        self._clean = False  # True if no hidden name is left

    def change(self) -> None:
        writes = [change for change in self._changes if change.data is not None]
        self.shown = self._journal.path
        self._journal.open()
        self._journal.write(
            changes=[(change.path, identity(change.old)) for change in self._changes],
            folders=self._missing_folders(writes),
        )
        made = {write.path: self._stage(write) for write in writes}
        for change in self._changes:
            self.shown = change.shown
            if change.data is None:
                _expect(change, self.folders.state(change.path))
            elif change.old is not None:
                self._hide(change, self._link)
        self.shown = self._journal.path
        self._journal.write(made=list(map(identity, made.values())))
        for change in self._changes:
            self.shown = change.shown
            if change.data is None:
                self._hide(change, self.folders.rename)
                continue
            if change.old is None:
                self._undo.append((self._unmake, (change.path, made[change.path]), change.path, None))
            self.folders.rename(self._hidden(change, "new"), change.path)
        self.shown = self._journal.path
        self._undo.append((self._unmark, (), self._journal.path, None))
        self._journal.write(done=True)
        # All is done: from here on the old files are removed instead of restored.
        self._undo = [(self._drop, (name,), name, name) for name in self._spare]
        self.applied = True

    def close(self) -> None:
        """Close the folders, and the journal, which stays if a hidden name does."""
        self.folders.close()
        self._journal.close(keep=not self._clean)

    def settle(self) -> "dict[str, str | None]":
        """Take the noted steps, the last one first, in spite of interrupts and of errors that pass.

        Return those that failed: the path, and the hidden name of its old file.
        """
        self.folders.make = False
        failed: dict[str, str | None] = {}
        tries = 0
        while True:
            try:
                while self._undo:
                    step, arguments, path, name = self._undo[-1]
                    try:
                        step(*arguments)
                    except OSError:
                        tries += 1
                        if tries < _TRIES:
                            continue
                        failed[path] = name
                    tries = 0
                    self._undo.pop()
                self._clean = not failed
                return failed
            except KeyboardInterrupt as interrupt:
                self.interrupt = interrupt

    def _stage(self, write: Change) -> os.stat_result:
        """Write the new content beside the target."""
        self.shown = write.shown
        now = self.folders.state(write.path)
        if now is not None and write.old is not None and stat.S_ISREG(now.st_mode):
            now = self.folders.writable(write.path)
        _expect(write, now)
        name = self._hidden(write, "new")
        self._undo.append((self._drop, (name,), name, None))
        return self.folders.create(name, write.data or b"", write.like)

    def _hide(self, change: Change, name_it: "Callable[[str, str], None]") -> None:
        """Give the old file a hidden name."""
        name = self._hidden(change, "old")
        self._spare.append(name)
        self._undo.append((self._restore, (change.path, name), change.path, name))
        name_it(change.path, name)
        _expect(change, self.folders.state(name))

    def _link(self, path: str, name: str) -> None:
        """Give a file a second name; on a file system without hard links, its only one."""
        try:
            self.folders.link(path, name)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self.folders.rename(path, name)

    # Ask first whether a file exists: where nothing may be written, removing a missing one is refused too.

    def _drop(self, path: str) -> None:
        if self.folders.state(path) is not None:
            self.folders.unlink(path)

    def _restore(self, path: str, name: str) -> None:
        if self.folders.state(name) is not None:  # else it was not hidden, or is back already
            self.folders.rename(name, path)
            self._drop(name)  # both were names of one file still: then a rename does nothing

    def _unmake(self, path: str, made: os.stat_result) -> None:
        if same(self.folders.state(path), made):
            self._drop(path)

    def _unmake_folders(self) -> None:
        while made := self.folders.made:
            try:
                if self.folders.state(made[-1]) is not None:
                    self.folders.rmdir(made[-1])
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # else another process uses it now
                    raise
            made.pop()

    def _unmark(self) -> None:
        """Note, if possible, that targets are changed back: a `done` that failed may be there anyway."""
        try:
            self._journal.write(done=False)
        except OSError:
            pass

    def _hidden(self, change: Change, kind: str) -> str:
        return hidden(change.path, self._journal.token, self._numbers[change.path], kind)

    def _missing_folders(self, writes: "Sequence[Change]") -> list[str]:
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
        raise UnfitPatch(f"{change.shown} was changed by somebody else; read it again and make a new patch")
