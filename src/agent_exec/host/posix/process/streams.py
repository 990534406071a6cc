"""The owner's side of a command's streams: output is read as it comes, input is written as it is taken."""

import fcntl
import os
import select
from _thread import RLock

from agent_exec.host.posix import descriptors, signals
from agent_exec.host.posix.descriptors import READ, WRITE
from agent_exec.host.posix.keeper.launch import resize

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal

    from agent_exec.host.ports import Handed, Loop, Sink
    from agent_exec.host.posix.input_wait import Gaze, Peer
    from agent_exec.model import errors
    from agent_exec.model.choices import Stream
    from agent_exec.model.command import Launch
else:
    from agent_exec.model.lazy import Later

    errors = Later("agent_exec.model.errors")  # a start that succeeds needs none
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
_END_OF_INPUT = b"\x04"
_STREAMS: "tuple[Stream, Stream]" = ("stdout", "stderr")


class Reader:
    """One output stream, read whenever it is ready, once it has begun.

    The loop reads, or the one thread to which it is lent: one of them at a
    time reads and passes on.
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
        """Return the other end of a terminal, which is closed before this one."""
        if self._peer is None:
            from agent_exec.host.posix.input_wait import Peer

            self._peer = Peer()
        return self._peer

    def lend(self) -> bool:
        """Let the calling thread call `ready` in place of the loop, until `take_back`; False if not."""
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

    def let_go(self) -> int:
        """Read no more, whichever thread was to; return the descriptor, -1 if it is closed."""
        with self._reading:
            fd, self.fd, self._lent = self.fd, -1, False
            if fd >= 0:
                self._loop.unwatch(fd)
        return fd

    def resume(self, fd: int, events: int, *, close: bool) -> None:
        """Go on with the descriptor that was let go of, or close it without reading from it."""
        with self._reading:
            self.fd = fd
            self._loop.watch(fd, events, self.ready)  # which closing ends
            if close:
                self.close()

    def finish(self) -> bool:
        """Take what is there when every writer of ours is gone, and close; True if others hold it open.

        What our writers wrote is in the pipe already, so one pipe's worth is
        enough, should another process go on writing.
        """
        with self._reading:
            if self.fd < 0:
                return False
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

    Any thread may write; all else belongs to the loop. With a `reader` it is
    the input of a terminal, whose one descriptor the reader owns.
    """

    __slots__ = ("_ending", "_lock", "_loop", "_pending", "_reader", "_watched", "fd")

    def __init__(self, fd: int, loop: "Loop", reader: Reader | None = None) -> None:
        os.set_blocking(fd, False)
        self.fd = descriptors.hold(fd)
        self._loop = loop
        self._reader = reader
        self._lock = RLock()
        self._pending = bytearray()
        self._watched = False
        self._ending = False
        if reader is not None:
            reader.writer = self

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

    @property
    def unread(self) -> int:
        """How many bytes wait to be passed on."""
        return len(self._pending)

    def end(self) -> None:
        """Close once everything has been passed on."""
        self._ending = True
        if not self._pending:
            self.close()

    def close(self) -> None:
        """Close now, and forget what was not passed on; harmless when repeated."""
        with self._lock:
            if self.fd >= 0:
                self._watch(wanted=False)
                self._pending = bytearray()
                fd, self.fd = self.fd, -1
                if self._reader is None:
                    descriptors.close(fd)

    @property
    def waiting(self) -> bool:
        """True if something is still to be passed on; for other threads to see."""
        return bool(self._pending)

    @property
    def closed(self) -> bool:
        """True if nothing can be written any more."""
        return self.fd < 0 or self._ending

    @property
    def left(self) -> tuple[int, bytes, bool]:
        """The descriptor, what still waits to be written to it, and whether that is all."""
        return (-1, b"", True) if self.fd < 0 else (self.fd, bytes(self._pending), self._ending)

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
        if self.fd >= 0:
            pending = bool(self._pending) and not gone
            self._watch(wanted=pending)
            if not pending and (self._ending or gone):
                self.close()

    def _watch(self, *, wanted: bool) -> None:
        """Have the loop call `ready`, or no longer; harmless when repeated."""
        if wanted == self._watched:
            return
        if self._reader is not None:
            if wanted:
                self._reader.begin()
                self._reader.take_back()
            self._loop.change(self.fd, READ | WRITE if wanted else READ)
        elif wanted:
            self._loop.watch(self.fd, WRITE, self.ready)
        else:
            self._loop.unwatch(self.fd)
        self._watched = wanted

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


def _write_without_signal(fd: int, data: bytes) -> int:
    """Write once in a process that lets SIGPIPE kill it: a command that closed its input must not."""
    with signals.Blocked(_signal.SIGPIPE):
        try:
            return os.write(fd, data)
        except BrokenPipeError:
            if hasattr(_signal, "sigtimedwait"):
                _signal.sigtimedwait((_signal.SIGPIPE,), 0)
            raise


