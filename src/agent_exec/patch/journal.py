"""The journal of a patch: by it, a patch that fails is undone, and one that was killed is, by the next patch.

The journal names every file before the first is touched. It is locked for as
long as its writer lives, and its last whole line says how far that has come.
It lies with our own state, where no confined command can write, and not in
the workspace: what it says is done without asking again.
"""

import errno
import os

from agent_exec.host import FileLock
from agent_exec.logs.folders import Folders
from agent_exec.model.jsonline import dump, load
from agent_exec.places import STATE, make_folder, place, sessions_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_BLOCK = 1 << 20
_TRIES = 3


def journals() -> tuple[str, str]:
    """Return the folders of journals: with our state, or where that cannot be written, a temporary one."""
    return place("patches", *STATE), os.path.join(sessions_folder(), "patches")


class Journal:
    """The journal of one patch that is being applied; `token` is in all its hidden names.

    `said` has the fields that were written: `changes` are the paths with their
    old identities, `folders` those that are to be made, `made` the new files
    in the order of the changes: once that is written, targets change. `done`
    says whether all have changed.
    """

    __slots__ = ("_lock", "said", "token")

    def __init__(self) -> None:
        self.token = os.urandom(6).hex()
        self.said: dict[str, Any] = {}
        self._lock = FileLock(os.path.join(journals()[0], self.token))

    @property
    def path(self) -> str:
        """The path of its file."""
        return self._lock.path

    def open(self) -> None:
        """Make the file, and lock it; raise OSError if there is no place for it."""
        try:
            self._acquire()
        except OSError:
            self._lock.release()
            self._lock = FileLock(os.path.join(journals()[1], self.token))
            self._acquire()

    def write(self, **fields: object) -> None:
        """Add a line."""
        self.said.update(fields)
        data = memoryview(f"\n{dump(fields)}\n".encode())  # the line before may have been cut short
        while data:
            data = data[os.write(self._lock.fd, data) :]
        os.fsync(self._lock.fd)

    def mark_undone(self, made_folders: "Sequence[str]") -> None:
        """Note, if possible, that targets are changed back: a `done` that failed may be there anyway."""
        try:
            self.write(done=False, folders=made_folders)
        except OSError:
            pass

    def hidden(self, number: int, kind: str) -> str:
        """Return the hidden name beside the target of a change: "new" for its content, "old" for its file."""
        return _hidden(self.said["changes"][number][0], self.token, number, kind)

    def close(self, *, keep: bool) -> None:
        """Close the journal, and remove it unless something is left to be cleaned up."""
        try:
            if not keep:
                _remove(self._lock)
        finally:
            self._lock.release()

    def _acquire(self) -> None:
        folder = os.path.dirname(self.path)
        make_folder(folder)
        if not _ours_alone(folder):
            raise PermissionError(errno.EPERM, "the folder is not this user's alone; remove it", folder)
        self._lock.acquire(wait=True)
        while not os.fstat(self._lock.fd).st_nlink:  # taken for one that was left, before it was locked
            self._lock.release()
            self._lock.acquire(wait=True)


def recover() -> None:
    """Undo, or clean up after, every patch of this user whose process was killed."""
    for folder in journals():
        try:
            names = os.listdir(folder) if _ours_alone(folder) else ()
        except OSError:
            continue
        for name in names:
            lock = FileLock(os.path.join(folder, name))
            folders = Folders()
            try:
                if name.isalnum() and lock.acquire() and not settle(_read(lock.fd), name, folders):
                    _remove(lock)
            except (OSError, ValueError, KeyError, TypeError):
                continue  # not now, or not a journal
            finally:
                folders.close()
                lock.release()


def settle(said: "dict[str, Any]", token: str, folders: Folders) -> "dict[str, str | None]":
    """Remove the hidden files of a patch; unless it is done, first undo it where nothing was written since.

    Return each path where that failed, with the hidden name of its old file.
    All of this may be done twice.
    """
    failed: dict[str, str | None] = {}
    undo = not said.get("done")
    made = said.get("made", ())
    for number, (path, was) in enumerate(said.get("changes", ())):
        new, old = (_hidden(path, token, number, kind) for kind in ("new", "old"))
        written = made[number] if number < len(made) else None
        if not _done(_drop, folders, new):
            failed[new] = None
        if undo and not _done(_restore, folders, path, old, was, written):
            failed[path] = old if was else None
        elif not _done(_drop, folders, old):
            failed[old] = old
    for folder in reversed(said.get("folders", ())) if undo else ():
        if not _done(_drop_folder, folders, folder):
            failed[folder] = None
    return failed


def identity(state: os.stat_result | None) -> list[int] | None:
    """Return what tells a file from others, and from itself after it was written."""
    return None if state is None else [state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns]


def _done(step: "Callable[..., object]", *arguments: object) -> bool:
    """Take a step, again if the system refuses; True if that went well, or its folder is gone."""
    for _ in range(_TRIES):
        try:
            step(*arguments)
        except NotADirectoryError:
            return True  # a file or a link is where its folder was
        except OSError:
            continue
        return True
    return False


def _restore(folders: Folders, path: str, old: str, was: object, written: object) -> None:
    now = identity(folders.state(path))
    ours = written is not None and now == written
    if was is None:
        if ours:
            folders.unlink(path)
    elif (ours or now is None) and identity(folders.state(old)) == was:
        folders.rename(old, path)


def _drop(folders: Folders, path: str) -> None:
    # Ask first whether a file exists: where nothing may be written, removing a missing one is refused too.
    if folders.state(path) is not None:
        folders.unlink(path)


def _drop_folder(folders: Folders, path: str) -> None:
    try:
        if folders.state(path) is not None:
            folders.rmdir(path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # else another process uses it now
            raise


def _hidden(path: str, token: str, number: int, kind: str) -> str:
    return os.path.join(os.path.dirname(path), f".patch-{token}-{number}.{kind}")


def _ours_alone(folder: str) -> bool:
    """True if a folder, and the one that it is in, are this user's and not everybody's to write."""
    if not hasattr(os, "getuid"):
        return True
    return all(
        (found.st_uid, found.st_mode & 0o002) == (os.getuid(), 0)
        for found in map(os.lstat, (folder, os.path.dirname(folder)))
    )


def _remove(lock: FileLock) -> None:
    """Remove a journal that we have locked, and unlock it."""
    for _ in range(2):  # where files that are open cannot be removed, it is the second time
        try:
            os.unlink(lock.path)
            break
        except OSError:
            lock.release()
    lock.release()


def _read(fd: int) -> "dict[str, Any]":
    blocks = []
    while block := os.read(fd, _BLOCK):
        blocks.append(block)
    said: dict[str, Any] = {}
    for line in b"".join(blocks).decode().split("\n")[:-1]:
        try:
            said.update(load(line))
        except ValueError:
            continue  # empty, or cut short
    return said
