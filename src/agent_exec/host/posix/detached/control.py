"""How others speak to a process that owns a folder, and hear of its end: a named pipe in it.

The owner holds the pipe open for reading and writing. Whoever writes a line
is heard; whoever holds it open for reading hears the hang-up when the owner
is gone, or has closed it, without a poll.
"""

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.host.ports import Loop
    from agent_exec.model.cancel import Cancel

LONGEST_LINE = 512
"""What the system writes in one piece wherever POSIX holds."""


class Control:
    """The owner's side."""

    __slots__ = ("_data", "_loop", "fd")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._loop: Loop | None = None
        self._data = b""

    @classmethod
    def create(cls, path: str) -> "Control":
        """Make the pipe and open it; without one (a file system that has none) nobody can speak to us."""
        try:
            os.mkfifo(path, 0o600)
            return cls(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EACCES):
                return cls(-1)
            raise

    def listen(self, loop: "Loop", heard: "Callable[[str], object]") -> None:
        """Call `heard` with every line that comes, from inside the loop."""

        def ready(_events: int) -> None:
            for line in self._receive():
                heard(line)

        if self.fd >= 0:
            from agent_exec.host.posix.poller import READ

            self._loop = loop
            loop.watch(self.fd, READ, ready)

    def _receive(self) -> list[str]:
        """Return the whole lines that have come."""
        try:
            self._data += os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return []
        *lines, self._data = self._data.split(b"\n")
        self._data = self._data[-LONGEST_LINE:]
        return [line.decode("ascii", "replace") for line in lines]

    def close(self) -> None:
        """Hang up; harmless when repeated."""
        if self.fd >= 0:
            if self._loop is not None:
                self._loop.unwatch(self.fd)
            os.close(self.fd)
            self.fd = -1


def ask(path: str, line: str) -> bool:
    """Send a line to the owner of the pipe; False if nobody listens."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False  # no pipe, or nobody at its other end
    try:
        os.write(fd, line.encode("ascii") + b"\n")
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


class Watch:
    """The side of who waits for the owner's end; to be opened before the last look whether it is there."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            self._fd = -1

    @property
    def hears(self) -> bool:
        """True if there is a pipe to hear of the end by; without one, look again from time to time."""
        return self._fd >= 0

    def wait(self, seconds: float | None, cancel: "Cancel | None" = None) -> bool:
        """Wait for the owner to hang up, or until `cancel` is set; False when the time is over."""
        from agent_exec.host.posix.poller import wait_for

        return bool(wait_for([(self._fd, 0)], seconds, cancel))

    def close(self) -> None:
        """Wait no more; harmless when repeated."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
