"""The owner's ends of a command's output and input, each with a thread that waits for it."""

from _queue import SimpleQueue
from threading import Condition, Thread

from agent_exec.host.windows import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.ports import Loop, Sink
    from agent_exec.host.windows.launch import Terminal
    from agent_exec.model.choices import Stream

_READ = 1 << 16
_WRITE = 1 << 16
# The system may say that a process is gone a moment before it has closed its pipes.
_PATIENCE = 0.2
# After the end this is more than a pipe holds, and enough should a stranger go on writing.
_LAST = 4 * kernel.PIPE_SIZE


class Reader:
    """One output stream, read by a thread and handed over in the loop.

    The thread waits until a chunk was taken before it hands over the next,
    so that memory stays flat whatever the command prints.
    """

    __slots__ = (
        "_budget",
        "_chunks",
        "_handle",
        "_loop",
        "_name",
        "_patience",
        "_sink",
        "_stop",
        "_taken",
        "_thread",
        "held",
    )

    def __init__(self, handle: int, name: "Stream", stop: int, loop: "Loop", sink: "Sink") -> None:
        self._handle = handle
        self._name = name
        self._stop = stop
        self._loop = loop
        self._sink: Sink | None = sink
        self._chunks: list[bytes] = []
        self._taken = Condition()
        self._budget: int | None = None  # how much may still be read; none before the end
        self._patience = _PATIENCE
        self.held = False
        self._thread = Thread(target=self._serve, name=f"agent-exec {name}", daemon=True)
        self._thread.start()

    def take(self) -> None:
        """Hand over what was read; in the loop."""
        with self._taken:
            chunks, self._chunks = self._chunks, []
            self._taken.notify()
        for chunk in chunks:
            if self._sink is not None:
                self._sink.output(self._name, chunk)

    def hasten(self, *, patient: bool) -> None:
        """Let the thread wait no more until a chunk was taken: the end is near.

        Only if `patient`, an end that has not come when `stop` is set may
        still come.
        """
        with self._taken:
            if not patient:
                self._patience = 0.0
            self._budget = _LAST
            self._taken.notify()

    def discard(self) -> None:
        """Drop all that comes from now on."""
        self._sink = None
        with self._taken:
            self._budget = 1 << 62
            self._taken.notify()

    def join(self) -> None:
        """Wait until the thread is gone; `held` then says whether a stranger holds the stream open."""
        self._thread.join()

    def _serve(self) -> None:
        """Read until the end, or until stopped with nothing left to read."""
        try:
            while self._budget is None or self._budget > 0:
                chunk = self._read()
                if chunk:
                    self._offer(chunk)
            self.held = True
        except TimeoutError:
            self.held = True
        except (OSError, EOFError):
            pass  # the end: every writer has closed it

    def _read(self) -> bytes:
        return kernel.read(self._handle, _READ, self._stop, self._patience)

    def _offer(self, chunk: bytes) -> None:
        with self._taken:
            while self._chunks and self._budget is None:
                self._taken.wait()
            if self._budget is not None:
                self._budget -= len(chunk)
            if self._sink is None:
                return
            self._chunks.append(chunk)
        self._loop.post(self.take)


class TerminalReader(Reader):
    """The output of a terminal."""

    __slots__ = ("_terminal",)

    def __init__(self, terminal: "Terminal", stop: int, loop: "Loop", sink: "Sink") -> None:
        self._terminal = terminal
        super().__init__(0, "stdout", stop, loop, sink)

    def _read(self) -> bytes:
        return self._terminal.read(self._stop)


class Writer:
    """The input stream: takes any amount at once, and its thread passes it on as the command reads."""

    __slots__ = ("_closed", "_handle", "_queue", "_stop", "_thread")

    def __init__(self, handle: int, stop: int) -> None:
        self._handle = handle
        self._stop = stop
        self._closed = False
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, name="agent-exec stdin", daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """True if nothing can be written any more."""
        return self._closed

    def write(self, data: bytes) -> None:
        """Pass on, after what was written before."""
        if not self._closed:
            self._queue.put(data)

    def end(self) -> None:
        """Close once everything has been passed on; at once where `stop` is set. Harmless when repeated."""
        self._closed = True
        self._queue.put(None)

    def join(self) -> None:
        """Wait until the thread is gone, and the handle with it."""
        self._thread.join()

    def _serve(self) -> None:
        """Pass on what comes until the end, and close; the command may close its side first."""
        try:
            while (data := self._queue.get()) is not None:
                rest = memoryview(data)
                while rest:
                    sent = self._send(bytes(rest[:_WRITE]))
                    rest = rest[sent:]
        except OSError:
            self._closed = True
        finally:
            self._release()

    def _send(self, data: bytes) -> int:
        return kernel.write(self._handle, data, self._stop)

    def _release(self) -> None:
        kernel.close(self._handle)


class TerminalWriter(Writer):
    """The input of a terminal, which stays open as long as the terminal."""

    __slots__ = ("_terminal",)

    def __init__(self, terminal: "Terminal", stop: int) -> None:
        self._terminal = terminal
        super().__init__(0, stop)

    def _send(self, data: bytes) -> int:
        return self._terminal.write(data, self._stop)

    def _release(self) -> None:
        pass
