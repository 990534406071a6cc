"""What every process of ours has, whoever spawned it: its streams, and words for how it ended."""

import os

from agent_exec.host.posix import descriptors, signals
from agent_exec.host.posix.poller import READ, WRITE
from agent_exec.host.posix.process.pipes import Reader, TerminalWriter, Writer
from agent_exec.model.errors import InputClosed, InvalidState, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.ports import Handed, Loop, Sink
    from agent_exec.host.posix.terminal.input_wait import Gaze
    from agent_exec.model.choices import Stream
    from agent_exec.model.command import Launch

_END_OF_INPUT = b"\x04"
_STREAMS: "tuple[Stream, Stream]" = ("stdout", "stderr")


class Streamed:
    """The streams of one process, in our hands until they are finished or closed."""

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
        """What whoever serves its box from outside has decided about its requests."""

    @property
    def takes_now(self) -> bool:
        """True if any thread may call `write` now, because nothing waits inside the loop to be written."""
        return self._input is not None and not self._queued

    def write(self, data: bytes) -> None:
        """Feed the command's input."""
        if not self._launch.tty:
            if self._input is None or self._input.closed:
                raise InputClosed(
                    "this command takes no input: start it with interactive=True or a tty to write to it"
                )
            self._input.write(data)
            return
        if data:
            self._line_open = data[-1:] not in (b"\n", b"\r", _END_OF_INPUT)
        if self._input is None:
            self._queued += data
        else:
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
            raise InvalidState("this command has no terminal: start it with tty=True to resize it")
        if self._readers and self._readers[0].fd >= 0:
            _resize(self._readers[0].fd, rows, columns)
        else:
            size = self._launch.size.replace(rows=rows, columns=columns)
            self._launch = self._launch.replace(size=size)

    def gaze(self) -> "Gaze | None":
        """Return eyes on who is in front of the terminal, to be closed by the taker; None without one."""
        if not self._launch.tty or not self._readers or self._readers[0].fd < 0:
            return None
        from agent_exec.host.posix.terminal.input_wait import Gaze

        return Gaze(os.dup(self._readers[0].fd), self._readers[0])

    def release(self) -> "Handed | None":
        """Refuse to let go of it: nobody but this process could go on."""
        raise Unsupported(
            "this command belongs to the very process that started it, and cannot be handed over"
        )

    def _let_go(self) -> list[int]:
        """Leave the output where it is, whoever was to read it; give our descriptors of it, -1 if closed."""
        fds: list[int] = []
        for reader in self._readers:
            with reader._reading:  # another thread may read just now
                fd, reader.fd, reader._lent = reader.fd, -1, False
                if fd >= 0:
                    self._loop.unwatch(fd)
            fds.append(fd)
        if self._input is not None and self._input.fd >= 0:
            self._loop.unwatch(self._input.fd)
        return fds

    def _close_unread(self, fds: list[int]) -> None:
        """Close the output that another process reads now; no thread here can read from it meanwhile."""
        for reader, fd in zip(self._readers, fds, strict=True):
            if fd >= 0:
                with reader._reading:
                    reader.fd = fd
                    self._loop.watch(fd, READ, reader.ready)  # which closing ends
                    reader.close()

    def _take_back(self, fds: list[int]) -> None:
        """Go on with the streams that were let go of."""
        pending = self._input is not None and self._input.waiting
        for reader, fd in zip(self._readers, fds, strict=True):
            if fd >= 0:
                with reader._reading:
                    reader.fd = fd
                    typed = WRITE if pending and self._launch.tty else 0
                    self._loop.watch(fd, READ | typed, reader.ready)
        if pending and self._input is not None and not self._launch.tty:
            self._loop.watch(self._input.fd, WRITE, self._input.ready)

    def _input_left(self) -> tuple[int, bytes, bool]:
        """Give the descriptor of the input, what still waits to be written to it, and whether that is all."""
        writer = self._input
        if writer is None or writer.fd < 0:
            return -1, b"", True
        return writer.fd, bytes(writer._pending), writer.closed

    def _make_pipes(self, theirs: list[int]) -> None:
        """Make the pipes, ours watched by nobody yet; the command's ends are added to `theirs`."""
        if self._launch.input:
            read_end, write_end = descriptors.pipe()
            self._input = Writer(write_end, self._loop)
            theirs.append(read_end)
        for name in _STREAMS:
            read_end, write_end = descriptors.pipe()
            self._readers.append(Reader(read_end, name, self._loop, self._sink))
            theirs.append(write_end)

    def _open_terminal(self, master: int) -> None:
        """Take the terminal over, and type what was written before it was there."""
        reader = Reader(master, "stdout", self._loop, self._sink)
        self._readers.append(reader)
        if self._launch.size != self._sent:
            _resize(master, self._launch.size.rows, self._launch.size.columns)
        self._input = TerminalWriter(reader, self._loop)
        self._input.write(bytes(self._queued))
        self._queued.clear()

    def _begin_streams(self) -> None:
        """Begin to read; harmless when repeated."""
        for reader in self._readers:
            reader.begin()

    def _finish_streams(self) -> bool:
        """Take the last output and close all streams; say whether a stranger holds the output open."""
        held = False
        for reader in self._readers:
            if reader.fd >= 0:
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


def _resize(master: int, rows: int, columns: int) -> None:
    from agent_exec.host.posix.keeper.launch import resize

    resize(master, rows, columns)
