"""The input of a command in a box: passed on through a pipe, as the command takes it.

A descriptor of ours is not handed into a box: what it leads to could be
opened anew there, past the walls.
"""

import os

from agent_exec.host.posix.descriptors import READ, WRITE
from agent_exec.host.posix.process.process import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.ports import Loop, Sink
    from agent_exec.host.posix.process.spawner import Spawner
    from agent_exec.model.command import Launch

_CHUNK = 1 << 16


class FedProcess(Process):
    """A process in a keeper's hands, whose input comes from a descriptor."""

    __slots__ = ("_feed",)

    def __init__(self, spawner: "Spawner", launch: "Launch", loop: "Loop", sink: "Sink", source: int) -> None:
        super().__init__(spawner, launch, loop, sink)
        self._feed = Feed(source, loop)

    def _make_pipes(self, theirs: list[int]) -> None:
        theirs.append(self._feed.begin())
        super()._make_pipes(theirs)

    def _close_streams(self) -> None:
        self._feed.close()
        super()._close_streams()


class Feed:
    """Passes on what a descriptor gives, chunk by chunk: nothing is read before it can be written."""

    __slots__ = ("_loop", "_pending", "_source", "_writer")

    def __init__(self, source: int, loop: "Loop") -> None:
        self._source = source
        self._loop = loop
        self._writer = -1
        self._pending = memoryview(b"")

    def begin(self) -> int:
        """Begin; return the end of a pipe to read from, which the caller closes."""
        reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._loop.watch(self._source, READ, self._take)
        return reader

    def close(self) -> None:
        """Pass on no more; harmless when repeated."""
        fds, self._source, self._writer = (self._source, self._writer), -1, -1
        for fd in fds:
            if fd >= 0:
                self._loop.unwatch(fd)
                os.close(fd)

    def _take(self, _events: int) -> None:
        """Read once, and no more before that is passed on."""
        try:
            self._pending = memoryview(os.read(self._source, _CHUNK))
        except BlockingIOError:
            return
        except OSError:
            pass  # nothing more can be had
        if not self._pending:
            self.close()
        elif not self._pass_on():
            self._loop.unwatch(self._source)
            self._loop.watch(self._writer, WRITE, self._go_on)

    def _go_on(self, _events: int) -> None:
        if self._pass_on() and self._writer >= 0:
            self._loop.unwatch(self._writer)
            self._loop.watch(self._source, READ, self._take)

    def _pass_on(self) -> bool:
        """Write once; True if nothing waits any more."""
        try:
            self._pending = self._pending[os.write(self._writer, self._pending) :]
        except BlockingIOError:
            pass
        except OSError:
            self._pending = memoryview(b"")
            self.close()  # the command has closed its input, which is its right
        return not self._pending
