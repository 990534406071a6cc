"""A command in the hands of this very process: what a keeper does for others, done for one run of our own."""

from agent_exec.host.posix import signals
from agent_exec.host.posix.keeper import tree
from agent_exec.host.posix.poller import READ
from agent_exec.host.posix.process.base_process import Streamed
from agent_exec.host.posix.process.pipes import Reader
from agent_exec.model.errors import Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.ports import Loop, Sink
    from agent_exec.host.posix.process.local_spawner import LocalSpawner
    from agent_exec.model.command import Launch


class LocalProcess(Streamed):
    """A command whose tree hangs below this process; the same promises as a Process in a keeper's hands."""

    __slots__ = ("_exited", "_left", "_main", "_spawner")

    def __init__(self, spawner: "LocalSpawner", launch: "Launch", loop: "Loop", sink: "Sink") -> None:
        super().__init__(launch, loop, sink)
        self._spawner = spawner
        self._main = 0
        self._exited = False
        self._left = False

    def spawn(self) -> None:
        """Have it started, unless it was; what becomes of it is told to the sink."""
        launch = self._launch
        if launch.tty or launch.input:
            raise Unsupported("this process gives a command neither a terminal nor more input than it has")
        if self._spawner.ahead is None:
            self._spawner.start(launch.argv, launch.cwd, launch.env)
        assert self._spawner.ahead is not None
        self._main, start, ends = self._spawner.ahead
        stdout, stderr = ends
        self._readers.append(Reader(stdout, "stdout", self._loop, self._sink))
        self._readers.append(Reader(stderr, "stderr", self._loop, self._sink))
        self._loop.watch(self._spawner.wake, READ, self._wake)
        self._begin_streams()
        self._sink.started(self._main, start)

    def signal(self, number: int) -> None:
        """Signal every process of the tree."""
        tree.signal_all(number)

    def terminate(self, number: int = signals.TERM) -> None:
        """Ask every process of the tree to end."""
        tree.terminate_all(number)

    def kill(self) -> None:
        """End every process of the tree by force."""
        if self._main:
            self._loop.post(self._end)  # as a keeper's answer would come: not from inside the call

    def leave(self) -> None:
        """Let what is left of the tree live, and go on taking its output until it is gone."""
        self._left = True

    def abandon(self, grace: float) -> None:
        """End the tree without the loop's help, and wait until it is gone; reports nothing more."""
        if self._main:
            self._main = 0
            self._loop.unwatch(self._spawner.wake)
            tree.terminate_all(signals.TERM)
            tree.wait_for_none(grace)
            tree.sweep(lambda _pid, _status: None)
        self._close_streams()

    def _wake(self, _events: int) -> None:
        """Reap who has exited, and tell the run what it has to know."""
        self._spawner.hear()
        status, empty = tree.reap(self._main, exited=self._exited)
        if not self._main:
            return
        if status is not None:
            self._exited = True
            self._tell_exit(self._main, status, alone=empty)
        if empty and self._exited:
            self._empty(survivors=0)

    def _end(self) -> None:
        """End the tree by force, and tell so."""
        if not self._main:
            return
        status, survivors = tree.end(self._main, exited=self._exited)
        if status is not None:
            self._exited = True
            self._tell_exit(self._main, status, alone=False)
        self._empty(survivors)

    def _empty(self, survivors: int) -> None:
        self._main = 0
        self._loop.unwatch(self._spawner.wake)
        leaked = self._finish_streams()
        self._spawner.gone = True
        if not self._left:
            self._sink.emptied(leaked=leaked or survivors > 0)
