"""A command that is kept under a number: typed to, waited for, read again, ended."""

from _thread import allocate_lock
from threading import Condition, Timer
from time import monotonic, time

from agent_exec.model.cancel import Cancel
from agent_exec.model.errors import InputClosed, InvalidState
from agent_exec.model.output import HeadTail, newest_line, unfinished
from agent_exec.sessions.sizes import Sizes
from agent_exec.sessions.transcript import WINDOW, View
from agent_exec.sessions.wanted import NOTHING, Ending, Wanted
from agent_exec.views.reader import begun, mask, masking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from typing import Any

    from agent_exec.engine.engine import Engine
    from agent_exec.engine.handoff import HandOver
    from agent_exec.engine.run import Run
    from agent_exec.host.ports import Gaze
    from agent_exec.model.choices import Sink, Stream
    from agent_exec.model.command import Command, Outcome
    from agent_exec.requests.shells import Pipeline
    from agent_exec.sandbox.report.guard import Guard
    from agent_exec.sessions.keyboard import Keyboard
    from agent_exec.sessions.matcher import Matcher
    from agent_exec.sessions.transcript import Taken, Transcript

_STREAMS: "tuple[Stream, Stream]" = ("stdout", "stderr")
_PIECE = 1 << 20
_LINE = 500
_FIRST_LOOK, _AFTER_TYPING, _LAST_LOOK = 0.0002, 0.001, 0.05
"""When a look follows whether the program waits: after a whole line, after typing, and how often at last."""

_looking = allocate_lock()
"""One look at a time: many threads that look at once keep each other from the interpreter."""


def _pipeline() -> "Pipeline":
    from agent_exec.requests.shells import Pipeline

    return Pipeline()


