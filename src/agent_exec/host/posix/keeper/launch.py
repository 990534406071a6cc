"""Starts a process from inside a keeper: in its own session, with pipes or a terminal, with vfork.

The keeper has no threads and serves one run at a time, so it may enter the
command's directory itself: nothing has to happen between fork and exec.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Mapping, Sequence
else:
    import _signal

# The steps of a launch that can fail.
STEP_CWD = 1
STEP_PROGRAM = 2
STEP_TERMINAL = 3
STEP_KEEPER = 4
STEP_BOX = 16
"""This and all above it: steps of the box, by their numbers."""

_TIOCGPTN = 0x80045430
# Python ignores these two; a command must not inherit that.
_RESTORED = (_signal.SIGPIPE, _signal.SIGXFSZ)


class LaunchError(Exception):
    """A step of the spawn failed; nothing was spawned."""

    def __init__(self, step: int, error: int) -> None:
        super().__init__(step, error)
        self.step = step
        self.error = error


def spawn(
    program: bytes, argv: tuple[bytes, ...], cwd: bytes, env: "Mapping[bytes, bytes]", fds: "Sequence[int]"
) -> int:
    """Start a process on the given stdout and stderr, with stdin before them if there are three."""
    _enter(cwd)
    numbers = range(3 - len(fds), 3)
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for fd, number in zip(fds, numbers, strict=True)]
    return _spawn(program, argv, env, actions)


def spawn_on_terminal(
    program: bytes, argv: tuple[bytes, ...], cwd: bytes, env: "Mapping[bytes, bytes]", size: tuple[int, int]
) -> tuple[int, int, int]:
    """Start a process on a new terminal that controls it; return its pid and both ends of the terminal."""
    _enter(cwd)
    ends: tuple[int, ...] = ()
    try:
        ends = master, slave = os.openpty()
        resize(master, *size)
        # The first terminal that a session leader opens becomes its controlling terminal.
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, _name(master, slave), os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ]
        return _spawn(program, argv, env, actions), master, slave
    except (LaunchError, OSError) as error:
        for fd in ends:
            os.close(fd)
        if isinstance(error, OSError):
            raise LaunchError(STEP_TERMINAL, error.errno or 0) from None
        raise


def _name(master: int, slave: int) -> str:
    """Return the path of a pseudo-terminal's second end; Linux tells its number at once."""
    import fcntl  # only a terminal needs these
    import struct

    try:
        (number,) = struct.unpack("i", fcntl.ioctl(master, _TIOCGPTN, bytes(4)))
    except OSError:
        return os.ttyname(slave)
    return f"/dev/pts/{number}"


def resize(master: int, rows: int, columns: int) -> None:
    """Give a terminal another size; its foreground job gets a signal."""
    import fcntl
    import struct
    import termios

    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _enter(cwd: bytes) -> None:
    try:
        os.chdir(cwd)
    except OSError as error:
        raise LaunchError(STEP_CWD, error.errno or 0) from None


def _spawn(
    program: bytes,
    argv: tuple[bytes, ...],
    env: "Mapping[bytes, bytes]",
    actions: "Sequence[tuple[object, ...]]",
) -> int:
    try:
        return os.posix_spawn(
            program, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_RESTORED
        )
    except OSError as error:
        raise LaunchError(STEP_PROGRAM, error.errno or 0) from None
