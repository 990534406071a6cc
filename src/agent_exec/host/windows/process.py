"""One run: its process tree in a job, its streams and its end watched by threads that call the loop.

Threads only wait. Whatever the run's sink hears, it hears in the loop, and
before the last of it every thread is gone and every handle closed.
"""

from threading import Thread

from agent_exec.host.windows import console, kernel, signals
from agent_exec.host.windows.jobobject import Job
from agent_exec.host.windows.launch import Spawned, Terminal, spawn
from agent_exec.host.windows.pipes import Reader, TerminalReader, TerminalWriter, Writer
from agent_exec.model.errors import AgentExecError, InputClosed, InvalidState, LaunchFailed, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.ports import Loop, Sink
    from agent_exec.host.windows.spawner import LocalSpawner, Spawner
    from agent_exec.model.command import Launch

_END_OF_INPUT = b"\x1a\r"
_INTERRUPT = b"\x03"
# A console's host belongs to the job and goes by itself, a moment after the last program on it.
_SETTLE = 0.05
_ENOUGH = 16


class Process:
    """A command, spawned or about to be; lives in the loop, and reports until it is emptied or failed."""

    __slots__ = (
        "_input",
        "_job",
        "_killed",
        "_launch",
        "_loop",
        "_readers",
        "_sink",
        "_spawned",
        "_spawner",
        "_stop",
        "_terminal",
        "_watcher",
        "network",
        "tally",
    )

    def __init__(
        self, spawner: "Spawner | LocalSpawner", launch: "Launch", loop: "Loop", sink: "Sink"
    ) -> None:
        self._spawner = spawner
        self._launch = launch
        self._loop = loop
        self._sink: Sink | None = sink  # not called any more once everything is released
        self._job: Job | None = None
        self._spawned: Spawned | None = None
        self._terminal: Terminal | None = None
        self._readers: list[Reader] = []
        self._input: Writer | None = None
        self._watcher: Thread | None = None
        self._stop = 0  # the event that tells the threads of the streams to end
        self._killed = False
        self.network: list[dict[str, object]] = []  # there are no boxes here
        self.tally = (0, 0)

    def gaze(self) -> None:
        """Give nothing: this system does not show what a program waits for."""

    def release(self) -> None:
        """Refuse to let go of it."""
        raise not_here()

    def spawn(self) -> None:
        """Start it; the sink is called with what happens to it."""
        self._spawner.check()
        try:
            self._start()
        except AgentExecError:
            self._release()
            raise
        except (OSError, RuntimeError) as error:  # no handle, or no thread, can be had
            self.abandon(0)
            raise LaunchFailed(f"the system has nothing left for the command: {error}") from error

    @property
    def takes_now(self) -> bool:
        """True if `write` may be called from outside the loop now: its writer keeps what comes in order."""
        return self._input is not None

    @property
    def unread(self) -> int:
        """How many bytes of its input wait; not known here, hence none."""
        return 0

    def write(self, data: bytes) -> None:
        """Feed the command's input."""
        writer = self._input
        if writer is None or writer.closed:
            raise InputClosed(
                "this command takes no input: start it with interactive=True or a tty to write to it"
            )
        writer.write(data)

    def end_input(self) -> None:
        """Tell the command that no more input comes; on a terminal, as a person would."""
        if self._input is None:
            return
        if self._terminal is not None:
            self._input.write(_END_OF_INPUT)
        else:
            self._input.end()

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size."""
        if not self._launch.tty:
            raise InvalidState("this command has no terminal: start it with tty=True to resize it")
        if self._terminal is not None:
            self._terminal.resize(rows, columns)

    def signal(self, number: int) -> None:
        """Send a break to the tree, or kill it if that is the signal; there are no others here."""
        if number == signals.KILL:
            self.kill()
        else:
            self.terminate()

    def terminate(self, number: int = signals.TERM) -> None:  # noqa: ARG002 - there is one way to ask
        """Ask every process of the tree to end: by a break on its console, which not every program has."""
        if self._job is None:
            return
        if self._terminal is not None and self._input is not None:
            self._input.write(_INTERRUPT)
            return
        # Any member may lead to the console: the main process may be gone, or have none.
        members: dict[int, int] = {}
        try:
            for pid in self._job.pids()[:_ENOUGH]:
                handle = kernel.open_process(pid, kernel.LOOK)
                if handle is not None:
                    members[pid] = handle
            # Still members now that they are pinned: no other process has taken a pid over.
            pinned = set(self._job.pids()).intersection(members)
            if pinned:
                console.send_break({pid: members[pid] for pid in members if pid in pinned}, console.EVERYONE)
        except OSError:
            return  # what we may not even look at will meet the end of its grace
        finally:
            for handle in members.values():
                kernel.close(handle)

    def kill(self) -> None:
        """End every process of the tree by force."""
        if self._job is not None:
            self._killed = True
            self._job.kill(signals.KILLED)

    def leave(self) -> None:
        """Give up what is left of the tree, and let it live; reports nothing more."""
        if self._job is None:
            return
        for reader in self._readers:
            reader.hasten(patient=False)
        self._job.leave()
        if self._watcher is not None:
            self._watcher.join()
        self._finish_streams()
        for reader in self._readers:
            reader.take()
        self._release()

    def abandon(self, grace: float) -> None:
        """End the tree without the loop's help, and wait until it is gone; reports nothing more.

        For the moment when an exception has left the loop in an unknown state.
        """
        for reader in self._readers:
            reader.discard()
        if self._watcher is not None:
            self.terminate()
            self._watcher.join(grace)
            self.kill()
            self._watcher.join()
        elif self._spawned is not None and self._job is not None:
            self.kill()
            kernel.wait(self._spawned.process, None)
            self._finish_streams()
        self._release()

    def _start(self) -> None:
        """Start the command and the threads that wait for what it does."""
        launch, sink = self._launch, self._sink
        assert sink is not None
        self._stop = kernel.create_event(manual=True)
        self._job = Job(self._spawner.name)
        if launch.tty:
            self._terminal = Terminal(launch, self._job)
            self._spawned = self._terminal.spawned
            self._readers.append(TerminalReader(self._terminal, self._stop, self._loop, sink))
            self._input = TerminalWriter(self._terminal, self._stop)
        else:
            spawned = self._spawned = spawn(launch, self._job, self._spawner.stdin)
            self._readers.append(Reader(spawned.stdout, "stdout", self._stop, self._loop, sink))
            self._readers.append(Reader(spawned.stderr, "stderr", self._stop, self._loop, sink))
            if spawned.stdin:
                stdin, spawned.stdin = spawned.stdin, 0  # its writer closes it
                self._input = Writer(stdin, self._stop)
        sink.started(self._spawned.pid, kernel.creation_time(self._spawned.process))
        args = (self._job, self._spawned.process)
        self._watcher = Thread(target=self._watch, args=args, name="agent-exec watcher", daemon=True)
        self._watcher.start()

    def _watch(self, job: Job, process: int) -> None:
        """Wait for the end of the main process, then of the others, and report both; in a thread."""
        kernel.wait(process, None)
        code = kernel.exit_code(process)
        alone = job.active() == 0
        if not alone:
            job.listen()
            alone = job.wait_until_empty(_SETTLE)
        if not alone:
            self._loop.post(lambda: self._exited(code))
            if not job.wait_until_empty():
                return  # the rest was left
        leaked = self._finish_streams()
        self._loop.post(lambda: self._emptied(code if alone else None, leaked=leaked))

    def _finish_streams(self) -> bool:
        """Let the streams come to their end; say whether a stranger holds the output open."""
        for reader in self._readers:
            reader.hasten(patient=True)
        kernel.set_event(self._stop)
        if self._input is not None:
            self._input.end()
            self._input.join()
        for reader in self._readers:
            reader.join()
        return any(reader.held for reader in self._readers)

    def _exited(self, code: int) -> None:
        if self._sink is not None and self._spawned is not None:
            exit_code, signal = signals.ending(code, killed=self._killed)
            self._sink.exited(self._spawned.pid, exit_code, signal, alone=False)

    def _emptied(self, code: int | None, *, leaked: bool) -> None:
        """Handle the end of the tree, with the exit code of the main process if it was not reported yet."""
        sink, spawned = self._sink, self._spawned
        if sink is None or spawned is None:
            return  # it was left or abandoned in the meantime
        if self._watcher is not None:
            self._watcher.join()
        self._release()
        if code is not None:
            exit_code, signal = signals.ending(code, killed=self._killed)
            sink.exited(spawned.pid, exit_code, signal, alone=True)
        self._tell_end(sink, leaked=leaked)

    def _tell_end(self, sink: "Sink", *, leaked: bool) -> None:
        sink.emptied(leaked=leaked)

    def _release(self) -> None:
        """Give everything back; nothing of ours may be running any more. Harmless when repeated."""
        if self._spawned is not None:
            self._spawned.close()
        if self._terminal is not None:
            self._terminal.close()
        if self._job is not None:
            self._job.close()
        if self._stop:
            kernel.close(self._stop)
        self._job = self._spawned = self._terminal = self._input = self._watcher = self._sink = None
        self._stop = 0
        self._readers = []


def not_here() -> Unsupported:
    """Return why a command cannot be handed over, and what to do."""
    return Unsupported(
        "a running command cannot be handed over on this system; run it as a job from the start, "
        "with agent-exec run"
    )
