"""Starts a command from this very process: for one that does nothing else and has no threads.

A job's supervisor is such a process. It is its own keeper: the reaper of its
command's whole tree, which it spawns, signals and ends without a helper. The
command may be started before the engine that runs it is even loaded.
"""

import os

from agent_exec.host.posix.keeper import tree
from agent_exec.host.posix.keeper.launch import LaunchError, spawn
from agent_exec.host.posix.program import DEFAULT_PATH, directory, find_program, launch_error, prepare
from agent_exec.host.posix.signals import listen_for_children

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Mapping, Sequence

    from agent_exec.host.ports import Loop, Sink
    from agent_exec.host.posix.process.local_process import LocalProcess
    from agent_exec.model.command import Command, Launch
else:
    import _signal


class LocalSpawner:
    """Gives one launch a process below this one; `stdin` is its input, and the taker's to close."""

    __slots__ = ("ahead", "current", "gone", "name", "stdin", "wake")

    def __init__(self, stdin: int = -1, name: str | None = None) -> None:
        self.stdin = stdin
        self.name = name
        """What the tree is called, where trees have names."""
        self.ahead: tuple[int, int, tuple[int, int]] | None = None
        """The command, once it is started: its pid, its start, and our ends of its stdout and stderr."""
        self.current: LocalProcess | None = None
        """The one process, for what was left alive after its run."""
        self.gone = False
        """Whether nothing of the tree is left, also of what was to be left alive."""
        tree.become_reaper(tree.SUPERVISOR)
        self.wake = listen_for_children()

    def call(self, name: str) -> None:
        """Let all that we start be found by a name, however it hides."""
        from agent_exec.host.posix.detached.brand import brand

        self.name = name
        brand(name)

    @staticmethod
    def preload() -> None:
        """Load what `call` and `process` will need."""
        import agent_exec.host.posix.detached.brand
        import agent_exec.host.posix.process.local_process  # noqa: F401

    def start(
        self,
        argv: "Sequence[str | bytes]",
        cwd: str | bytes,
        env: "Mapping[str, str] | Mapping[bytes, bytes]",
    ) -> tuple[int, int] | None:
        """Start the command ahead of its run; give its pid and start, or None where it must wait for that."""
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
            from agent_exec.model.errors import LaunchFailed

            raise LaunchFailed(f"no pipes for the command: {error.strerror}", errno=error.errno) from error
        finally:
            for fd in theirs[-len(ours) :] if ours else []:
                os.close(fd)
        try:
            _, start = tree.parent_and_start(pid)
        except OSError:
            start = 0
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
        from agent_exec.host.posix.process.local_process import LocalProcess

        self.current = LocalProcess(self, launch, loop, sink)
        return self.current

    def abandon(self) -> None:
        """End by force all that was started, and wait until it is gone."""
        tree.sweep(lambda _pid, _status: None)
        self.gone = True

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
