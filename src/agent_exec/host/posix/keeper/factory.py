"""The process that forks keepers: one for each engine, started when first needed.

A keeper forked from here costs a MiB and a millisecond; an interpreter of its
own would cost three MiB and fifteen. The factory is not a child of the
owner, so that the owner's own waiting for children never meets it. It is the
reaper above its keepers: when one is killed, its tree is ended here.
"""

import _socket
import gc
import os
import select
import sys

from agent_exec.host.posix import signals
from agent_exec.host.posix.keeper import box, tree, wire
from agent_exec.host.posix.keeper.keeper import Keeper
from agent_exec.host.posix.keeper.launch import STEP_KEEPER
from agent_exec.host.posix.signals import listen_for_children

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal

CONTROL = 3
"""The descriptor on which the owner's socket arrives."""


def main() -> None:
    """Serve the owner named by the arguments until it is gone."""
    os.closerange(CONTROL + 1, 1 << 20)
    try:
        if os.fork():
            os._exit(0)
    except OSError as error:
        os._exit(error.errno or 1)  # which the owner reads
    gc.collect()
    become(int(sys.argv[1]))


def become(owner_pid: int) -> None:
    """Be the factory of an owner, in a process with no other descriptors; does not return."""
    os.set_inheritable(CONTROL, False)
    owner = _watch(owner_pid)
    signals.forget_all()
    os.chdir("/")
    tree.become_reaper()
    gc.disable()
    gc.freeze()
    control = _socket.socket(fileno=CONTROL)
    wire.send_reply(control, wire.STARTED, os.getpid(), 0, 0, -1)
    Factory(control, owner).serve()


def _watch(pid: int) -> int:
    """Return a descriptor that tells when the owner is gone; -1 where the kernel has none."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except ProcessLookupError:
        os._exit(0)
    except OSError:
        return -1


class Factory:
    """The factory's whole state: its keepers, and those that were asked to leave their trees alone."""

    __slots__ = ("_control", "_keepers", "_leaving", "_left", "_owner", "_say_left", "_wake")

    def __init__(self, control: "_socket.socket", owner: int) -> None:
        self._control = control
        self._owner = owner
        self._wake = listen_for_children()
        # A keeper's end of its socket stays open here until its tree is gone:
        # an owner that finds the socket closed knows that nothing is left.
        self._keepers: dict[int, int] = {}
        # A keeper that leaves says so here, and lives on for what it left; it is no longer ours to wait for.
        self._leaving, self._say_left = os.pipe2(os.O_CLOEXEC)
        self._left: set[int] = set()

    def serve(self) -> None:
        """Fork keepers as they are asked for; does not return."""
        poller = select.poll()
        control, wake = self._control.fileno(), self._wake
        poller.register(control, select.POLLIN)
        poller.register(wake, select.POLLIN)
        poller.register(self._leaving, select.POLLIN)
        if self._owner >= 0:
            poller.register(self._owner, select.POLLIN)
        wanted = True
        while wanted or self._keepers:
            for fd, _ in poller.poll():
                if fd == wake:
                    os.read(wake, 4096)
                    self._reap()
                elif fd == self._leaving:
                    self._let_leave()
                elif fd == self._owner or not self._serve():
                    wanted = False
                    poller.unregister(fd)
        os._exit(0)

    def _serve(self) -> bool:
        """Fork the process that is asked for; False if the owner is gone."""
        data, fds = wire.receive(self._control)
        for sock in fds:
            if data[:1] == wire.DETACH:
                self._detach(data[1:].decode(), sock)
            else:
                self._hatch(sock, data[1:].decode(), data[:1])
        return bool(data)

    def _hatch(self, sock: int, entry: str, kind: bytes) -> None:
        """Fork a keeper, a box or the maker of a network onto its socket, or say there why not."""
        if entry:
            try:
                box.load(entry)
            except Exception:
                pass  # each box tells what is wrong
        try:
            pid = os.fork()
        except OSError as error:
            refused = _socket.socket(fileno=sock)
            wire.send_reply(refused, wire.FAILED, 0, error.errno or 0, STEP_KEEPER, -1)
            refused.close()
            return
        if pid:
            self._keepers[pid] = sock
            return
        try:
            self._close_all()
            tree.become_reaper()
            owner = _socket.socket(fileno=sock)
            requests = wire.Requests(owner)
            if not entry:
                Keeper(owner, self._owner, self._say_left).serve(requests)
            if kind == wire.LOOPBACK:
                box.make_loopback(owner, entry)
            os.close(self._say_left)  # nothing of a box is ever left
            Keeper(owner, self._owner, -1, box.enter(owner, requests, self._owner)).serve(requests)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)

    def _detach(self, entry: str, sock: int) -> None:
        """Fork a process that lives on without us, into a module's `main`; its descriptors come by socket."""
        from agent_exec.host.posix.detached import take_and_go

        try:
            __import__(entry)  # here, so that the next one has it already
            preload = getattr(sys.modules[entry], "preload", None)
            if preload is not None:
                preload()
            pid = os.fork()
        except OSError:
            os.close(sock)
            return
        if pid:
            self._left.add(pid)
            os.close(sock)
            return
        self._close_all()
        os.setsid()
        take_and_go(entry, _socket.socket(fileno=sock))

    def _close_all(self) -> None:
        """In a forked process: close what belongs to the factory."""
        for fd in (self._control.detach(), self._wake, self._leaving, *self._keepers.values()):
            os.close(fd)

    def _reap(self) -> None:
        """Reap what has exited; end the tree of a keeper that was killed."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                if pid in self._keepers or pid in self._left:
                    os.kill(pid, _signal.SIGCONT)  # a stop is meant for the command
                continue
            self._let_leave()  # it may have said so and been killed since
            self._left.discard(pid)
            sock = self._keepers.pop(pid, -1)
            if sock >= 0:
                self._end_orphans()
                os.close(sock)

    def _let_leave(self) -> None:
        """Have done with the keepers that were asked to leave."""
        while select.select([self._leaving], [], [], 0)[0]:
            pid = int.from_bytes(os.read(self._leaving, 4), "little")
            sock = self._keepers.pop(pid, -1)
            if sock >= 0:
                os.close(sock)
                self._left.add(pid)

    def _end_orphans(self) -> None:
        """End what a killed keeper had owned, round by round, until nothing of it comes to us."""
        immune: set[int] = set()
        while True:
            found = set(tree.children(os.getpid())) - self._keepers.keys() - self._left - immune
            orphans = tree.attached(found)
            if not orphans:
                return
            immune |= tree.strike(orphans, os.getpid())
            for pid in set(orphans) - immune:
                os.waitpid(pid, 0)
