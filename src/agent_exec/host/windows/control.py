"""How others speak to a process that owns a folder, and hear of its end: a named pipe and a mutex.

Neither is a file: their names are made of the path. The owner serves the
pipe, and holds the mutex until it hangs up or is gone: then the system gives
it to the process that waits, without a poll.
"""

import ctypes
import os
import sys
from functools import partial
from threading import Event, Thread
from time import monotonic, sleep

from agent_exec.host.windows import kernel
from agent_exec.host.windows.poller import wait_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agent_exec.host.ports import Loop
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.identity import Identity

    Wait = Callable[[int], bool]

if sys.platform == "win32":
    import _winapi
else:
    _winapi: "Any" = None

_SYNCHRONIZE = 0x100000
_MOST = 1 << 16
# How long a caller may hold the line, and how long one that just looked may hold the mutex.
_PATIENCE = 1.0
_SIZE = 1 << 12
_REJECT_REMOTE = 0x8
_BUSY = 231
_NO_DATA = 232
_CALL_PATIENCE = 10.0
_PAUSE = 0.005
# The process that has taken the name may learn who we are, and no more.
_IDENTIFY_ONLY = 0x110000


class Control:
    """The owner's side; `fd` is always none here."""

    __slots__ = ("_hear", "_loop", "_path", "_ready", "_stop", "_thread", "fd")

    def __init__(self, fd: int) -> None:  # noqa: ARG002 - as on other systems
        self.fd = -1
        self._path = ""
        self._hear: Callable[[str], object] | None = None
        self._loop: Loop | None = None
        self._ready = 0  # the events that tell the thread that we listen, and to stop
        self._stop = 0
        self._thread: Thread | None = None

    @classmethod
    def create(cls, path: str) -> "Control":
        """Make the pipe; messages wait until it is read. If another process has it, no message arrives."""
        control = cls(-1)
        control._path = path
        control._ready = kernel.create_event(manual=True)
        control._stop = kernel.create_event(manual=True)
        made = Event()
        control._thread = Thread(target=control._serve, args=(made,), name="agent-exec control", daemon=True)
        control._thread.start()
        made.wait()
        return control

    def listen(self, loop: "Loop", heard: "Callable[[str], object]") -> None:
        """Call `heard` with every line that comes, from inside the loop."""
        if self._thread is not None:
            self._loop, self._hear = loop, heard
            kernel.set_event(self._ready)

    def close(self) -> None:
        """Hang up; harmless when repeated."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._hear = None
            kernel.set_event(self._stop)
            thread.join()
            kernel.close(self._ready)
            kernel.close(self._stop)

    def _serve(self, made: Event) -> None:
        """Hold the mutex and serve callers until stopped; in a thread, which owns the mutex."""
        mutex = pipe = 0
        try:
            mutex = _hold(_mutex_name(self._path))
            pipe = _create(_pipe_name(self._path))
        except OSError:
            pass
        finally:
            made.set()
        try:
            if pipe and kernel.wait_any((self._stop, self._ready), None) == 1:
                self._take_calls(pipe)
        except OSError:
            pass  # the system took the pipe away; we are still there
        finally:
            kernel.wait(self._stop, None)
            if pipe:
                kernel.close(pipe)
            if mutex:
                _let_go(mutex)
                kernel.close(mutex)

    def _take_calls(self, pipe: int) -> None:
        while _connect(pipe, lambda event: kernel.wait_any((event, self._stop), None) == 0):
            *lines, _ = _take(pipe, self._stop).split(b"\n")
            _disconnect(pipe)
            if self._loop is not None:
                self._loop.post(partial(self._hand_over, lines))

    def _hand_over(self, lines: list[bytes]) -> None:
        for line in lines:
            if self._hear is not None:
                self._hear(line.decode("ascii", "replace"))


def ask(path: str, line: str) -> bool:
    """Send a line to the owner of the pipe; False if there is no listener."""
    return _call(_pipe_name(path), line.encode("ascii") + b"\n")


class Watch:
    """The side that waits for the owner's end; to be opened before the last check whether it exists."""

    __slots__ = ("_mutex", "_over", "_stop", "_thread", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._over = False
        self._stop: Cancel | None = None
        self._thread: Thread | None = None
        self._mutex: int = kernel.dll().OpenMutexW(_SYNCHRONIZE, False, _mutex_name(path)) or 0

    @property
    def hears(self) -> bool:
        """True if there is an owner to hear of the end of; without one, look again from time to time."""
        return self._mutex != 0

    def wait(self, seconds: float | None, cancel: "Cancel | None" = None) -> bool:
        """Wait for the owner to hang up, or until `cancel` is set; False when the time is over."""
        if not self._over and wait_for(self._mutex, seconds, cancel):
            _let_go(self._mutex)  # for the next waiting process
            self._over = True
        return self._over or (cancel is not None and cancel.is_set())

    def listen(self, loop: "Loop", call: "Callable[[], object]") -> None:
        """Call once from inside the loop when the owner has hung up; needs `hears`."""
        from agent_exec.model.cancel import Cancel

        stop = self._stop = Cancel()

        def wait() -> None:
            self.wait(None, stop)
            if not stop.is_set():
                loop.post(call)

        self._thread = Thread(target=wait, name="agent-exec watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait no more; harmless when repeated."""
        thread, self._thread = self._thread, None
        if thread is not None and self._stop is not None:
            self._stop.set()
            thread.join()
        if self._mutex:
            kernel.close(self._mutex)
            self._mutex = 0


class ExitWatch(Watch):
    """Waits for the end of a process; here it never hears, so its user looks from time to time."""

    __slots__ = ()

    def __init__(self, identity: "Identity") -> None:  # noqa: ARG002
        super().__init__("")


def _take(pipe: int, stop: int) -> bytes:
    """Return all that one caller says, until it hangs up or has held the line for long."""
    deadline = monotonic() + _PATIENCE
    data = b""

    def wait(event: int) -> bool:
        return kernel.wait_any((event, stop), max(0.0, deadline - monotonic())) == 0

    try:
        while len(data) < _MOST and (chunk := _read(pipe, _MOST, wait)) is not None:
            data += chunk
    except OSError:
        pass  # it has hung up
    return data


def _hold(name: str) -> int:
    """Make a mutex and hold it, for as long as this thread lives."""
    mutex, new = kernel.create_named(kernel.dll().CreateMutexW, None, True, name)
    if not new:
        kernel.wait(mutex, _PATIENCE)
    return mutex


def _let_go(mutex: int) -> None:
    kernel.dll().ReleaseMutex(ctypes.c_void_p(mutex))


def _pipe_name(path: str) -> str:
    return rf"\\.\pipe\agent-exec-{_digest(path)}"


def _mutex_name(path: str) -> str:
    # Global: the waiting process may be logged on in another way than the owner.
    return rf"Global\agent-exec-{_digest(path)}"


def _digest(path: str) -> str:
    """Return the same word for all ways to write a path."""
    from hashlib import sha256

    whole = os.path.normcase(os.path.realpath(path))
    return sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]


class Report:
    """The listener's side; `fd` is for the process that is to tell."""

    __slots__ = ("_reader", "fd")

    def __init__(self) -> None:
        self._reader, end = kernel.pipe(reading=True)
        self.fd = kernel.descriptor(end)

    def listen(self) -> None:
        """Give up our copy of the teller's side, once it has been handed on."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def hear(self, seconds: float | None, cancel: "Cancel | None" = None) -> bytes | None:
        """Return the next message; nothing when the time is over or `cancel` is set, None at the end."""
        try:
            told = _read(self._reader, 4096, lambda event: wait_for(event, seconds, cancel))
        except OSError:
            return None
        return told or b""

    def close(self) -> None:
        """Listen no more; harmless when repeated."""
        self.listen()
        if self._reader:
            kernel.close(self._reader)
            self._reader = 0


def tell(fd: int, word: bytes) -> None:
    """Tell the listener something; say nothing if it has gone."""
    try:
        os.write(fd, word)
    except OSError:
        return


def _create(name: str) -> int:
    """Make the pipe, for one caller at a time; PermissionError if another process has it."""
    mode = _winapi.PIPE_ACCESS_INBOUND | _winapi.FILE_FLAG_OVERLAPPED | _winapi.FILE_FLAG_FIRST_PIPE_INSTANCE
    handle: int = _winapi.CreateNamedPipe(name, mode, _REJECT_REMOTE, 1, _SIZE, _SIZE, 0, 0)
    return handle


def _connect(pipe: int, wait: "Wait") -> bool:
    """Wait for a caller; False if `wait` gave up."""
    try:
        transfer = _winapi.ConnectNamedPipe(pipe, overlapped=True)
    except OSError as error:
        if getattr(error, "winerror", 0) == _NO_DATA:
            return True  # it has called and hung up already; what it said is still there
        raise
    return wait(transfer.event) or not _cancelled(transfer)


def _read(pipe: int, size: int, wait: "Wait") -> bytes | None:
    """Return what comes to this, or any other, overlapped pipe; None if `wait` gave up.

    BrokenPipeError is the end.
    """
    transfer, error = _winapi.ReadFile(pipe, size, overlapped=True)
    if error == _winapi.ERROR_IO_PENDING and not wait(transfer.event) and _cancelled(transfer):
        return None
    count, _ = transfer.GetOverlappedResult(True)
    return (transfer.getbuffer() or b"")[:count]


def _disconnect(pipe: int) -> None:
    """Let the caller go."""
    kernel.check(kernel.dll().DisconnectNamedPipe(ctypes.c_void_p(pipe)))


def _call(name: str, data: bytes) -> bool:
    """Call the owner of the pipe and say this; False if there is none, or it has no time for us."""
    pipe = _open(name)
    if pipe is None:
        return False
    try:
        _winapi.WriteFile(pipe, data)
    except OSError:
        return False
    finally:
        kernel.close(pipe)
    return True


def _open(name: str) -> int | None:
    """Call the owner, again and again while it hears another; None if there is no owner, or no hope."""
    deadline = monotonic() + _CALL_PATIENCE
    while True:
        try:
            pipe: int = _winapi.CreateFile(
                name, _winapi.GENERIC_WRITE, 0, 0, _winapi.OPEN_EXISTING, _IDENTIFY_ONLY, 0
            )
        except OSError as error:
            if getattr(error, "winerror", 0) != _BUSY or monotonic() > deadline:
                return None
        else:
            return pipe
        sleep(_PAUSE)


def _cancelled(transfer: "Any") -> bool:
    """Cancel a transfer; False if it came to its end just before."""
    transfer.cancel()
    aborted: bool = transfer.GetOverlappedResult(True)[1] == _winapi.ERROR_OPERATION_ABORTED
    return aborted
