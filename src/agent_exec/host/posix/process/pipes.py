"""The owner's ends of a command's output and input: read as it comes, written as it is taken."""

import fcntl
import os
import select
from _thread import RLock

from agent_exec.host.posix import descriptors
from agent_exec.host.posix.poller import READ, WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal

    from agent_exec.host.ports import Loop, Sink
    from agent_exec.host.posix.terminal.peer import Peer
    from agent_exec.model.choices import Stream
else:
    import _signal

# A reader starts small, because most commands print little, and grows with
# the first full read. A pipe must hold twice what is read at once, or its
# writer waits for us; an unprivileged user has 64 pipes of the largest size.
_FIRST_READ = 1 << 14
_FULL_READ = 1 << 18
_WRITE = 1 << 16
_MOMENT_MS = 50
_PIPE_SIZES = (1 << 20, 1 << 18)
_F_SETPIPE_SZ = 1031
_F_GETPIPE_SZ = 1032


class Reader:
    """One output stream, read whenever it is ready, once it has begun.

    The loop reads, or the one thread to which it is lent; what is read and
    passed on is so by one of them at a time.
    """

    __slots__ = (
        "_begun",
        "_lent",
        "_loop",
        "_name",
        "_peer",
        "_reading",
        "_sink",
        "_size",
        "busy",
        "fd",
        "writer",
    )

    def __init__(self, fd: int, name: "Stream", loop: "Loop", sink: "Sink") -> None:
        self.fd = descriptors.hold(fd)
        self._name = name
        self._loop = loop
        self._sink = sink
        self._size = _FIRST_READ
        self._begun = False
        self._lent = False
        self._peer: Peer | None = None
        self._reading = RLock()
        self.busy = False
        """Whether something may have been read that is not passed on yet; for other threads to see."""
        self.writer: Writer | None = None  # of a terminal, which is one descriptor for both

    def begin(self) -> None:
        """Begin to read; harmless when repeated."""
        if not self._begun and self.fd >= 0:
            self._begun = True
            os.set_blocking(self.fd, False)
            self._loop.watch(self.fd, READ, self.ready)

    def ready(self, events: int) -> None:
        """Read once; the end of the stream closes this side too."""
        if events & WRITE and self.writer is not None:
            self.writer.ready(events)
            if events == WRITE:
                return
        with self._reading:
            if self.fd < 0:
                return
            self.busy = True
            # Hung up and nothing to read: the end, without a further call to the kernel.
            chunk = self._read() if events & READ else b""
            if chunk:
                self._sink.output(self._name, chunk)
            elif chunk is not None:
                self.close()
            self.busy = False

    def face(self) -> "Peer":
        """Return the other end of a terminal, which goes before we do."""
        if self._peer is None:
            from agent_exec.host.posix.terminal.peer import Peer

            self._peer = Peer()
        return self._peer

    def lend(self) -> bool:
        """Let the calling thread call `ready` in place of the loop, until it is taken back; say if it may."""
        if not self._loop.shareable:
            return False
        with self._reading:
            typing = self.writer is not None and self.writer.waiting
            if self._lent or not self._begun or self.fd < 0 or typing:
                return False
            self._lent = True
            self._loop.unwatch(self.fd)
            return True

    def take_back(self) -> None:
        """Let the loop read again; harmless when repeated, and from any thread."""
        with self._reading:
            if self._lent:
                self._lent = False
                if self.fd >= 0:
                    self._loop.watch(self.fd, READ, self.ready)

    def finish(self) -> bool:
        """Take what is there when every writer of ours is gone, and close; say whether others hold it open.

        What our writers wrote is in the pipe already, so one pipe's worth is
        enough, should a stranger go on writing.
        """
        with self._reading:
            return self.fd >= 0 and self._finish()

    def _finish(self) -> bool:
        if self._peer is not None:
            self._peer.close()
        if not self._begun:
            os.set_blocking(self.fd, False)
        chunk = self._read()
        budget = self._capacity() if chunk else 0
        while chunk:
            self._sink.output(self._name, chunk)
            budget -= len(chunk)
            if budget < 0:
                break
            chunk = self._read()
        if chunk is None:
            # A copy of this process that is being forked holds it for a moment.
            waiter = select.poll()
            waiter.register(self.fd, 0)
            chunk = b"" if waiter.poll(_MOMENT_MS) else None
        self.close()
        return chunk != b""

    def close(self) -> None:
        """Stop reading; harmless when repeated."""
        with self._reading:
            if self.fd < 0:
                return
            if self.writer is not None:
                self.writer.close()
                self.writer = None  # which points back to us
            if self._peer is not None:
                self._peer.close()
            self._loop.unwatch(self.fd)
            # Forgotten before it is closed: an exception in between must not let it be closed twice.
            fd, self.fd = self.fd, -1
            descriptors.close(fd)

    def _read(self) -> bytes | None:
        """Read once: bytes, nothing at the end, None when there is nothing yet."""
        try:
            chunk = os.read(self.fd, self._size)
        except BlockingIOError:
            return None
        except OSError:
            return b""  # a terminal whose last user is gone says EIO
        if len(chunk) == self._size == _FIRST_READ:
            self._grow()
        return chunk

    def _capacity(self) -> int:
        try:
            return fcntl.fcntl(self.fd, _F_GETPIPE_SZ)
        except OSError:
            return _PIPE_SIZES[0]  # more than any terminal holds

    def _grow(self) -> None:
        self._size = _FULL_READ
        for size in _PIPE_SIZES:
            try:
                fcntl.fcntl(self.fd, _F_SETPIPE_SZ, size)
            except OSError:
                continue
            return


