"""A keeper: a small process that owns the tree of one run at a time.

It spawns what its owner asks for, reaps it and all that lose their parent
below it, reports the exit, ends the tree when asked to, and ends it by itself
when the owner is gone, however the owner went. Because it serves one run at a
time, all that it adopts belongs to that run.
"""

import os
import select

from agent_exec.host.posix.keeper import launch, tree, wire
from agent_exec.host.posix.keeper.box import check
from agent_exec.host.posix.signals import listen_for_children
from agent_exec.host.posix.system import start_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import signal as _signal
    from typing import Any

    from agent_exec.host.posix.keeper.box import Inside
else:
    import _signal

_BRIEF = 0.003
"""Most commands are over within this time. So long a keeper listens for nothing but the end of the one it
has just spawned, which saves it and its owner most of their work; then it says that the command runs."""

_CHILD = (_signal.SIGCHLD,)


class Keeper:
    """The keeper's whole state: its owner, and the run it serves."""

    __slots__ = (
        "_box",
        "_count",
        "_env",
        "_exited",
        "_left",
        "_main",
        "_master",
        "_owner",
        "_poller",
        "_slave",
        "_sock",
    )

    def __init__(self, sock: "_socket.socket", owner: int, left: int, box: "Inside | None" = None) -> None:
        self._sock = sock
        self._box = box
        self._left = left
        self._owner = owner
        self._env: dict[bytes, bytes] = {}
        self._main = 0
        self._count = 0  # of processes, when the owner asked for their end
        self._master = -1
        self._slave = -1  # held open, or the terminal would end when the command closes its own
        self._exited = False
        self._poller = select.poll()

    def serve(self, requests: wire.Requests) -> None:
        """Serve run after run; does not return."""
        poller = self._poller
        sock, wake = self._sock.fileno(), listen_for_children()
        # Blocked while no command runs, and during the brief wait for one.
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _CHILD)
        poller.register(sock, select.POLLIN)
        poller.register(wake, select.POLLIN)
        if self._owner >= 0:
            poller.register(self._owner, select.POLLIN)
        while True:
            for fd, _ in poller.poll():
                if fd == wake:
                    os.read(wake, 4096)
                    self._reap()
                elif fd == sock:
                    received = requests.receive()
                    if received is None:
                        self._quit()
                        return
                    for request in received:
                        self._obey(request, requests)
                elif fd == self._owner:  # and not one that has handed us over since
                    self._quit()

    def _obey(self, request: "tuple[Any, ...]", requests: wire.Requests) -> None:
        """Do what the owner asks."""
        kind = request[0]
        if kind == wire.SPAWN:
            self._spawn(requests.take_fds(), *request[1:])
        elif kind == wire.SIGNAL:
            tree.signal_all(request[1])
        elif kind == wire.TERMINATE:
            self._count = max(self._count, tree.count())
            tree.terminate_all(request[1])
        elif kind == wire.KILL:
            self._end()
        elif kind == wire.LEAVE:
            self._leave()
        elif kind == wire.OWNER:
            self._change_owner(*requests.take_fds())

    def _change_owner(self, owner: int, lock: int) -> None:
        """Live for another owner from now on, hold its job's lock as it does, and tell it what runs."""
        former, self._owner = self._owner, owner
        self._poller.register(owner, select.POLLIN)
        if former >= 0:
            self._poller.unregister(former)
            os.close(former)
        if self._box is None:
            from agent_exec.host.posix.lock import share

            # A kill of the former owner and its tree must not reach us, nor one of its process group.
            tree.become_reaper(tree.SUPERVISOR)
            share(lock)
            os.setpgid(0, 0)
        else:
            os.close(lock)
        if self._main and not self._exited:
            self._reply(wire.STARTED, start_of(self._main))

    def _spawn(
        self,
        fds: list[int],
        program: bytes,
        argv: tuple[bytes, ...],
        cwd: bytes,
        env: dict[bytes, bytes] | None,
        size: tuple[int, int] | None,
    ) -> None:
        """Start the command, on a terminal if that has a size; if it ends briefly, report only that."""
        if env is not None:
            self._env = env if self._box is None else self._box.variables(env)
        try:
            if self._box is not None:
                check(self._box)
            if size is None:
                self._main = launch.spawn(program, argv, cwd, self._env, fds)
            else:
                self._main, self._master, self._slave = launch.spawn_on_terminal(
                    program, argv, cwd, self._env, size
                )
        except launch.LaunchError as error:
            self._rest()
            self._reply(wire.FAILED, error.error, error.step)
            self._tidy()
            return
        finally:
            for fd in fds:
                os.close(fd)
        # macOS has no such wait: there the owner is told at once.
        if not hasattr(_signal, "sigtimedwait") or _signal.sigtimedwait(_CHILD, _BRIEF) is not None:
            self._reap()
        if self._main:
            if not self._exited:
                self._reply(wire.STARTED, start_of(self._main))
            _signal.pthread_sigmask(_signal.SIG_UNBLOCK, _CHILD)

    def _reply(self, kind: int, first: int, second: int = 0) -> None:
        """Tell the owner something; the first time, with the terminal if there is one."""
        wire.send_reply(self._sock, kind, self._main, first, second, self._master)
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def _close_terminal(self) -> None:
        """Close the terminal before the owner learns that nothing is left and reads to its end."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def _leave(self) -> None:
        """Serve no more, and be nothing but the reaper of what was left, for as long as that lives."""
        os.write(self._left, os.getpid().to_bytes(4, "little"))
        self._sock.close()
        self._close_terminal()
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                os._exit(0)
            if os.WIFSTOPPED(status):
                tree.let_go(pid, status)

    def _reap(self) -> None:
        """Reap what has exited, and report what the owner has to know."""
        status, empty = tree.reap(self._main, exited=self._exited)
        if not self._main:
            return
        if empty:
            self._close_terminal()
        if status is not None:
            self._exited = True
            self._reply(wire.EXITED, status, int(empty) + 2 * self._count)
        elif empty and self._exited:
            self._reply(wire.EMPTIED, 0, self._count)
        if empty:
            self._rest()
            self._tidy()

    def _end(self) -> None:
        """End the tree by force, and report it."""
        if not self._main:
            return  # it ended by itself, and the owner is being informed
        status, survivors, ended = tree.end(self._main, exited=self._exited)
        self._close_terminal()
        if status is not None:
            self._reply(wire.EXITED, status)
        self._reply(wire.EMPTIED, survivors, max(ended, self._count))
        self._rest()
        self._tidy()

    def _rest(self) -> None:
        """Be ready for the next run, and keep no directory busy meanwhile."""
        self._main = self._count = 0
        self._exited = False
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _CHILD)
        os.chdir("/")

    def _tidy(self) -> None:
        """Make the box as it was, and say so; if that cannot be done, end it.

        The owner knows already that nothing of the command is left, and need
        not wait for this.
        """
        if self._box is not None:
            if not self._box.clean():
                self._quit()
            wire.send_reply(self._sock, wire.READY, 0, 0, 0, -1)

    def _quit(self) -> None:
        """End everything, then this process: the owner is gone."""
        tree.end()
        os._exit(0)
