"""Runs a command in the hands of this very process: for one that does nothing else and has no threads.

A job's supervisor is such a process. It is its own keeper: the reaper of its
command's whole tree, which it spawns, signals and ends without a helper.
"""

import os

from agent_exec.host.posix import descriptors, signals, tree
from agent_exec.host.posix import launch as launching
from agent_exec.host.posix.children import listen_for_children
from agent_exec.host.posix.poller import READ
from agent_exec.host.posix.program import launch_error
from agent_exec.host.posix.streamed import Streamed
from agent_exec.model.errors import LaunchFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal

    from agent_exec.host.ports import Loop, Sink
    from agent_exec.model.command import Launch
else:
    import _signal


class LocalProcess(Streamed):
    """A command whose tree hangs below this process; the same promises as a Process in a keeper's hands."""

    __slots__ = ("_exited", "_left", "_main", "_slave", "_spawner")

    def __init__(self, spawner: "LocalSpawner", launch: "Launch", loop: "Loop", sink: "Sink") -> None:
        super().__init__(launch, loop, sink)
        self._spawner = spawner
        self._main = 0
        self._slave = -1  # held open, or the terminal would end when the command closes its own
        self._exited = False
        self._left = False

    def spawn(self) -> None:
        """Start it; what becomes of it is told to the sink."""
        try:
            self._start()
        except BaseException:
            self._close_streams()
            raise
        self._loop.watch(self._spawner.wake, READ, self._wake)
        self._begin_streams()
        try:
            _, start = tree.parent_and_start(self._main)
        except OSError:
            start = 0
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
        self._close_terminal()
        self._close_streams()

    def _start(self) -> None:
        launch = self._launch
        env = {os.fsencode(name): os.fsencode(value) for name, value in launch.env.items()}
        program, cwd = os.fsencode(launch.program), os.fsencode(launch.cwd)
        argv = tuple(os.fsencode(word) for word in launch.argv)
        theirs: list[int] = []
        try:
            if launch.tty:
                size = (launch.size.rows, launch.size.columns)
                self._main, master, self._slave = launching.spawn_on_terminal(program, argv, cwd, env, size)
                self._open_terminal(master)
                return
            self._make_pipes(theirs)
            given = [self._spawner.stdin] if self._spawner.stdin >= 0 and not launch.input else []
            self._main = launching.spawn(program, argv, cwd, env, given + theirs)
        except launching.LaunchError as error:
            raise launch_error(launch, error.step, error.error) from None
        except OSError as error:
            raise LaunchFailed(f"no pipes for the command: {error.strerror}", errno=error.errno) from error
        finally:
            for fd in theirs:
                descriptors.close(fd)

    def _wake(self, _events: int) -> None:
        """Reap who has exited, and tell the run what it has to know."""
        self._spawner.hear()
        status = None
        empty = False
        while True:
            try:
                pid, code = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                empty = True
                break
            if pid == 0:
                break
            if os.WIFSTOPPED(code):
                tree.let_go(pid, code)
            elif pid == self._main and not self._exited:  # an orphan may wear its pid later
                status = code
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
        status: list[int] = []
        survivors = tree.sweep(
            lambda pid, code: status.append(code) if pid == self._main and not self._exited else None
        )
        if status:
            self._exited = True
            self._tell_exit(self._main, status[0], alone=False)
        self._empty(survivors)

    def _empty(self, survivors: int) -> None:
        self._main = 0
        self._loop.unwatch(self._spawner.wake)
        self._close_terminal()
        leaked = self._finish_streams()
        self._spawner.gone = True
        if not self._left:
            self._sink.emptied(leaked=leaked or survivors > 0)

    def _close_terminal(self) -> None:
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1


class LocalSpawner:
    """Gives one launch a process below this one; `stdin` is its input, and the taker's to close."""

    __slots__ = ("_process", "gone", "name", "stdin", "wake")

    def __init__(self, stdin: int = -1, name: str | None = None) -> None:
        self.stdin = stdin
        self.name = name
        """What the tree is called, where trees have names."""
        self._process: LocalProcess | None = None
        self.gone = False
        """Whether nothing of the tree is left, also of what was to be left alive."""
        tree.become_reaper()
        self.wake = listen_for_children()

    def process(self, launch: "Launch", loop: "Loop", sink: "Sink") -> LocalProcess:
        """Give the process of a launch, not spawned yet."""
        self._process = LocalProcess(self, launch, loop, sink)
        return self._process

    def end_left(self) -> None:
        """End by force what was left alive."""
        if self._process is not None:
            self._process.kill()

    def hear(self) -> None:
        """Take the note that a child has exited."""
        os.read(self.wake, 4096)

    def close(self) -> None:
        """Stop listening; harmless when repeated."""
        if self.wake >= 0:
            writer = _signal.set_wakeup_fd(-1)
            for fd in (writer, self.wake):
                os.close(fd)
            self.wake = -1
