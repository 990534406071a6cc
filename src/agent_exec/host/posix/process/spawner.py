"""Keepers, as their owner sees them: taken for a run, given back, ended with the engine."""

import _socket
import gc
import os
import select
from _thread import RLock

from agent_exec.host.posix import descriptors
from agent_exec.host.posix.keeper import wire
from agent_exec.host.posix.process.boot import boot, check_start
from agent_exec.host.posix.process.process import Process
from agent_exec.host.posix.program import box_ended, box_error
from agent_exec.host.posix.signals import CONT, Blocked
from agent_exec.host.posix.system import exit_code
from agent_exec.model.errors import InvalidState, LaunchFailed, PlanFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.host.ports import Loop, Sink
    from agent_exec.model.box_spec import Box, Server
    from agent_exec.model.command import Launch

_IDLE = 8
"""How many keepers wait for another run; more are ended when their run is over."""

NAMESPACES = 2
"""The first descriptors of a loopback network are its namespaces; the others are its tables of TCP ports."""

_INSIST_MS = 1000
_TIDY_MS = 5

_ARGUMENTS = os.sysconf("SC_ARG_MAX") + (1 << 16)
"""A request beyond this is refused by the system in any case, and only takes long."""


class Keeper:
    """One keeper: its socket, the environment it knows already, and the factory that guards it.

    `box` is the digest of the box that it is, or "" for none; it is `ready`
    when it has said so, `clean` unless it has served since without saying so
    again, and `served` is what serves it from outside.
    """

    __slots__ = ("_factory", "box", "clean", "env", "ready", "served", "sock")

    def __init__(self, sock: "_socket.socket", factory: "_socket.socket", box: str) -> None:
        self.sock = sock
        self.box = box
        self.env: object = None
        self.ready = False
        self.clean = True
        self.served: Server | None = None
        self._factory = factory

    @property
    def sound(self) -> bool:
        """True if what serves it, if anything has to, still does."""
        return self.served is None or self.served.alive

    def is_clean(self) -> bool:
        """True if it is as it was, after a moment for it to say so; it ends if it cannot be."""
        if not self.clean:
            if not _ready(self.sock, select.POLLIN, _TIDY_MS):
                return False  # a command has left much to be taken away
            data, fds = wire.receive(self.sock, size=wire.REPLY.size)
            for fd in fds:
                os.close(fd)
            if len(data) < wire.REPLY.size or wire.REPLY.unpack(data)[0] != wire.READY:
                self.drop()
                return False
            self.clean = True
        return True

    def begin(self, box: "Box | None", fds: "Sequence[int]") -> None:
        """Note that it is a box now, and have its listener served if it has sent one."""
        first, self.ready = not self.ready, True
        for number, fd in enumerate(fds):
            if first and number == 0 and box is not None and box.on_listener is not None:
                try:
                    self.served = box.on_listener(fd)
                except OSError as error:
                    raise PlanFailed(f"no way to the listed hosts: {error.strerror}") from error
            else:
                os.close(fd)

    def wait_for_word(self) -> bool:
        """Wait until it says something or is gone, and continue it should it be stopped."""
        self.rouse()
        while not _ready(self.sock, select.POLLIN, _INSIST_MS):
            self.rouse()
        return True

    def rouse(self) -> None:
        """Continue the factory, if it lives: it may be stopped, and continues its keepers."""
        if self._factory.fileno() < 0 or _ready(self._factory, 0):
            return
        try:
            told = self._factory.recv(wire.REPLY.size, _socket.MSG_PEEK | _socket.MSG_DONTWAIT)
            if len(told) == wire.REPLY.size:
                os.kill(wire.REPLY.unpack(told)[1], CONT)
        except OSError:
            return

    @property
    def fds(self) -> tuple[int, int]:
        """Its socket and the one of its factory, for another owner."""
        return self.sock.fileno(), self._factory.fileno()

    def spawn(self, launch: "Launch", fds: "Sequence[int]") -> None:
        """Have it spawn a launch on these descriptors."""
        self.clean = not self.box
        env = None if launch.env == self.env else launch.env
        self.env = launch.env
        size = (launch.size.rows, launch.size.columns) if launch.tty else None
        request = (wire.SPAWN, launch.program, launch.argv, launch.cwd, env, size)
        wire.send_request(self.sock, request, fds, most=_ARGUMENTS)

    def drop(self) -> None:
        """Close its socket."""
        descriptors.release(self.sock.fileno())
        self.sock.close()


