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
    """A process in a keeper's hands, whose input is read from a descriptor as it can be passed on."""

    __slots__ = ("_pending", "_source", "_writer")

    def __init__(self, spawner: "Spawner", launch: "Launch", loop: "Loop", sink: "Sink", source: int) -> None:
        super().__init__(spawner, launch, loop, sink)
        self._source = source
        self._writer = -1
        self._pending = memoryview(b"")

    def _make_pipes(self, theirs: list[int]) -> None:
        reader, self._writer = os.pipe()
        theirs.append(reader)
        os.set_blocking(self._writer, False)
        self._loop.watch(self._source, READ, self._feed)
        super()._make_pipes(theirs)

    def _close_streams(self) -> None:
        self._close_feed()
        super()._close_streams()

    def _close_feed(self) -> None:
        """Pass on no more; harmless when repeated."""
        fds, self._source, self._writer = (self._source, self._writer), -1, -1
        for fd in fds:
            if fd >= 0:
                self._loop.unwatch(fd)
                os.close(fd)

    def _feed(self, _events: int) -> None:
        """Read once, and no more before that is passed on."""
        try:
            self._pending = memoryview(os.read(self._source, _CHUNK))
        except BlockingIOError:
            return
        except OSError:
            pass  # nothing more can be had
        if not self._pending:
            self._close_feed()
        elif not self._pass_on():
            self._loop.unwatch(self._source)
            self._loop.watch(self._writer, WRITE, self._go_on)

    def _go_on(self, _events: int) -> None:
        if self._pass_on() and self._writer >= 0:
            self._loop.unwatch(self._writer)
            self._loop.watch(self._source, READ, self._feed)

    def _pass_on(self) -> bool:
        """Write once; True if nothing waits any more."""
        try:
            self._pending = self._pending[os.write(self._writer, self._pending) :]
        except BlockingIOError:
            pass
        except OSError:
            self._pending = memoryview(b"")
            self._close_feed()  # the command has closed its input, which is its right
        return not self._pending
