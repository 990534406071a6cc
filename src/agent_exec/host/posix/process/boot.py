"""Starts the factory: through a process that exits at once, so that the caller gets no child of ours."""

import errno
import os
import sys

from agent_exec.host.posix import descriptors
from agent_exec.host.posix.environment import own_environment
from agent_exec.host.posix.keeper import wire
from agent_exec.host.posix.keeper.factory import CONTROL, become
from agent_exec.model.errors import LaunchFailed, Unsupported
from agent_exec.places import PACKAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import signal as _signal
    from collections.abc import Callable
else:
    import _signal

_BOOT = (
    "import sys; sys.path.append(sys.argv[2]); from agent_exec.host.posix.keeper.factory import main; main()"
)


class Boot:
    """A factory that is being started: the socket to it, and the child that starts it, 0 if there is none."""

    __slots__ = ("_pid", "control")

    def __init__(self, control: "_socket.socket", pid: int) -> None:
        self.control = control
        self._pid = pid

    def reap(self) -> None:
        """Wait until the child has exited; raise LaunchFailed, with the socket closed, if it failed."""
        problem = 0
        former = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
        try:
            _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
            if self._pid:
                problem = exit_code(self._pid)
                self._pid = 0
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, former)
        if problem:
            descriptors.release(self.control.fileno())
            self.control.close()
            if problem in (errno.EAGAIN, errno.ENOMEM):
                raise _no_helper(os.strerror(problem), problem)
            raise _no_helper(f"it exited with {problem}")


def boot(keep: "Callable[[Boot], object]", *, forks: bool, wait: bool) -> None:
    """Start a factory, and `keep` it before any signal is handled; `forks` makes it a copy of this process.

    With `wait`, its child is reaped as well; otherwise `Boot.reap` must follow.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        raise Unsupported("helpers are started with the Python interpreter, and this program has none")
    if sys.platform == "linux" and not os.path.exists("/proc/self/task"):
        raise Unsupported("the processes of a command are found in /proc, which is not mounted here")
    # No signal of this thread's until it is done: an exception from a handler would lose the child.
    former = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
    try:
        # Inside, because the call itself runs the handlers of what has come before it.
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
        ours, theirs = wire.pair()
        descriptors.hold(ours.fileno())
        pid = 0
        try:
            if forks:
                _fork_factory(theirs)
            else:
                pid = _spawn_factory(theirs)
        except OSError as error:
            descriptors.release(ours.fileno())
            ours.close()
            raise _no_helper(os.strerror(error.errno or 0), error.errno) from error
        finally:
            theirs.close()
        made = Boot(ours, pid)
        keep(made)
        if wait:
            made.reap()
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, former)


def _spawn_factory(control: "_socket.socket") -> int:
    """Start the process that becomes the factory; return its pid."""
    # Helpers print nothing but the traceback of a bug of ours, and only where a developer asks for it.
    log = os.environ.get("AGENT_EXEC_HELPER_LOG", os.devnull)
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-IS", "-c", _BOOT, str(os.getpid()), os.path.dirname(PACKAGE)],
        own_environment(),
        file_actions=[
            # First, because the socket may be on one of the numbers that follow.
            (os.POSIX_SPAWN_DUP2, control.fileno(), CONTROL),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600),
        ],
        setsid=True,
        setsigmask=(),
    )


def _fork_factory(control: "_socket.socket") -> None:
    """Have a copy of this process become the factory."""
    owner = os.getpid()
    if os.fork():
        return
    try:
        os.setsid()
        os.dup2(control.fileno(), CONTROL)
        os.closerange(CONTROL + 1, 1 << 20)
        become(owner)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def exit_code(pid: int) -> int:
    """Reap a child and return its exit code; 0 if someone who reaps all children was faster."""
    try:
        _, status = os.waitpid(pid, 0)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(status)


def _no_helper(reason: str, error: int | None = None) -> LaunchFailed:
    return LaunchFailed(f"the helper {sys.executable!r} could not be started: {reason}", errno=error)
