"""A patch that was killed half-way is undone by the next one: a journal says how.

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
    from typing import Any

_BLOCK = 1 << 20


def journals() -> tuple[str, str]:
    """Return the folders of journals: with our state, or where that cannot be written, a temporary one."""
    return place("patches", *STATE), os.path.join(sessions_folder(), "patches")


def hidden(path: str, token: str, number: int, kind: str) -> str:
    """Return the hidden name beside a target: of its content to be ("new"), or of the file it was ("old")."""
    return os.path.join(os.path.dirname(path), f".patch-{token}-{number}.{kind}")


class Journal:
    """The journal of one patch that is being applied; `token` is in all its hidden names."""

    __slots__ = ("_lock", "token")

    def __init__(self) -> None:
        self.token = os.urandom(6).hex()
        self._lock = FileLock(os.path.join(journals()[0], self.token))

    @property
    def path(self) -> str:
        """Where it is."""
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
        """Add a line.

        `changes` are the paths with their old identities, `folders` those that
        are to be made, `made` the new files in the order of the changes: once
        that is written, targets change. `done` says whether all have changed.
        """
        data = memoryview(f"\n{dump(fields)}\n".encode())  # the line before may have been cut short
        while data:
            data = data[os.write(self._lock.fd, data) :]
        os.fsync(self._lock.fd)

    def close(self, *, keep: bool) -> None:
        """Let go of the journal, and remove it unless something is left to be cleaned up."""
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
            if not _ours_alone(folder):
                continue
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            lock = FileLock(os.path.join(folder, name))
            try:
                if name.isalnum() and lock.acquire():
                    _settle(_read(lock.fd), name)
                    _remove(lock)
            except (OSError, ValueError, KeyError, TypeError):
                continue  # not now, or not a journal
            finally:
                lock.release()


def identity(state: os.stat_result | None) -> list[int] | None:
    """Return what tells a file from others, and from itself after it was written."""
    return None if state is None else [state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns]


def _ours_alone(folder: str) -> bool:
    """True if a folder, and the one that it is in, are this user's and not everybody's to write."""
    if not hasattr(os, "getuid"):
        return True
    return all(
        (found.st_uid, found.st_mode & 0o002) == (os.getuid(), 0)
        for found in map(os.lstat, (folder, os.path.dirname(folder)))
    )


def _remove(lock: FileLock) -> None:
    """Remove a journal that we have locked, and let go of it."""
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


def _settle(said: "dict[str, Any]", token: str) -> None:
    """Remove the old files of a patch that is done; else restore them where nothing was written since."""
    folders = Folders()
    undo = not said.get("done")
    made = said.get("made", ())
    try:
        for number, (path, was) in enumerate(said.get("changes", ())):
            new, old = (hidden(path, token, number, kind) for kind in ("new", "old"))
            try:
                if undo:
                    now = identity(folders.state(path))
                    written = number < len(made) and now == made[number]
                    if was is not None and (written or now is None) and identity(folders.state(old)) == was:
                        folders.rename(old, path)
                    elif was is None and written:
                        folders.unlink(path)
                for name in (new, old):
                    if folders.state(name) is not None:
                        folders.unlink(name)
            except NotADirectoryError:
                continue  # a file or a link is where its folder was
        for folder in reversed(said.get("folders", ())) if undo else ():
            try:
                folders.rmdir(folder)
            except OSError:
                continue  # somebody uses it, or it was never made
    finally:
        folders.close()
