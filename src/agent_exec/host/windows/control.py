"""How others speak to a process that owns a folder, and hear of its end: a named pipe and a mutex.

Neither is a file: their names are made of the path. The owner serves the
pipe, and holds the mutex until it hangs up or is gone: then the system gives
it to whoever waits, without a poll.
"""

import ctypes
import os
from functools import partial
from threading import Event, Thread
from time import monotonic

from agent_exec.host.windows import kernel, namedpipe
from agent_exec.host.windows.interrupts import wait_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.host.ports import Loop
    from agent_exec.model.cancel import Cancel

_SYNCHRONIZE = 0x100000
_MOST = 1 << 16
# How long a caller may hold the line, and how long one who just looked may hold the mutex.
_PATIENCE = 1.0


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
        """Make the pipe; what is said before we listen waits. If another has it, nobody can speak to us."""
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
        """Hold the mutex and hear who calls, until told to stop; in a thread, to which the mutex belongs."""
        mutex = pipe = 0
        try:
            mutex = _hold(_mutex_name(self._path))
            pipe = namedpipe.create(_pipe_name(self._path))
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
        while namedpipe.connect(pipe, lambda event: kernel.wait_any((event, self._stop), None) == 0):
            *lines, _ = _take(pipe, self._stop).split(b"\n")
            namedpipe.disconnect(pipe)
            if self._loop is not None:
                self._loop.post(partial(self._hand_over, lines))

    def _hand_over(self, lines: list[bytes]) -> None:
        for line in lines:
            if self._hear is not None:
                self._hear(line.decode("ascii", "replace"))


def ask(path: str, line: str) -> bool:
    """Send a line to the owner of the pipe; False if nobody listens."""
    return namedpipe.call(_pipe_name(path), line.encode("ascii") + b"\n")


class Watch:
    """The side of who waits for the owner's end; to be opened before the last look whether it is there."""

    __slots__ = ("_mutex", "_over", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._over = False
        self._mutex: int = kernel.dll().OpenMutexW(_SYNCHRONIZE, False, _mutex_name(path)) or 0

    @property
    def hears(self) -> bool:
        """True if there is an owner to hear of the end of; without one, look again from time to time."""
        return self._mutex != 0

    def wait(self, seconds: float | None, cancel: "Cancel | None" = None) -> bool:
        """Wait for the owner to hang up, or until `cancel` is set; False when the time is over."""
        if not self._over and wait_for(self._mutex, seconds, cancel):
            _let_go(self._mutex)  # for the next who waits
            self._over = True
        return self._over or (cancel is not None and cancel.is_set())

    def close(self) -> None:
        """Wait no more; harmless when repeated."""
        if self._mutex:
            kernel.close(self._mutex)
            self._mutex = 0


def _take(pipe: int, stop: int) -> bytes:
    """Return all that one caller says, until it hangs up or has held the line for long."""
    deadline = monotonic() + _PATIENCE
    data = b""

    def wait(event: int) -> bool:
        return kernel.wait_any((event, stop), max(0.0, deadline - monotonic())) == 0

    try:
        while len(data) < _MOST and (chunk := namedpipe.read(pipe, _MOST, wait)) is not None:
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
    # Global: who waits may be logged on in another way than the owner was.
    return rf"Global\agent-exec-{_digest(path)}"


def _digest(path: str) -> str:
    """Return the same word for all ways to write a path."""
    from hashlib import sha256

    whole = os.path.normcase(os.path.realpath(path))
    return sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]