class Writer:
    """The input stream: takes any amount at once and passes it on as the command reads.

    Any thread may write; all else belongs to the loop.
    """

    __slots__ = ("_ending", "_lock", "_loop", "_pending", "_watched", "fd")

    def __init__(self, fd: int, loop: "Loop") -> None:
        os.set_blocking(fd, False)
        self.fd = descriptors.hold(fd)
        self._loop = loop
        self._lock = RLock()
        self._pending = bytearray()
        self._watched = False
        self._ending = False

    def write(self, data: bytes) -> None:
        """Pass on, after what was written before; nothing happens once the command has closed its input."""
        with self._lock:
            if self.fd < 0:
                return
            if self._pending:
                self._pending += data
                return
            sent = self._send(data)
            if sent == len(data):
                return
            if sent >= 0:
                self._pending += memoryview(data)[sent:]
        self._loop.post(self._follow_up)

    def end(self) -> None:
        """Close once everything has been passed on."""
        self._ending = True
        if not self._pending:
            self.close()

    def close(self) -> None:
        """Close now, and forget what was not passed on; harmless when repeated."""
        with self._lock:
            if self.fd >= 0:
                if self._watched:
                    self._unwatch()
                    self._watched = False
                self._pending = bytearray()
                fd, self.fd = self.fd, -1
                self._release(fd)

    @property
    def waiting(self) -> bool:
        """True if something is still to be passed on; for other threads to see."""
        return bool(self._pending)

    @property
    def closed(self) -> bool:
        """True if nothing can be written any more."""
        return self.fd < 0 or self._ending

    def ready(self, _events: int) -> None:
        """Pass on what the command takes now."""
        with self._lock:
            if not self._pending:
                return
            sent = self._send(bytes(memoryview(self._pending)[:_WRITE]))
            del self._pending[: max(0, sent)]
        self._follow_up(gone=sent < 0)

    def _follow_up(self, *, gone: bool = False) -> None:
        """Watch while there is something to pass on; close when there will be nothing more."""
        if self.fd < 0:
            return
        if self._pending and not gone:
            if not self._watched:
                self._watch()
                self._watched = True
            return
        if self._watched:
            self._unwatch()
            self._watched = False
        if self._ending or gone:
            self.close()

    def _send(self, data: bytes) -> int:
        """Write once; -1 when the command has closed its input, which is its right."""
        try:
            if _signal.getsignal(_signal.SIGPIPE) == _signal.SIG_DFL:
                return _write_without_signal(self.fd, data)
            return os.write(self.fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            return -1

    def _watch(self) -> None:
        self._loop.watch(self.fd, WRITE, self.ready)

    def _unwatch(self) -> None:
        self._loop.unwatch(self.fd)

    def _release(self, fd: int) -> None:
        descriptors.close(fd)


class TerminalWriter(Writer):
    """The input of a terminal, whose one descriptor its reader owns."""

    __slots__ = ("_reader",)

    def __init__(self, reader: Reader, loop: "Loop") -> None:
        super().__init__(reader.fd, loop)
        self._reader = reader
        reader.writer = self

    def _watch(self) -> None:
        self._reader.begin()
        self._reader.take_back()
        self._loop.change(self.fd, READ | WRITE)

    def _unwatch(self) -> None:
        self._loop.change(self.fd, READ)

    def _release(self, fd: int) -> None:
        pass


def _write_without_signal(fd: int, data: bytes) -> int:
    """Write once in a process that lets SIGPIPE kill it: a command that closed its input must not."""
    pipe = (_signal.SIGPIPE,)
    former = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
    try:
        _signal.pthread_sigmask(_signal.SIG_BLOCK, pipe)
        return os.write(fd, data)
    except BrokenPipeError:
        if hasattr(_signal, "sigtimedwait"):
            _signal.sigtimedwait(pipe, 0)
        raise
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, former)