class Session:
    """One command and all that it prints; any thread may use it, one exchange at a time.

    `reports`: its shell reports a failure that its exit code hides. `secrets` are masked wherever
    output is shown; what is written to a file, and what a job is made of, is as it was printed.
    """

    def __init__(
        self,
        number: int,
        command: "Command",
        transcript: "Transcript",
        text: str,
        *,
        render: str = "text",
        separate: bool = False,
        reports: bool = False,
        secrets: "Sequence[bytes]" = (),
    ) -> None:
        self.number = number
        self.command = command
        self.text = text  # the command as it was asked for
        self.transcript = transcript
        self._secrets = tuple(secrets)
        self._shown = masking(transcript.read, secrets) if secrets else transcript.read
        self.view = View(render, command.size.rows, command.size.columns, tty=command.tty)
        self.began = time()
        self.used = monotonic()
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        self.job = ""  # the name of the job that has the command now
        self.sizes = Sizes(command.size.rows, command.size.columns)
        self.keyboard: Keyboard | None = None  # from the first viewer on
        self.watcher: Callable[[], object] | None = None  # called after output, a resize and the end
        self.guard: Guard | None = None
        self.seen_to_end = False  # whether an answer has reported the end
        self._reported: list[dict[str, str]] = []
        self._streams = {name: HeadTail(WINDOW, WINDOW) for name in _STREAMS} if separate else None
        self.pipeline = _pipeline() if reports else None
        self._turn = Condition()
        self._in_turn = False
        self._changed = Condition()
        self._run: Run | None = None
        self._gaze: Gaze | None = None
        self._eyes: Gaze | None = None  # of a thread that has typed, and waits next
        self._matcher: Matcher | None = None
        self._chunks = 0
        self._heeded = False  # whether output may have to wake a thread
        self._printed = self._typed = monotonic()
        self._ends_line = True
        self._look_at = 0.0
        self._idle: Timer | None = None

    def start(self, engine: "Engine", guard: "Guard | None" = None) -> None:
        """Start the command; raise what can be seen to be wrong with it."""
        self.guard = guard
        command = self.command.replace(on_output=self._print, on_event=self._note)
        with self._changed:  # the callback that reports the spawn must find the run
            self._run = engine.start(command, sandbox=guard)
        self._run.future.add_done_callback(self._end)

    @property
    def ended(self) -> bool:
        """True if it is over, and its output complete."""
        return self.outcome is not None or self.error is not None

    @property
    def run(self) -> "Run":
        """The run, which has been started."""
        assert self._run is not None
        return self._run

    def end_when_idle(self, seconds: float) -> None:
        """End it when it has printed nothing for so long."""
        with self._changed:
            if self.ended:
                return
            left = self._printed + seconds - monotonic()
            if left <= 0:
                self.stop()
                return
            self._idle = Timer(left, self.end_when_idle, (seconds,))
            self._idle.daemon = True
            self._idle.start()

    def stop(self) -> None:
        """Have it end, after its grace by force; returns at once."""
        self.run.stop()
        if self.command.tty:  # shells at a prompt heed nothing else
            self.run.signal("HUP")

    def hand_over(self, give: "Callable[[HandOver], str]") -> None:
        """Have `give` hand the command to another process, and return its name there.

        The session has ended then, and keeps what it has read. If `give` raises, it just goes on.
        """
        from agent_exec.engine.handoff import HandOver

        handing = HandOver(self.run)
        try:
            name = give(handing)
        except BaseException:
            handing.take_back()
            raise
        self.job = name
        handing.finish(InvalidState(f"this command is job {name} now", job_id=name))

    def resize(self, rows: int, columns: int) -> None:
        """Give its terminal another size."""
        with self._changed:  # what the program prints because of it comes after the place that is noted
            if not self.ended:
                self.run.resize(rows, columns)
            self.sizes.change(self.transcript.total, rows, columns)
            self.view.resize(rows, columns)
            if self.watcher is not None:
                self.watcher()

    def changes(self) -> "list[dict[str, str]]":
        """Return what became of protected paths and was not reported before; see `Guard.look`."""
        if self.guard is None or self.job:
            return []
        new = [told for change in self.guard.look() if (told := change.to_json()) not in self._reported]
        self._reported += new
        return new

    def printed(self) -> "Iterator[tuple[int, bytes]]":
        """Return all that is kept of its output, in pieces with their offsets."""
        at = 0
        while at < self.transcript.total:
            with self._changed:
                at, data = self.transcript.read(at, _PIECE)
            if not data:
                return
            yield at, data
            at += len(data)

    def summary(self) -> "dict[str, Any]":
        """Return what a list of sessions says of it; None for what is not known yet."""
        outcome = self.outcome
        return {
            "session_id": self.number,
            "cmd": self.text,
            "workdir": str(self.command.cwd),
            "tty": self.command.tty,
            "running": not self.ended,
            "age_seconds": round(time() - self.began, 3),
            "exit_code": None if outcome is None else outcome.exit_code,
            "signal": None if outcome is None else outcome.signal,
            "job_id": self.job or None,
        }

    def printed_so_far(self) -> tuple[int, str]:
        """Return how many bytes have come, and the newest line that is not blank."""
        total = self.transcript.total
        data = self.read(max(0, total - _LINE), _LINE)[1]
        return total, newest_line(data.decode("utf-8", "replace"))

    def type(self, data: bytes, *, attentive: bool = False) -> None:
        """Type something on its terminal; `attentive` by a thread that waits next, and calls `leave` at last.

        Such a thread has the terminal to itself before the program can answer.
        """
        if not self.command.tty:
            raise InputClosed("this command has no terminal to type on")
        if attentive and (gaze := self._gaze) is not None:
            self._eyes = gaze
            gaze.attend()
        self._typed = now = monotonic()
        self._look_at = now + _AFTER_TYPING
        self.run.write(data)

    def leave(self) -> None:
        """Let the engine read what is printed, if it is this thread that does; harmless when repeated."""
        eyes, self._eyes = self._eyes, None
        if eyes is not None:
            eyes.leave()

    def take_turn(self, seconds: float | None = None, cancel: "Cancel | None" = None) -> bool:
        """Begin an exchange (typing, waiting) once no other is under way; `give_turn` ends it.

        False if that takes longer than so many seconds, or if `cancel` is set first.
        """
        with self._turn:
            if not self._in_turn:  # as a rule
                self._in_turn = True
                return True
        cancel = cancel or Cancel()
        with cancel.calling(self._wake_turn), self._turn:
            self._turn.wait_for(lambda: not self._in_turn or cancel.is_set(), seconds)
            began = not self._in_turn
            self._in_turn = True
            return began

    def give_turn(self) -> None:
        """End an exchange."""
        with self._turn:
            self._in_turn = False
            self._turn.notify_all()

    def _wake_turn(self) -> None:
        with self._turn:
            self._turn.notify_all()

    def wait(self, seconds: float, wanted: Wanted = NOTHING, cancel: "Cancel | None" = None) -> Ending:
        """Wait for the command's end, a condition of the caller's, or a program that waits for input.

        After so many seconds, or once `cancel` is set, the cause is "deadline".
        """
        cancel = cancel or Cancel()
        deadline = monotonic() + seconds
        with cancel.calling(self._wake):
            try:
                start = self._look_for(wanted.regexes)
                ending = self._wait(deadline, wanted, cancel)
                if self._matcher is None or start is None or ending.cause not in ("match", "exit", "input"):
                    return ending
                self._matcher.search()  # its last lines may not be searched yet
                place = self._matcher.place
                return ending if place is None else ending.replace(place=start + place)
            finally:
                self._matcher = None

    def _wait(self, deadline: float, wanted: Wanted, cancel: Cancel) -> Ending:
        pause, chunks = _FIRST_LOOK, -1
        eyes: Gaze | None = None
        reads = False  # whether this very thread reads what is printed
        try:
            while True:
                if self._matcher is not None:
                    self._matcher.search(deadline - monotonic())
                with self._changed:
                    now = monotonic()
                    late = now >= deadline or cancel.is_set()
                    if cause := self._cause(wanted) or ("deadline" if late else ""):
                        return Ending(cause)
                    if self._chunks != chunks:
                        chunks, pause = self._chunks, _FIRST_LOOK
                    gaze = None if wanted.only_exit else self._gaze
                    self._heeded |= wanted.output or gaze is not None or self._matcher is not None
                    if self._matcher is not None and self._matcher.behind:
                        continue
                    if gaze is None:
                        self._changed.wait(min(deadline - now, self._step(wanted)))
                        continue
                if eyes is None:
                    eyes = gaze
                    reads = eyes.attend()
                if now >= self._look_at:
                    ending = self._look(gaze, chunks)
                    if ending is not None:
                        return ending
                    pause = min(2 * max(pause, monotonic() - now), _LAST_LOOK)
                    patience = pause
                else:
                    patience = min(pause, self._look_at - now)
                patience = min(patience, max(0.0, deadline - monotonic()))
                if not reads:
                    with self._changed:
                        if self._chunks == chunks and not self.ended and not cancel.is_set():
                            self._changed.wait(patience)
                elif not eyes.read(patience):
                    eyes.leave()  # all has been printed, and only the engine can tell how it ended
                    reads = False
        finally:
            if eyes is not None:
                eyes.leave()

    def _look_for(self, regexes: tuple[str, ...]) -> int | None:
        """Start to look for patterns in what is new; return from where on, None if some was left out."""
        start = None
        if regexes and not self.ended:
            from agent_exec.sessions.matcher import Matcher

            matcher = Matcher(regexes)
            with self._changed:
                pieces = self.transcript.peek()
                size = sum(map(len, pieces))
                if size >= self.transcript.waiting:
                    start = self.transcript.total - size
                for piece in pieces:
                    matcher.feed(piece)
                self._matcher = matcher
        return start

    def take(self, *, final: bool = True) -> "Taken":
        """Return what has come since the last time; if more may come, only whole characters."""
        with self._changed:
            taken = self.transcript.take(final=final)
            if not self._secrets:
                return taken
            tail = taken.end - len(taken.tail)
            return taken.replace(
                head=self._shown(taken.start, len(taken.head))[1] if taken.head else b"",
                tail=self._shown(tail, len(taken.tail))[1] if taken.tail else b"",
            )

    def take_streams(self, *, final: bool = True) -> dict[str, str] | None:
        """Return what has come of each stream since the last time; None unless they are kept apart."""
        if self._streams is None:
            return None
        taken: dict[str, str] = {}
        with self._changed:
            for name, keep in self._streams.items():
                data = keep.value()
                whole = len(data) - (0 if final else unfinished(data))
                self._streams[name] = keep.fresh()
                self._streams[name].feed(data[whole:])
                taken[name] = mask(data[:whole], self._secrets).decode(errors="replace")
        return taken

    def gaps(self) -> "list[tuple[int, int]]":
        """Return the ranges of its output that are not kept any more."""
        with self._changed:
            return self.transcript.gaps()

    def read(self, start: int, most: int) -> tuple[int, bytes]:
        """Return some output again, and where it begins."""
        with self._changed:
            return self._shown(start, most)

    @property
    def showable(self) -> int:
        """The offset up to which viewers are shown output: a secret that is only begun waits for its rest."""
        with self._changed:
            total = self.transcript.total
            if not self._secrets or self.ended:
                return total
            wide = max(map(len, self._secrets))
            return total - begun(self.transcript.read(max(0, total - wide), wide)[1], self._secrets)

    def record(self, file: "Sink") -> None:
        """Write all that is kept of it as an asciicast, version 2, to a file opened for text."""
        from agent_exec.terminal.recording import export

        with self._changed:
            events = list(self.transcript.events())
        size = self.command.size
        export(file, events, size.columns, size.rows, timestamp=self.began, command=self.text)

    def picture(self) -> str:
        """Return a picture of its last screen, as SVG."""
        from agent_exec.sessions.replay import Replay
        from agent_exec.terminal.picture import svg

        return svg(Replay(self).finish())

    def close(self) -> None:
        """Take its output away; only once it has ended."""
        with self._changed:
            self.transcript.close()
            idle, self._idle = self._idle, None
        if idle is not None:
            idle.join()

    def _step(self, wanted: Wanted) -> float:
        """Return how long nothing need be looked at, unless something is printed."""
        if wanted.ports:
            return _LAST_LOOK
        if wanted.idle is not None:
            return max(0.001, max(self._printed, self._typed) + wanted.idle - monotonic())
        return 3600.0

    def _cause(self, wanted: Wanted) -> str:
        """Return why a wait ends now, "" if it does not: what can be seen without a look at the terminal."""
        if self.ended:
            return "exit"
        if wanted.output and self.transcript.waiting:
            return "output"
        if self._matcher is not None and self._matcher.place is not None:
            return "match"
        if wanted.idle is not None and monotonic() - max(self._printed, self._typed) >= wanted.idle:
            return "idle"
        if wanted.ports:
            from agent_exec.host import is_listened_on

            loopback = None if self.guard is None else self.guard.plan.loopback
            if any(is_listened_on(port, loopback) for port in wanted.ports):
                return "port"
        return ""

    def _look(self, gaze: "Gaze", chunks: int) -> Ending | None:
        """Look whether the program waits for input, unless it has printed more meanwhile."""
        unfinished = not self._ends_line
        with _looking:
            if self._chunks != chunks or self.run.is_feeding:
                return None
            found = gaze.look(unfinished=unfinished)
        if not found.evidence or self._chunks != chunks or self.ended:
            return None
        return Ending("input", found.evidence, found.echo)

    # What follows is called by the engine's thread, or by the one that reads in its place.

    def _print(self, stream: "Stream", chunk: bytes) -> None:
        if self.pipeline is not None and (stream == "stderr" or self.command.tty):
            chunk = self.pipeline.strip(chunk)
            if not chunk:
                return
        self._keep(stream, chunk)

    def _keep(self, stream: "Stream", chunk: bytes) -> None:
        with self._changed:
            if self._streams is not None:
                self._streams[stream].feed(chunk)
            self.transcript.write(chunk)
            if self._matcher is not None:
                self._matcher.feed(chunk)
            self._chunks += 1
            self._printed = now = monotonic()
            self._ends_line = chunk.endswith(b"\n")
            # A prompt has no end of line: a program that prints one may wait already.
            self._look_at = now + _FIRST_LOOK if self._ends_line else now
            if self._heeded:
                self._changed.notify_all()
            if self.watcher is not None:
                self.watcher()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
            gaze = self._gaze
        if gaze is not None:
            gaze.wake()

    def _note(self, event: str, _detail: int | str | None) -> None:
        if event == "spawned" and self.command.tty:
            with self._changed:
                if self._gaze is None and self._run is not None:
                    self._gaze = self._run.gaze()
                    self._changed.notify_all()

    def _end(self, future: "Future[Outcome]") -> None:
        with self._changed:
            gaze, self._gaze = self._gaze, None
        if gaze is not None:
            gaze.close()
        if self.pipeline is not None and (held := self.pipeline.rest()):
            self._keep("stdout" if self.command.tty else "stderr", held)
        error = future.exception()
        with self._changed:
            if error is None:
                self.outcome = future.result()
            else:
                self.error = error
            if self._idle is not None:
                self._idle.cancel()
            self.transcript.end()
            self._changed.notify_all()
            if self.watcher is not None:
                self.watcher()
