"""Goes on with a command that another process has let go of: the same promises as for one of our own."""

import os

from agent_exec.host.posix.descriptors import READ, wait_for
from agent_exec.host.posix.keeper import tree, wire
from agent_exec.host.posix.process.process import Process
from agent_exec.host.posix.process.spawner import Keeper, Spawner
from agent_exec.host.posix.process.streams import Writer
from agent_exec.model.box_spec import Box
from agent_exec.model.command import Launch, Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.host.ports import Loop, Sink
    from agent_exec.model.command import Command


class Adopted:
    """Gives the one process that was handed to us; for a process that does nothing else.

    It is ours from `start` on: its keeper lives as long as we do. `fds` and
    `facts` are those of a Handed, sent by the former owner.
    """

    __slots__ = ("_facts", "_fds", "_process", "_spawner", "lock")

    gone = True
    """Whether nothing of the tree is left, once the run is over."""
    current = None
    stdin = -1
    """No descriptor for the caller to close."""

    def __init__(self, fds: "Sequence[int]", facts: "Mapping[str, Any]") -> None:
        self._fds = tuple(fds)
        self._facts = facts
        self._spawner = Spawner()
        self._process: AdoptedProcess | None = None
        self.lock = -1
        """The descriptor of our lock, to be set before `start`."""
        tree.become_reaper(tree.SUPERVISOR)

    def wait_for_word(self, fd: int) -> bool:
        """Wait for a word on a descriptor; False if none comes, or the keeper is gone before."""
        while True:
            ready = wait_for([(fd, READ), (self._fds[0], 0)], None)
            if fd in ready:
                return bool(os.read(fd, 1))
            if ready:
                return False

    def start(self, _argv: "Sequence[Any]", _cwd: str | bytes, _env: "Mapping[Any, Any]") -> None:
        """Own the command from now on, with a keeper that holds our lock too; its run tells its pid."""
        sock = wire.from_descriptor(os.dup(self._fds[0]))
        us = os.pidfd_open(os.getpid())
        try:
            wire.send_request(sock, (wire.OWNER,), [us, self.lock])
        except OSError:
            return  # the keeper is gone, and the process will say so
        finally:
            os.close(us)
            sock.close()

    def prepare(self, command: "Command") -> Launch:
        """Return what has been spawned."""
        facts = self._facts
        box = None
        if facts["box"] is not None:
            digest, steps, own_pids = facts["box"]
            box = Box(digest, "", {}, tuple(steps), own_pids=own_pids, reuse=False)
        rows, columns = facts["size"]
        return Launch(
            program=command.argv[0],
            argv=command.argv,
            cwd=command.cwd or "/",
            env={},
            tty=facts["tty"],
            size=Terminal(rows, columns),
            input=self._fds[4] >= 0,
            box=box,
        )

    def process(self, launch: Launch, loop: "Loop", sink: "Sink") -> "AdoptedProcess":
        """Return the process, spawned long ago."""
        self._process = AdoptedProcess(self._spawner, launch, loop, sink, self._fds, self._facts)
        return self._process

    def abandon(self) -> None:
        """End by force what is ours by now, and wait until it is gone."""
        if self._process is not None:
            self._process.abandon(0)
        self.close()

    def close(self) -> None:
        """Have done with the keeper, and wait until it is gone; harmless when repeated."""
        self._spawner.close()


class AdoptedProcess(Process):
    """A process in the hands of a keeper that another had before us."""

    __slots__ = ("_facts", "_fds")

    def __init__(
        self,
        spawner: Spawner,
        launch: Launch,
        loop: "Loop",
        sink: "Sink",
        fds: "Sequence[int]",
        facts: "Mapping[str, Any]",
    ) -> None:
        super().__init__(spawner, launch, loop, sink)
        self._fds = fds
        self._facts = facts

    def spawn(self) -> None:
        """Continue it; the sink is called with what happens to it."""
        sock, factory, stdout, stderr, stdin = self._fds
        box = self._launch.box
        keeper = Keeper(
            wire.from_descriptor(sock), wire.from_descriptor(factory), "" if box is None else box.digest
        )
        keeper.ready = True
        self._keeper = keeper
        if self._launch.tty:
            self._queued += self._facts["pending"]
            if stdout >= 0:
                self._open_terminal(stdout)
        else:
            self._read_from(stdout, stderr)
            if stdin >= 0:
                self._input = Writer(stdin, self._loop)
                self._input.write(self._facts["pending"])
                if self._facts["ended"]:
                    self._input.end()
        self._loop.watch(sock, READ, self._hear)