class Streamed:
    """A process by its streams, which are ours until they are finished or closed."""

    __slots__ = (
        "_input",
        "_launch",
        "_line_open",
        "_loop",
        "_queued",
        "_readers",
        "_sent",
        "_sink",
        "network",
        "tally",
    )

    def __init__(self, launch: "Launch", loop: "Loop", sink: "Sink") -> None:
        self._launch = launch
        self._loop = loop
        self._sink = sink
        self._readers: list[Reader] = []
        self._input: Writer | None = None
        self._queued = bytearray()  # written before the terminal was there
        self._line_open = False
        self._sent = launch.size
        self.network: list[dict[str, object]] = []
        self.tally = (0, 0)
        """What was decided about its requests by the server of its box."""

    @property
    def takes_now(self) -> bool:
        """True if any thread may call `write` now, because nothing waits inside the loop to be written."""
        return self._input is not None and not self._queued

    @property
    def unread(self) -> int:
        """How many bytes of its input wait for the command to read others."""
        return 0 if self._input is None else self._input.unread

    def write(self, data: bytes) -> None:
        """Feed the command's input."""
        if self._launch.tty:
            if data:
                self._line_open = data[-1:] not in (b"\n", b"\r", _END_OF_INPUT)
            if self._input is None:
                self._queued += data
                return
        elif self._input is None or self._input.closed:
            raise errors.InputClosed(
                "this command takes no input: start it with interactive=True or a tty to write to it"
            )
        self._input.write(data)

    def end_input(self) -> None:
        """Tell the command that no more input comes; on a terminal, as a person would."""
        if self._launch.tty:
            # On an unfinished line the first one only hands the line over.
            self.write(_END_OF_INPUT * 2 if self._line_open else _END_OF_INPUT)
        elif self._input is not None:
            self._input.end()

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size."""
        if not self._launch.tty:
            raise errors.InvalidState("this command has no terminal: start it with tty=True to resize it")
        if self._readers and self._readers[0].fd >= 0:
            resize(self._readers[0].fd, rows, columns)
        else:
            size = self._launch.size.replace(rows=rows, columns=columns)
            self._launch = self._launch.replace(size=size)

    def gaze(self) -> "Gaze | None":
        """Return a view of the foreground of the terminal, to be closed by the caller; None without one."""
        if not self._launch.tty or not self._readers or self._readers[0].fd < 0:
            return None
        from agent_exec.host.posix.input_wait import Gaze

        return Gaze(os.dup(self._readers[0].fd), self._readers[0])

    def release(self) -> "Handed | None":
        """Refuse to let go of it: only this process can go on with it."""
        raise errors.Unsupported(
            "this command belongs to the very process that started it, and cannot be handed over"
        )

    def _let_go(self) -> list[int]:
        """Leave the output where it is; return our descriptors of it, -1 if closed."""
        fds = [reader.let_go() for reader in self._readers]
        if self._input is not None and self._input.fd >= 0:
            self._loop.unwatch(self._input.fd)
        return fds

    def _take_back(self, fds: list[int], *, close: bool = False) -> None:
        """Go on with the streams that were let go of, or close the output: another process reads it."""
        pending = self._input is not None and self._input.waiting
        events = READ | WRITE if pending and self._launch.tty else READ
        for reader, fd in zip(self._readers, fds, strict=True):
            if fd >= 0:
                reader.resume(fd, events, close=close)
        if pending and not close and self._input is not None and not self._launch.tty:
            self._loop.watch(self._input.fd, WRITE, self._input.ready)

    def _make_pipes(self, theirs: list[int]) -> None:
        """Make the pipes, ours not watched yet; the command's ends are added to `theirs`."""
        if self._launch.input:
            read_end, write_end = descriptors.pipe()
            self._input = Writer(write_end, self._loop)
            theirs.append(read_end)
        for name in _STREAMS:
            read_end, write_end = descriptors.pipe()
            self._readers.append(Reader(read_end, name, self._loop, self._sink))
            theirs.append(write_end)

    def _read_from(self, *fds: int) -> None:
        """Take over our ends of stdout and stderr; -1 is none."""
        for name, fd in zip(_STREAMS, fds, strict=True):
            if fd >= 0:
                self._readers.append(Reader(fd, name, self._loop, self._sink))

    def _open_terminal(self, master: int) -> None:
        """Take the terminal over, and type what was written before it was there."""
        reader = Reader(master, "stdout", self._loop, self._sink)
        self._readers.append(reader)
        if self._launch.size != self._sent:
            resize(master, self._launch.size.rows, self._launch.size.columns)
        self._input = Writer(master, self._loop, reader)
        self._input.write(bytes(self._queued))
        self._queued.clear()

    def _begin_streams(self) -> None:
        """Begin to read; harmless when repeated."""
        for reader in self._readers:
            reader.begin()

    def _finish_streams(self) -> bool:
        """Take the last output and close all streams; True if another process holds the output open."""
        held = False
        for reader in self._readers:
            held |= reader.finish()
        self._close_streams()
        return held

    def _close_streams(self) -> None:
        for reader in self._readers:
            reader.close()
        if self._input is not None:
            self._input.close()

    def _tell_exit(self, pid: int, status: int, *, alone: bool) -> None:
        """Tell the run how the main process ended."""
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            self._sink.exited(pid, 128 - code, signals.signal_name(-code), alone=alone)
        else:
            self._sink.exited(pid, code, None, alone=alone)
