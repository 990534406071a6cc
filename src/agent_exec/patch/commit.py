"""All changes of a patch, or none.

Every new content is written beside its target first, and every old file gets
a second, hidden name. Then all targets change, one rename each. Whatever
fails, an interrupt too, is undone from a journal in which each step is noted
before it is taken, and whose every entry may be done twice. When the last
target has changed the patch is applied; the hidden names are taken away.

A process that is killed by force cannot undo. Every file then is its old or
its new self, whole; what is half done, and the hidden files, named .patch-*,
are undone by the next patch: see `journal.py`.
"""

import errno
import os
import stat

from agent_exec.logs.folders import Folders, same
from agent_exec.model.value import Value
from agent_exec.patch.errors import PatchNotUndone, PatchNotWritten, UnfitPatch
from agent_exec.patch.journal import Journal, hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Entry = tuple[Callable[..., object], tuple[object, ...], str, str | None]  # step, path, hidden name

_TRIES = 3
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EMLINK, errno.EOPNOTSUPP, getattr(errno, "ENOTSUP", 0))


class Write(Value):
    """A file is to have this content; `like` is whose mode it gets, `old` what is there now."""

    path: str
    shown: str
    data: bytes
    old: os.stat_result | None = None
    like: os.stat_result | None = None


class Remove(Value):
    """A name is to be taken away; `old` is what has it now."""

    path: str
    shown: str
    old: os.stat_result


def commit(writes: "Sequence[Write]", removes: "Sequence[Remove]") -> tuple[str, ...]:
    """Make all changes and return the hidden names that could not be taken away; or change nothing and raise.

    A file that changed since it was planned is an UnfitPatch, a refusal of
    the system a PatchNotWritten. After a KeyboardInterrupt all is done or
    nothing is, as if it had come after or before.
    """
    if not writes and not removes:
        return ()
    work = _Work(writes, removes)
    try:
        try:
            work.change()
            left = work.settle()
        except BaseException as error:
            kept = work.settle()
            if kept and not work.applied:
                raise _failure(work.shown, error, kept) from error
            if work.interrupt is not None:
                raise work.interrupt from error
            if isinstance(error, OSError):
                raise _failure(work.shown, error, {}) from error
            raise
        if work.interrupt is not None:
            raise work.interrupt
        return tuple(left)
    finally:
        work.close()


def _failure(shown: str, error: BaseException, kept: "dict[str, str | None]") -> PatchNotWritten:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    if not kept:
        return PatchNotWritten(f"Failed to write file {shown}: {reason}; no file was changed", path=shown)
    told = ", ".join(f"{path} (kept in {name})" if name else f"{path} (new)" for path, name in kept.items())
    return PatchNotUndone(
        f"Failed to write file {shown}: {reason}; these could not be put back: {told}", path=shown, kept=kept
    )


