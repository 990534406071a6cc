"""Starts a command from this very process: for one that does nothing else and has no threads.

A job's supervisor is such a process. It is its own keeper: the reaper of its
command's whole tree, which it spawns, signals and ends without a helper. The
command may be started before the engine that runs it is even loaded.
"""

import os
import resource
import sys

from agent_exec.host.posix import signals
from agent_exec.host.posix.descriptors import READ
from agent_exec.host.posix.detached import brand_of
from agent_exec.host.posix.keeper import tree
from agent_exec.host.posix.keeper.launch import LaunchError, spawn
from agent_exec.host.posix.process.streams import Streamed
from agent_exec.host.posix.program import DEFAULT_PATH, directory, find_program, launch_error, prepare
from agent_exec.host.posix.system import start_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Mapping, Sequence

    from agent_exec.host.ports import Loop, Sink
    from agent_exec.model import errors
    from agent_exec.model.command import Command, Launch
else:
    from agent_exec.model.lazy import Later

    errors = Later("agent_exec.model.errors")  # a start that succeeds needs none
    import _signal


class LocalSpawner:
    """Gives one launch a process below this one; `stdin` is its input, closed by the caller."""

    __slots__ = ("ahead", "current", "gone", "name", "stdin", "wake")

    def __init__(self, stdin: int = -1, name: str | None = None) -> None:
        self.stdin = stdin
        self.name = name
        """The name of the tree, where trees have names."""
        self.ahead: tuple[int, int, tuple[int, int]] | None = None
        """The command, once it is started: its pid, its start, and our ends of its stdout and stderr."""
        self.current: LocalProcess | None = None
        """The one process, for what was left alive after its run."""
        self.gone = False
        """Whether nothing of the tree is left, also of what was to be left alive."""
        tree.become_reaper(tree.SUPERVISOR)
        self.wake = signals.listen_for_children()

    def call(self, name: str) -> None:
        """Mark this process, and all that it starts from now on, with a number made of a name (Linux).

        It tells whose a process is that has emptied its environment, left its
        session and lost its parent. The number is a limit that nothing reaches:
        the microseconds of real-time computing without a pause, ten thousand years.
        """
        self.name = name
        if sys.platform == "linux":
            try:
                _, most = resource.getrlimit(resource.RLIMIT_RTTIME)
                resource.setrlimit(resource.RLIMIT_RTTIME, (brand_of(name), most))
            except (OSError, ValueError):
                return  # the system's administrator has set a lower limit

    def start(
        self,
        argv: "Sequence[str | bytes]",
        cwd: str | bytes,
        env: "Mapping[str, str] | Mapping[bytes, bytes]",
    ) -> tuple[int, int] | None:
        """Start the command ahead of its run; return its pid and start, or None where it must wait."""
        words = tuple(os.fsencode(word) for word in argv)
        variables = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
        folder = directory(cwd)
        program = find_program(words[0], folder, variables.get(b"PATH", DEFAULT_PATH))
        ours: list[int] = []
        theirs = [self.stdin] if self.stdin >= 0 else []
        try:
            for _ in range(2):
                reader, writer = os.pipe()
                ours.append(reader)
                theirs.append(writer)
            pid = spawn(program, words, folder, variables, theirs)
        except (LaunchError, OSError) as error:
            for fd in ours:
                os.close(fd)
            if isinstance(error, LaunchError):
                raise launch_error(error.step, error.error, program, words[0], folder) from None
            raise errors.LaunchFailed(
                f"no pipes for the command: {error.strerror}", errno=error.errno
            ) from error
        finally:
            for fd in theirs[-len(ours) :] if ours else []:
                os.close(fd)
        start = start_of(pid)
        self.ahead = pid, start, (ours[0], ours[1])
        return pid, start

    def prepare(self, command: "Command") -> "Launch":
        """Turn what was asked into what will be spawned, or has been."""
        if self.ahead is None:
            return prepare(command)
        from agent_exec.model.command import Launch

        # Looked up once is enough: a program may take itself away while it runs.
        return Launch(
            program=command.argv[0],
            argv=command.argv,
            cwd=command.cwd or "/",
            env=command.env or {},  # type: ignore[arg-type]
            tty=command.tty,
            size=command.size,
            input=command.interactive,
        )

    def process(self, launch: "Launch", loop: "Loop", sink: "Sink") -> "LocalProcess":
        """Return the process of a launch, not spawned yet."""
        self.current = LocalProcess(self, launch, loop, sink)
        return self.current

    def abandon(self) -> None:
        """End by force all that was started, and wait until it is gone."""
        tree.end()
        self.gone = True

    def close(self) -> None:
        """Stop listening; harmless when repeated."""
        if self.wake >= 0:
            writer = _signal.set_wakeup_fd(-1)
            for fd in (writer, self.wake):
                os.close(fd)
            self.wake = -1


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
        """Start it unless it was started; the sink is called with what happens to it."""
        launch = self._launch
        if launch.tty or launch.input:
            raise errors.Unsupported(
                "this process gives a command neither a terminal nor more input than it has"
            )
        if self._spawner.ahead is None:
            self._spawner.start(launch.argv, launch.cwd, launch.env)
        assert self._spawner.ahead is not None
        self._main, start, ends = self._spawner.ahead
        self._read_from(*ends)
        self._loop.watch(self._spawner.wake, READ, self._wake)
        self._begin_streams()
        self._sink.started(self._main, start)

    def signal(self, number: int) -> None:
        """Signal every process of the tree."""
        tree.signal_all(number)

    def terminate(self, number: int = signals.TERM) -> None:
        """Ask every process of the tree to end."""
        self.tally = max(self.tally[0], tree.count()), 0
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
            tree.end()
        self._close_streams()

    def _wake(self, _events: int) -> None:
        """Reap what has exited, and tell the run what it has to know."""
        os.read(self._spawner.wake, 4096)
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
        status, survivors, ended = tree.end(self._main, exited=self._exited)
        self.tally = max(self.tally[0], ended), survivors
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
