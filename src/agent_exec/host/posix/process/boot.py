"""Starts the factory: through a process that exits at once, so that the caller gets no child of ours."""

import errno
import os
import sys

from agent_exec.host.posix import descriptors
from agent_exec.host.posix.keeper import wire
from agent_exec.host.posix.keeper.factory import CONTROL, become
from agent_exec.host.posix.system import exit_code, own_environment
from agent_exec.model.errors import LaunchFailed, Unsupported
from agent_exec.places import PACKAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

_BOOT = (
    "import sys; sys.path.append(sys.argv[2]); from agent_exec.host.posix.keeper.factory import main; main()"
)


def boot(*, forks: bool) -> "tuple[_socket.socket, int]":
    """Start a factory; return the socket to it, and the child that starts it, 0 if there is none.

    `forks` makes it a copy of this process. For a caller that has blocked all signals.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        raise Unsupported("helpers are started with the Python interpreter, and this program has none")
    if sys.platform == "linux" and not os.path.exists("/proc/self/task"):
        raise Unsupported("the processes of a command are found in /proc, which is not mounted here")
    ours, theirs = wire.pair()
    descriptors.hold(ours.fileno())
    try:
        return ours, (_fork_factory(theirs) if forks else _spawn_factory(theirs))
    except OSError as error:
        descriptors.release(ours.fileno())
        ours.close()
        raise _no_helper(os.strerror(error.errno or 0), error.errno) from error
    finally:
        theirs.close()


def check_start(pid: int) -> None:
    """Reap the child that starts a factory; raise LaunchFailed if it failed."""
    problem = exit_code(pid)
    if problem in (errno.EAGAIN, errno.ENOMEM):
        raise _no_helper(os.strerror(problem), problem)
    if problem:
        raise _no_helper(f"it exited with {problem}")


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


def _fork_factory(control: "_socket.socket") -> int:
    """Have a copy of this process become the factory; return 0, for no child is to be reaped."""
    owner = os.getpid()
    if os.fork():
        return 0
    try:
        os.setsid()
        os.dup2(control.fileno(), CONTROL)
        os.closerange(CONTROL + 1, 1 << 20)
        become(owner)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def _no_helper(reason: str, error: int | None = None) -> LaunchFailed:
    return LaunchFailed(f"the helper {sys.executable!r} could not be started: {reason}", errno=error)