class _Work:
    """One attempt, and the journal of it."""

    def __init__(self, writes: "Sequence[Write]", removes: "Sequence[Remove]") -> None:
        self.folders = Folders(make=True)
        self.shown = ""  # what is being worked on
        self._writes = writes
        self._removes = removes
        self._changes = [(one.path, one.old) for one in writes] + [(one.path, one.old) for one in removes]
        self._numbers = {path: number for number, (path, _) in enumerate(self._changes)}
        self._lasting = Journal()  # for the next process, if this one is killed
        self._clean = False  # whether no hidden name is left
        self._journal: list[Entry] = [(self._unmake_folders, (), "new folders", None)]
        self._spare: list[str] = []  # hidden names of old files
        self.applied = False
        self.interrupt: BaseException | None = None  # one that came when there was no stopping

    def change(self) -> None:
        writes, removes, lasting = self._writes, self._removes, self._lasting
        self.shown = lasting.path
        lasting.open()
        lasting.begin(self._changes, self._missing())
        staged = [self._stage(write) for write in writes]
        for remove in removes:
            self.shown = remove.shown
            _expect(self.folders.state(remove.path), remove.old, remove.shown)
        for write in writes:
            if write.old is not None:
                self._back_up(write)
        self.shown = lasting.path
        lasting.staged(made for _, made in staged)
        for write, (name, made) in zip(writes, staged, strict=True):
            self._put(write, name, made)
        for remove in removes:
            self._take_away(remove)
        self.shown = lasting.path
        self._journal.append((lasting.undone, (), lasting.path, None))
        lasting.done()
        # All is done: from here on the old files are given up instead of put back.
        self._journal = [(self._drop, (name,), name, name) for name in self._spare]
        self.applied = True

    def close(self) -> None:
        """Let go of the folders, and of the journal, which stays if a hidden name does."""
        self.folders.close()
        self._lasting.close(keep=not self._clean)

    def settle(self) -> "dict[str, str | None]":
        """Do what the journal says, the last entry first, in spite of interrupts and of what passes.

        Gives what could not be done: the path, and the hidden name of its old file.
        """
        self.folders.make = False
        failed: dict[str, str | None] = {}
        tries = 0
        while True:
            try:
                while self._journal:
                    step, arguments, path, name = self._journal[-1]
                    try:
                        step(*arguments)
                    except OSError:
                        tries += 1
                        if tries < _TRIES:
                            continue
                        failed[path] = name
                    tries = 0
                    self._journal.pop()
                self._clean = not failed
                return failed
            except KeyboardInterrupt as interrupt:
                self.interrupt = interrupt

    def _stage(self, write: Write) -> tuple[str, os.stat_result]:
        """Write the new content beside the target."""
        self.shown = write.shown
        now = self.folders.state(write.path)
        if now is not None and write.old is not None and stat.S_ISREG(now.st_mode):
            now = self.folders.writable(write.path)
        _expect(now, write.old, write.shown)
        name = self._hidden(write.path, "new")
        self._journal.append((self._drop, (name,), name, None))
        return name, self.folders.create(name, write.data, write.like)

    def _back_up(self, write: Write) -> None:
        """Give the old file a second name; where there are no such, its only one."""
        self.shown = write.shown
        name = self._hidden(write.path, "old")
        self._spare.append(name)
        self._journal.append((self._restore, (write.path, name), write.path, name))
        try:
            self.folders.link(write.path, name)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self.folders.rename(write.path, name)
        _expect(self.folders.state(name), write.old, write.shown)

    def _put(self, write: Write, name: str, made: os.stat_result) -> None:
        self.shown = write.shown
        if write.old is None:
            self._journal.append((self._unmake, (write.path, made), write.path, None))
        self.folders.rename(name, write.path)

    def _take_away(self, remove: Remove) -> None:
        self.shown = remove.shown
        name = self._hidden(remove.path, "old")
        self._spare.append(name)
        self._journal.append((self._restore, (remove.path, name), remove.path, name))
        self.folders.rename(remove.path, name)

    # Whether a thing is there is asked first: where nothing may be written, what is missing is refused too.

    def _drop(self, path: str) -> None:
        if self.folders.state(path) is not None:
            self.folders.unlink(path)

    def _restore(self, path: str, name: str) -> None:
        if self.folders.state(name) is not None:  # else it was not taken, or is back already
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
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # else somebody uses it now
                    raise
            made.pop()

    def _hidden(self, path: str, kind: str) -> str:
        return hidden(path, self._lasting.token, self._numbers[path], kind)

    def _missing(self) -> list[str]:
        """Return the folders that have to be made, the outer before the inner."""
        found: set[str] = set()
        for write in self._writes:
            folder = os.path.dirname(write.path)
            while folder not in found and not os.path.lexists(folder):
                found.add(folder)
                folder = os.path.dirname(folder)
        return sorted(found)


def _expect(now: os.stat_result | None, planned: os.stat_result | None, shown: str) -> None:
    if not same(now, planned):
        raise UnfitPatch(f"{shown} was changed by somebody else; read it again and make a new patch")