class Spawner:
    """Gives each launch a process in the hands of a keeper; any thread may use it."""

    __slots__ = ("_closed", "_control", "_forks", "_handed", "_idle", "_lock", "_owner", "_starter", "_warm")

    def __init__(self, *, forks: bool = False) -> None:
        """Make one; with `forks`, helpers are copies of this process, which is small and has no threads."""
        self._forks = forks
        self._lock = RLock()
        self._idle: dict[str, list[Keeper]] = {}
        self._warm: dict[str, int] = {}
        """How many boxes of a kind are to wait, by their digests."""
        self._starter = 0
        """The child that starts the factory, until it is reaped."""
        self._control: _socket.socket | None = None
        self._owner = os.getpid()
        self._closed = False
        self._handed = False  # whether a keeper of the factory's has another owner now

    def process(self, launch: "Launch", loop: "Loop", sink: "Sink", feed: int = -1) -> Process:
        """Return the process of a launch, not spawned yet; its input is read from `feed`, which it closes."""
        if feed >= 0:
            from agent_exec.host.posix.process.feed import FedProcess

            return FedProcess(self, launch, loop, sink, feed)
        return Process(self, launch, loop, sink)

    def take(self, box: "Box | None" = None) -> Keeper:
        """Return a keeper that serves no run: in this box, or in none."""
        self._forget_if_forked()
        with self._lock:
            idle = self._waiting("" if box is None else box.digest)
            for keeper in reversed(tuple(idle)):
                if keeper.sound and keeper.is_clean():
                    idle.remove(keeper)
                    return keeper
                if not keeper.sound or keeper.sock.fileno() < 0:
                    idle.remove(keeper)
                    self.retire(keeper)
            return self._hatch(box)

    def start_helpers(self) -> None:
        """Have the factory started, without waiting; `await_helpers` must follow."""
        self._forget_if_forked()
        with self._lock:
            if self._control is None and not self._closed:
                self._start_factory(wait=False)

    def await_helpers(self) -> None:
        """Leave no child of this process behind; that no factory could be started shows in its use."""
        with self._lock:
            try:
                self._await_factory()
            except LaunchFailed:
                return

    def ready(self, box: "Box", count: int = 1) -> None:
        """Have so many boxes wait for the next commands, unless they do; raise why one cannot be made."""
        made = self._fill(box, count)
        for number, keeper in enumerate(made):
            try:
                keeper.wait_for_word()
                data, fds = wire.receive(keeper.sock, size=wire.REPLY.size)
                if len(data) < wire.REPLY.size:
                    raise box_ended()
                kind, _, error, step = wire.REPLY.unpack(data)
                if kind != wire.READY:
                    raise box_error(step, error, box.steps)
                keeper.begin(box, fds)
            except BaseException:
                for other in made[number:]:
                    self.retire(other)
                raise
            self.give_back(keeper)

    def begin(self, box: "Box", count: int = 1) -> None:
        """Have so many boxes made for the next commands, without waiting; failures show in their use."""
        try:
            for keeper in self._fill(box, count):
                self.give_back(keeper)
        except (InvalidState, LaunchFailed):
            return  # the next command tries again

    def warm(self, box: "Box", count: int) -> None:
        """Have so many boxes of a kind wait, now and after each command; raise why one cannot be made."""
        count = min(count, _IDLE)
        with self._lock:
            self._warm[box.digest] = count
        self.ready(box, count)

    def refill(self, box: "Box") -> None:
        """Make the boxes that are to wait, after one was used."""
        if wanted := self._warm.get(box.digest, 0):
            self.begin(box, wanted)

    def _fill(self, box: "Box", count: int) -> list[Keeper]:
        """Begin the boxes that are missing for so many to wait; return all that are not known to be ready."""
        self._forget_if_forked()
        with self._lock:
            idle = self._waiting(box.digest)
            for keeper in [one for one in idle if _ready(one.sock, 0)]:  # which has ended while it waited
                idle.remove(keeper)
                self.retire(keeper)
            begun = [keeper for keeper in idle if not keeper.ready]
            idle[:] = [keeper for keeper in idle if keeper.ready]
            try:
                while len(idle) + len(begun) < count:
                    begun.append(self._hatch(box))
            except BaseException:
                idle += begun
                raise
            return begun

    def _waiting(self, digest: str) -> list[Keeper]:
        """Return the keepers of a kind that serve no run; raise InvalidState if this is closed."""
        if self._closed:
            raise InvalidState("this engine is closed; make a new one")
        return self._idle.get(digest, [])

    def detach(self, entry: str, fds: "Sequence[int]") -> None:
        """Start a process that outlives this one, in the `main(fds)` of a module.

        It gets copies of the descriptors; -1 is none. It is forked by the
        factory, whatever this process has grown to; a `preload` of the module
        is called there first, to load what all such processes need.
        """
        try:
            with self._lock:
                try:
                    sock = self._ask_factory(wire.DETACH + entry.encode())
                except OSError:
                    self._shut(wait=False)  # the factory is gone: once more, with a new one
                    sock = self._ask_factory(wire.DETACH + entry.encode())
            try:
                wire.send_fds(sock, bytes(fd >= 0 for fd in fds), [fd for fd in fds if fd >= 0])
            finally:
                descriptors.release(sock.fileno())
                sock.close()
        except OSError as error:
            raise LaunchFailed(f"no helper process: {error.strerror}", errno=error.errno) from error

    def give_back(self, keeper: Keeper) -> None:
        """Take a keeper back whose run is over."""
        with self._lock:
            if not self._closed:
                idle = self._idle.pop(keeper.box, [])
                idle.append(keeper)
                self._idle[keeper.box] = idle  # the last box to be given up
                if sum(map(len, self._idle.values())) <= _IDLE:
                    return
                oldest = next(box for box, waiting in self._idle.items() if waiting)
                keeper = self._idle[oldest].pop(0)
                if not self._idle[oldest]:
                    del self._idle[oldest]
        self.retire(keeper)

    def hand_over(self, keeper: Keeper) -> None:
        """Have done with a keeper that has another owner now."""
        self._handed = True
        keeper.drop()

    def retire(self, keeper: Keeper, *, wait: bool = False) -> None:
        """End a keeper, and whatever it still owns; `wait` until all of it is gone."""
        served, keeper.served = keeper.served, None
        if served is not None:
            served.close()
        sock = keeper.sock
        if sock.fileno() < 0:
            return
        try:
            sock.shutdown(_socket.SHUT_WR)
            while wait and keeper.wait_for_word() and sock.recv(4096):
                pass
        except OSError:
            pass
        finally:
            keeper.drop()

    def close(self, *, wait: bool = True) -> None:
        """End every keeper that serves no run, and wait for them if asked to; harmless when repeated."""
        self._closed = True
        self._forget_if_forked()
        with self._lock:
            idle, self._idle = self._idle, {}
            self._warm = {}
        for keeper in (keeper for keepers in idle.values() for keeper in keepers):
            self.retire(keeper, wait=wait)
        with self._lock:
            self._shut(wait=wait)

    def _hatch(self, box: "Box | None") -> Keeper:
        """Have a keeper forked, by a new factory if the old one is gone."""
        try:
            return self._fork(box)
        except OSError:
            self._shut(wait=False)
        try:
            return self._fork(box)
        except OSError as error:
            raise LaunchFailed(f"no helper for the command: {error.strerror}", errno=error.errno) from error

    def _fork(self, box: "Box | None") -> Keeper:
        """Have the factory fork a keeper; it need not be there yet for its first request."""
        if box is None:
            sock = self._ask_factory(wire.HATCH)
            assert self._control is not None
            return Keeper(sock, self._control, "")
        fds = self.loopback(box)
        try:
            sock = self._ask_factory(wire.BOX + box.entry.encode())
            assert self._control is not None
            wire.send_request(sock, (wire.CONFINE, box.entry, box.spec), fds[:NAMESPACES])
        finally:
            for fd in fds:
                os.close(fd)
        return Keeper(sock, self._control, box.digest)

    def loopback(self, box: "Box") -> list[int]:
        """Return copies of the descriptors of the loopback network that a box shares; none if it has its own.

        They are the caller's to close. Raise why the network cannot be made.
        """
        if not box.loopback:
            return []
        from agent_exec.host.posix.process.loopbacks import borrow_loopback

        with self._lock:
            return borrow_loopback(box.loopback, lambda: self._make_loopback(box))

    def _make_loopback(self, box: "Box") -> list[int]:
        sock = self._ask_factory(wire.LOOPBACK + box.entry.encode())
        assert self._control is not None
        maker = Keeper(sock, self._control, "")
        try:
            maker.wait_for_word()
            data, fds = wire.receive(sock, size=wire.REPLY.size, space=wire.MANY)
        finally:
            maker.drop()
        if not fds:
            if len(data) < wire.REPLY.size:
                raise box_ended()
            _, _, error, step = wire.REPLY.unpack(data)
            raise box_error(step, error, box.steps)
        return fds

    def _ask_factory(self, what: bytes) -> "_socket.socket":
        """Have the factory fork a process; return our end of the socket to it."""
        if self._control is None:
            self._start_factory(wait=True)
        self._await_factory()
        assert self._control is not None
        ours, theirs = wire.pair()
        try:
            wire.send_fds(self._control, what, [theirs.fileno()])
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        descriptors.hold(ours.fileno())
        return ours

    def _start_factory(self, *, wait: bool) -> None:
        # An exception from the handler of a signal would lose the child.
        with Blocked():
            self._control, self._starter = boot(forks=self._forks)
            if wait:
                self._await_factory()

    def _await_factory(self) -> None:
        """Reap the process that started the factory, unless that was done; raise if it has failed."""
        if not self._starter:
            return
        with Blocked():
            pid, self._starter = self._starter, 0
            try:
                check_start(pid)
            except LaunchFailed:
                self._close_control()
                raise

    def _close_control(self) -> None:
        if self._control is not None:
            descriptors.release(self._control.fileno())
            self._control.close()
            self._control = None

    def _shut(self, *, wait: bool = True) -> None:
        """Let the factory go, which ends when its last keeper has; those of others are not waited for."""
        try:
            self._await_factory()
        except LaunchFailed:
            return
        control = self._control
        if control is None:
            return
        said = b""
        handed, self._handed = self._handed, False
        try:
            control.shutdown(_socket.SHUT_WR)
            while not handed and (
                more := _hear(control) if wait else control.recv(4096, _socket.MSG_DONTWAIT)
            ):
                said += more
        except OSError:
            pass
        finally:
            self._close_control()
        if wait and len(said) >= wire.REPLY.size:
            # It is our child after all if we adopt orphans here, as the first process of a container does.
            exit_code(wire.REPLY.unpack_from(said)[1])

    def _forget_if_forked(self) -> None:
        """In a forked copy: let go of everything, without a word, for it belongs to the original."""
        if self._owner == os.getpid():
            return
        self._lock = RLock()  # another thread of the original's may have held it
        for keeper in (keeper for keepers in self._idle.values() for keeper in keepers):
            keeper.sock.close()
        self._idle = {}
        if self._control is not None:
            self._control.close()
            self._control = None
        self._starter = 0
        self._owner = os.getpid()


def _ready(sock: "_socket.socket", events: int, milliseconds: int = 0) -> bool:
    """Wait for events on a socket, for at most so long; a hang-up is always one."""
    poller = select.poll()
    poller.register(sock.fileno(), events)
    return bool(poller.poll(milliseconds))


def _hear(control: "_socket.socket") -> bytes:
    """Wait for what a factory says, or its end.

    An exception that came while a keeper was made may hold it, in a circle of
    references, and so the factory: now and then, such are looked for.
    """
    while not _ready(control, select.POLLIN, _INSIST_MS):
        gc.collect()
    return control.recv(4096)
