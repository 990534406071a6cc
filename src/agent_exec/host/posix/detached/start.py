"""Starts a process that outlives this one: own session, no terminal, nobody's child, nothing inherited."""

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import signal as _signal
    from collections.abc import Sequence
    from typing import NoReturn
else:
    import _signal


def detach(entry: str, fds: "Sequence[int]") -> None:
    """Fork a process into the `main(fds)` of a module, with these descriptors only (-1 is none).

    For a small process without threads, such as one call of a command-line
    program; `Spawner.detach` is for all others.
    """
    # A signal to the whole group must not be heard twice: our copy hears none from the first.
    former = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    try:
        pid = os.fork()
    except OSError as error:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, former)
        raise _no_process(error.errno or 0) from error
    if pid:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, former)
        try:
            problem = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except ChildProcessError:
            problem = 0  # we were started to ignore the end of children, and hear of this one elsewhere
        if problem:
            raise _no_process(problem if problem > 0 else errno.EAGAIN)
        return
    try:
        # Forked once more: whoever ends the caller and its children does not mean us,
        # and who does not lead its session never gets a terminal.
        os.setsid()
        if os.fork():
            os._exit(0)
        go(entry, list(fds))
    except OSError as error:
        os._exit(error.errno or 1)
    except BaseException:
        os._exit(1)


def _no_process(error: int) -> Exception:
    from agent_exec.model.errors import LaunchFailed

    return LaunchFailed(f"no process for the job: {os.strerror(error)}", errno=error)


def take_and_go(entry: str, sock: "_socket.socket") -> "NoReturn":
    """In a process forked by the factory: take the descriptors from its socket, and go in."""
    from agent_exec.host.posix.keeper import wire

    given, fds = wire.receive(sock, space=wire.MANY)
    if not given:
        os._exit(1)  # the owner has gone without a word
    sock.close()
    taken = iter(fds)
    go(entry, [next(taken, -1) if there else -1 for there in given])


def go(entry: str, fds: list[int]) -> "NoReturn":
    """Keep nothing but the descriptors, and go in; does not return."""
    import sys

    from agent_exec.host.posix import signals

    code = 1
    try:
        fds = _keep_only(fds)
        signals.forget_all()
        __import__(entry)
        sys.modules[entry].main(fds)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _keep_only(fds: list[int]) -> list[int]:
    """Close every other descriptor, and put the null device on 0 to 2; return the new numbers of ours."""
    high = [os.dup(fd) if 0 <= fd < 3 else fd for fd in fds]
    null = os.open(os.devnull, os.O_RDWR)
    # What we print is the traceback of a bug, and only where a developer asks for it.
    log = os.environ.get("AGENT_EXEC_HELPER_LOG")
    errors = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if log else null
    for number, source in ((0, null), (1, null), (2, errors)):
        os.dup2(source, number)
    start = 3
    for fd in sorted({fd for fd in high if fd >= 0}):
        os.set_inheritable(fd, False)
        os.closerange(start, fd)
        start = fd + 1
    os.closerange(start, 1 << 20)
    return high
