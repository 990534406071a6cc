"""Waits for changes in a folder, and for the end of processes that own pipes; without polling on Linux."""

import os

from agent_exec.host.posix.descriptors import READ, wait_for
from agent_exec.host.posix.detached import Watch, descriptor_of
from agent_exec.host.posix.lock import inotify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from agent_exec.model.cancel import Cancel

_WRITTEN, _CLOSED, _MOVED_TO, _CREATED = 0x2, 0x8, 0x80, 0x100
_LONGEST = 1 << 16
_LOOK = 0.1
"""How often to look where the system does not report changes."""


class Changes:
    """The changes of the files of some folders, and the ends of some pipes' owners; to be closed.

    The descriptor `fd` becomes readable when a file changes; -1 where the system does not report that.
    With `closed`, it does so too when a file is closed that was open for writing, as a lock is when its
    holder ends: the lock is free a moment later.
    """

    __slots__ = ("_pipes", "fd")

    def __init__(self, *folders: str, closed: bool = False) -> None:
        events = _WRITTEN | _MOVED_TO | _CREATED | (_CLOSED if closed else 0)
        self.fd = inotify(events, *map(os.fsencode, folders))
        self._pipes: dict[str, Watch] = {}

    def watch(self, pipes: "Collection[str]") -> None:
        """Wake up when the owner of one of these pipes has gone, too; of others no more."""
        for pipe in self._pipes.keys() - set(pipes):
            self._pipes.pop(pipe).close()
        for pipe in pipes:
            if pipe not in self._pipes:
                self._pipes[pipe] = Watch(pipe)

    def wait(self, seconds: float | None, cancel: "Cancel | None" = None) -> bool:
        """Wait for a change, at most so long, or until `cancel` is set; True if an owner has gone."""
        if self.fd < 0:
            seconds = _LOOK if seconds is None else min(seconds, _LOOK)
        owners = {descriptor_of(watch): pipe for pipe, watch in self._pipes.items() if watch.hears}
        ready = wait_for([(self.fd, READ), *((fd, 0) for fd in owners)], seconds, cancel)
        if self.fd in ready:
            self.read()
        gone = [owners[fd] for fd in ready if fd in owners]
        for pipe in gone:
            self._pipes.pop(pipe).close()  # or it would wake us again and again
        return bool(gone)

    def read(self) -> None:
        """Take note of the changes, for a caller that has waited for the descriptor `fd` itself."""
        os.read(self.fd, _LONGEST)

    def close(self) -> None:
        """Wait no more; harmless when repeated."""
        self.watch(())
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
