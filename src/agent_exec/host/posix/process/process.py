"""The owner's side of one run: its process tree in a keeper's hands, its streams in ours."""

import _socket
import errno
import os
import struct
from time import monotonic

from agent_exec.host.posix import descriptors, signals
from agent_exec.host.posix.descriptors import READ, wait_for
from agent_exec.host.posix.keeper import tree, wire
from agent_exec.host.posix.keeper.launch import STEP_BOX, STEP_KEEPER
from agent_exec.host.posix.process.streams import Streamed
from agent_exec.host.posix.program import box_ended, launch_error, program_error
from agent_exec.model.errors import AgentExecError, InvalidState, KeeperLost, LaunchFailed, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.ports import Loop, Sink, Timer
    from agent_exec.host.posix.process.spawner import Keeper, Spawner
    from agent_exec.model.command import Launch

_SILENCE = 0.5
"""How long a keeper may be silent at first before it is looked after; it speaks within milliseconds."""
_ATTEMPTS = 16  # more than the keepers that wait
_DONTWAIT = _socket.MSG_DONTWAIT
_REPLIES = 16 * wire.REPLY.size


class Process(Streamed):
    """A command, spawned or about to be.

    Lives inside the loop, and reports to its sink until it is emptied or failed.
    """

    __slots__ = ("_handed", "_identity", "_keeper", "_overdue", "_spawner")

    def __init__(self, spawner: "Spawner", launch: "Launch", loop: "Loop", sink: "Sink") -> None:
        super().__init__(launch, loop, sink)
        self._spawner = spawner
        self._identity: tuple[int, int] | None = None
        self._keeper: Keeper | None = None
        self._overdue: Timer | None = None  # until the keeper's first word
        self._handed = False  # whether it is let go of

    def spawn(self) -> None:
        """Start it; the sink is called with what happens to it."""
        try:
            self._hand_over()
        except Exception:
            self._part(wait=True)
            self._close_streams()
            raise

    def signal(self, number: int) -> None:
        """Signal every process of the tree."""
        self._request(wire.SIGNAL, number)

    def terminate(self, number: int = signals.TERM) -> None:
        """Ask every process of the tree to end."""
        self._request(wire.TERMINATE, number)

    def kill(self) -> None:
        """End every process of the tree by force."""
        self._request(wire.KILL)

    def leave(self) -> None:
        """Give up what is left of the tree, and let it live; reports nothing more."""
        self._request(wire.LEAVE)
        self._finish_streams()
        self._part()

    def release(self) -> "Handed | None":
        """Let go of it, for another process to go on with; None while it is only being started."""
        if self._keeper is not None:
            self._hear(READ)  # it may have ended
        keeper = self._keeper
        if keeper is None:
            raise InvalidState("this command has ended already")
        if self._identity is None:
            return None
        if not can_watch_processes():
            raise Unsupported(
                "this system has no descriptors that tell of a process's end, which a hand-over needs; "
                "run the command as a job from the start"
            )
        if keeper.served is not None:
            raise Unsupported(
                "this command's way to the network goes through the process that started it, "
                "and ends with that; run it as a job from the start"
            )
        self._loop.unwatch(keeper.sock.fileno())
        self._keeper = None
        self._handed = True
        return Handed(self, keeper)

    def abandon(self, grace: float) -> None:
        """End the tree without the loop's help, and wait until it is gone; reports nothing more.

        For the moment when an exception has left the loop in an unknown state.
        """
        if self._handed:
            return  # another process has it, or it is being handed over, and is taken back or given up
        keeper = self._keeper
        try:
            if keeper is not None:
                self.terminate()
                _wait_for_last(keeper.sock, grace)
        finally:
            # A second exception ends the patience, but not this.
            self._part(wait=True)
            self._close_streams()

    def _hand_over(self) -> None:
        """Hand the launch over to a keeper, with the child's ends of the pipes."""
        launch = self._launch
        theirs: list[int] = []
        try:
            if not launch.tty:
                self._make_pipes(theirs)
            keeper = self._take_keeper(theirs)
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise program_error(errno.E2BIG, os.fsencode(launch.argv[0]), b"") from None
            raise LaunchFailed(f"no pipes for the command: {error.strerror}", errno=error.errno) from error
        finally:
            for fd in theirs:
                descriptors.close(fd)
        # The output is not watched yet: most commands end before the keeper says that they
        # run, and then all they have written is taken at once.
        self._loop.watch(keeper.sock.fileno(), READ, self._hear)
        self._overdue = self._loop.after(_SILENCE, self._look_after)

    def _look_after(self) -> None:
        """Continue a keeper that has been silent: the command may have stopped it, which must not stop us."""
        if self._keeper is not None:
            self._keeper.rouse()
            self._begin_streams()
            self._overdue = self._loop.after(_SILENCE, self._look_after)

    def _expect_nothing(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None

    def _take_keeper(self, fds: list[int]) -> "Keeper":
        """Give the launch to the first keeper that lives; those that waited may have been killed."""
        for _ in range(_ATTEMPTS):
            self._keeper = keeper = self._spawner.take(self._launch.box)
            try:
                keeper.spawn(self._launch, fds)
            except ConnectionError:
                self._keeper = None
                self._spawner.retire(keeper)
            else:
                self._sent = self._launch.size
                return keeper
        raise LaunchFailed("helpers die as soon as they are started; AGENT_EXEC_HELPER_LOG=FILE shows why")

    def _hear(self, _events: int) -> None:
        """Take the keeper's replies."""
        keeper = self._keeper
        if keeper is None:
            return
        try:
            data, fds = wire.receive(keeper.sock, _DONTWAIT, _REPLIES)
        except BlockingIOError:
            return
        try:
            self._take(data, fds)
        except (AgentExecError, ArithmeticError, LookupError, OSError, ValueError, struct.error) as error:
            # Of one keeper's, and of no concern to the other runs.
            self._part(wait=True)
            self._close_streams()
            if not isinstance(error, AgentExecError):
                error = KeeperLost(f"the helper process of this command made no sense: {error!r}")
            self._sink.failed(error)

    def _take(self, data: bytes, fds: list[int]) -> None:
        """Act on the keeper's replies; none at all means that it is gone."""
        self._expect_nothing()
        if not data:
            self._lost()
            return
        replies = list(wire.REPLY.iter_unpack(data))
        if len(replies) > 1 and replies[-1][0] == wire.READY and self._keeper is not None:
            self._keeper.clean = True
            replies.pop()
        last = replies[-1][0]  # whose descriptors they are
        if replies[0][0] == wire.READY and self._keeper is not None:
            self._keeper.begin(self._launch.box, fds if last == wire.READY else [])
        if fds and last != wire.READY:
            for more in fds[1:]:
                os.close(more)
            self._open_terminal(fds[0])
        elif self._launch.tty and not self._readers and last not in (wire.FAILED, wire.READY):
            # It was lost on its way to us, because we have no descriptor left for it.
            raise LaunchFailed(f"no terminal for the command: {os.strerror(errno.EMFILE)}")
        for kind, pid, first, second in replies:
            if kind == wire.STARTED:
                self._refill()
                self._begin_streams()
                self._identity = (pid, first)
                self._sink.started(pid, first)
            elif kind == wire.EXITED:
                self._identity = None
                alone = bool(second & 1)
                self._tell_exit(pid, first, alone=alone)
                if alone:
                    self._empty(0, second >> 1)
                else:
                    self._begin_streams()
            elif kind == wire.EMPTIED:
                self._empty(first, second)
            elif kind == wire.FAILED:
                self._fail(first, second)

    def _refill(self) -> None:
        """Have the next boxes made, now that nothing waits for the start of this one."""
        if self._launch.box is not None:
            self._spawner.refill(self._launch.box)

    def _empty(self, survivors: int, ended: int) -> None:
        self.tally = ended, survivors
        leaked = self._finish_streams()
        keeper, box = self._keeper, self._launch.box
        if keeper is not None and keeper.served is not None:
            self.network = keeper.served.take()
        self._part(reuse=not survivors and (box is None or box.reuse))
        self._sink.emptied(leaked=leaked or survivors > 0)
        self._refill()

    def _fail(self, error: int, step: int) -> None:
        """Report a spawn that failed; nothing was spawned."""
        self._close_streams()
        self._part(reuse=step != STEP_KEEPER and step < STEP_BOX)
        launch = self._launch
        program, name, cwd = map(os.fsencode, (launch.program, launch.argv[0], launch.cwd))
        steps = () if launch.box is None else launch.box.steps
        self._sink.failed(launch_error(step, error, program, name, cwd, steps))

    def _lost(self) -> None:
        """End what is left of the tree: the keeper was killed.

        The factory, if it lives, has done so before we could hear of it. It may be gone as well, and the
        kernel does not say so in time: it closes the sockets of a killed process in any order.
        """
        keeper, box = self._keeper, self._launch.box
        boxed = box is not None and box.own_pids  # which mean nothing here, and nothing outlives its first
        if self._identity is not None and not boxed:
            tree.end_session(*self._identity)
        self._finish_streams()
        self._part()
        if box is not None and keeper is not None and not keeper.ready:
            self._sink.failed(box_ended())
        else:
            self._sink.failed(
                KeeperLost("the helper process that owned this command is gone, and the command with it")
            )

    def _request(self, *request: int) -> None:
        """Ask the keeper for something; it must not escape the end of its tree by having been stopped."""
        if self._keeper is not None:
            if request[0] != wire.SIGNAL:
                self._keeper.rouse()
            try:
                wire.send_request(self._keeper.sock, request)
            except OSError:
                return  # the keeper is gone, and _hear will say so

    def _part(self, *, reuse: bool = False, wait: bool = False) -> None:
        """Free the keeper for another run; without `reuse` end it, and `wait` for that if asked to."""
        self._expect_nothing()
        keeper = self._keeper
        if keeper is not None:
            self._loop.unwatch(keeper.sock.fileno())
            self._keeper = None
            if reuse:
                self._spawner.give_back(keeper)
            else:
                self._spawner.retire(keeper, wait=wait)


class Handed:
    """What another process needs to go on with a command: descriptors, and `facts` that can be marshalled.

    Nothing is read or written here meanwhile. To be taken back or given up,
    inside the loop, and only once.
    """

    __slots__ = ("_keeper", "_output", "_process", "facts", "fds")

    def __init__(self, process: Process, keeper: "Keeper") -> None:
        self._process = process
        self._keeper = keeper
        self._output = process._let_go()
        launch, stdin = process._launch, process._input
        written, pending, ended = (-1, b"", True) if stdin is None else stdin.left
        stdout, stderr = (*self._output, -1)[:2]
        self.fds = (*keeper.fds, stdout, stderr, -1 if launch.tty else written)
        """The sockets of its keeper and of the factory, its output (or its terminal), and its input."""
        box = launch.box
        self.facts: dict[str, object] = {
            "tty": launch.tty,
            "size": (launch.size.rows, launch.size.columns),
            "pending": pending,
            "ended": ended,
            "box": None if box is None else (box.digest, box.steps, box.own_pids),
        }

    def take_back(self) -> None:
        """Go on here, as if nothing had happened."""
        process = self._process
        process._handed = False
        process._take_back(self._output)
        process._keeper = self._keeper
        process._loop.watch(self._keeper.sock.fileno(), READ, process._hear)

    def give_up(self) -> None:
        """Hold nothing of it any more: another process has it, or it ends."""
        self._process._take_back(self._output, close=True)
        self._process._close_streams()
        self._process._spawner.hand_over(self._keeper)


def _wait_for_last(sock: "_socket.socket", grace: float) -> None:
    """Wait until the keeper says that nothing is left, for at most the grace."""
    deadline = monotonic() + grace
    while wait_for([(sock.fileno(), READ)], deadline - monotonic()):
        data, fds = wire.receive(sock, _DONTWAIT, _REPLIES)
        for fd in fds:
            os.close(fd)
        for kind, _, _, second in wire.REPLY.iter_unpack(data):
            if kind in (wire.EMPTIED, wire.FAILED) or (kind == wire.EXITED and second & 1):
                return
        if not data:
            return


def can_watch_processes() -> bool:
    """True if the system gives descriptors that tell of a process's end."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True
