"""A process that outlives its parent: how it is started, reports, hides, is marked, and is spoken to."""

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import signal as _signal
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from agent_exec.host.ports import Loop
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.identity import Identity
else:
    import _signal

LONGEST_LINE = 512
"""What the system writes in one piece wherever POSIX holds."""

_LEAST_BRAND = 1 << 58


def detach(entry: str, fds: "Sequence[int]") -> None:
    """Fork a process into the `main(fds)` of a module, with these descriptors only (-1 is none).

    For a small process without threads, such as one call of a command-line
    program; `Spawner.detach` is for all others.
    """
    # A signal to the whole group must not be heard twice: our copy hears none from the first.
    former = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    pid, problem = -1, 0
    try:
        pid = os.fork()
    except OSError as error:
        problem = error.errno or errno.EAGAIN
    if pid:
        from agent_exec.host.posix.system import exit_code

        _signal.pthread_sigmask(_signal.SIG_SETMASK, former)
        if pid > 0:
            problem = exit_code(pid)
        if problem:
            from agent_exec.model.errors import LaunchFailed

            problem = problem if problem > 0 else errno.EAGAIN
            raise LaunchFailed(f"no process for the job: {os.strerror(problem)}", errno=problem)
        return
    try:
        # Forked once more: a kill of the caller and its children is not meant for us,
        # and a process that does not lead its session never gets a terminal.
        os.setsid()
        if os.fork():
            os._exit(0)
        go(entry, list(fds))
    except OSError as error:
        os._exit(error.errno or 1)
    except BaseException:
        os._exit(1)


def take_and_go(entry: str, sock: "_socket.socket") -> "NoReturn":
    """In a process forked by the factory: take the descriptors from its socket, and go in."""
    from agent_exec.host.posix.keeper import wire

    given, fds = wire.receive(sock, space=wire.MANY)
    if not given:
        os._exit(1)  # the owner is gone
    sock.close()
    taken = iter(fds)
    go(entry, [next(taken, -1) if there else -1 for there in given])


def go(entry: str, fds: list[int]) -> "NoReturn":
    """Keep nothing but the descriptors, and go in; does not return."""
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


class Report:
    """What a detached process tells its caller: the listener's side; `fd` is for the process that tells."""

    __slots__ = ("_reader", "fd")

    def __init__(self) -> None:
        self._reader, self.fd = os.pipe()

    def listen(self) -> None:
        """Give up our copy of the teller's side, once it has been handed on."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def hear(self, seconds: float | None, cancel: "Cancel | None" = None) -> bytes | None:
        """Return the next message; nothing when the time is over or `cancel` is set, None at the end."""
        from agent_exec.host.posix.descriptors import READ, wait_for

        if self._reader in wait_for([(self._reader, READ)], seconds, cancel):
            return os.read(self._reader, 4096) or None
        return b""

    def close(self) -> None:
        """Listen no more; harmless when repeated."""
        self.listen()
        if self._reader >= 0:
            os.close(self._reader)
            self._reader = -1


def tell(fd: int, word: bytes) -> None:
    """Tell the listener something; say nothing if it has gone."""
    try:
        os.write(fd, word)
    except OSError:
        return


class Control:
    """How others speak to a process that owns a folder, and hear of its end: a named pipe in the folder.

    The owner holds the pipe open for reading and writing. A process that
    writes a line is heard; one that holds it open for reading gets a hang-up
    when the owner is gone, or has closed it.
    """

    __slots__ = ("_data", "_loop", "fd")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._loop: Loop | None = None
        self._data = b""

    @classmethod
    def create(cls, path: str) -> "Control":
        """Make the pipe and open it; without one (a file system that has none) no line can come."""
        try:
            _make_pipe(path)
            return cls(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EACCES):
                return cls(-1)
            raise

    def listen(self, loop: "Loop", heard: "Callable[[str], object]") -> None:
        """Call `heard` with every whole line that comes, from inside the loop."""

        def ready(_events: int) -> None:
            try:
                *lines, rest = (self._data + os.read(self.fd, 1 << 16)).split(b"\n")
            except BlockingIOError:
                return
            self._data = rest[-LONGEST_LINE:]
            for line in lines:
                heard(line.decode("ascii", "replace"))

        if self.fd >= 0:
            from agent_exec.host.posix.descriptors import READ

            self._loop = loop
            loop.watch(self.fd, READ, ready)

    def close(self) -> None:
        """Hang up; harmless when repeated."""
        if self.fd >= 0:
            if self._loop is not None:
                self._loop.unwatch(self.fd)
            os.close(self.fd)
            self.fd = -1


def _make_pipe(path: str) -> None:
    """Make a named pipe, in place of one that a former owner has left: in that one, words to it may wait."""
    try:
        os.mkfifo(path, 0o600)
    except FileExistsError:
        new = f"{path}.{os.getpid()}"
        os.mkfifo(new, 0o600)
        os.rename(new, path)


def ask(path: str, line: str) -> bool:
    """Send a line to the owner of the pipe; False if there is none."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False  # no pipe, or no process at its other end
    try:
        os.write(fd, line.encode("ascii") + b"\n")
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


class Watch:
    """Waits for the end of a pipe's owner; to be opened before the last look whether that is there."""

    __slots__ = ("_events", "_fd", "_loop", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._events = 0
        self._loop: Loop | None = None
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
        from agent_exec.host.posix.descriptors import wait_for

        return bool(wait_for([(self._fd, self._events)], seconds, cancel))

    def listen(self, loop: "Loop", call: "Callable[[], object]") -> None:
        """Call once from inside the loop when the owner has hung up; needs `hears`."""

        def ready(_events: int) -> None:
            loop.unwatch(self._fd)
            self._loop = None
            call()

        self._loop = loop
        loop.watch(self._fd, self._events, ready)

    def close(self) -> None:
        """Wait no more; harmless when repeated."""
        if self._fd >= 0:
            if self._loop is not None:
                self._loop.unwatch(self._fd)
                self._loop = None
            os.close(self._fd)
            self._fd = -1


def descriptor_of(watch: Watch) -> int:
    """Return the descriptor of a watch, to wait for it together with others; -1 if it hears nothing."""
    return watch._fd


class ExitWatch(Watch):
    """Waits for the end of a process that is not a child of ours, where the system tells (Linux)."""

    __slots__ = ()

    def __init__(self, identity: "Identity") -> None:
        from agent_exec.host.posix.descriptors import READ
        from agent_exec.host.posix.system import is_alive

        super().__init__("")
        self._events = READ
        if hasattr(os, "pidfd_open"):
            try:
                self._fd = os.pidfd_open(identity.pid)
            except OSError:
                return
            if not is_alive(identity):
                self.close()


def hide_arguments(title: str) -> None:
    """Show `title` as this process's command line, and as that of its forked copies (Linux).

    Anyone on the machine may read the arguments. The kernel shows the memory
    in which they came, so that is overwritten, where it can be.
    """
    if sys.platform != "linux":
        return
    from agent_exec.host.posix.system import status

    try:
        start, end = map(int, status(os.getpid())[45:47])
        memory = os.open("/proc/self/mem", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(memory, title.encode()[: end - start - 1].ljust(end - start, b"\0"), start)
        finally:
            os.close(memory)
    except (OSError, ValueError):
        return


def brand_of(name: str) -> int:
    """Return the number by which all processes of a job are marked, made of its name."""
    number = 0xCBF29CE484222325
    for byte in name.encode():
        number = (number ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return _LEAST_BRAND + number % _LEAST_BRAND
