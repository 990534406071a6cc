"""One execution: its slot, its command, its log lines, and its result; the slots and the log of all."""

from _thread import RLock
from time import monotonic

from agent_exec.faces.executor.errors import (
    CONCURRENT_LIMIT_EXCEEDED,
    EXECUTION_FAILED,
    OUTPUT_SIZE_EXCEEDED,
    TIMEOUT,
    CommandExecutionError,
)
from agent_exec.faces.executor.result import CommandExecutionResult, CommandMetadata
from agent_exec.model.command import Command, Limits
from agent_exec.model.errors import Broken, InvalidArgument, Missing
from agent_exec.model.output import Head, Text, text
from agent_exec.places import here
from agent_exec.tools.codes import executor_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future
    from types import TracebackType
    from typing import Self

    from agent_exec.faces.executor.config import CommandExecutorConfig
    from agent_exec.model.choices import Logger, OnOutput, Status, Stream
    from agent_exec.model.command import Outcome
    from agent_exec.sandbox.plan.plan import Plan
    from agent_exec.sandbox.report.guard import Guard

_DEBUG = 10  # the number of that level in the standard library
_LINES = {
    "validating": ("debug", "Validating command: {}"),
    "refused": ("error", "Command validation failed: {}"),
    "executing": ("info", "Executing command: {}"),
    "spawned": ("debug", "Process spawned (pid: {})"),
    "received": ("debug", "Received output: {} bytes"),
    "signalled": ("debug", "Signal {} sent to process"),
    "expired": ("info", "Command timeout: {} (sent SIGTERM)"),
    "executed": ("info", "Command executed: {} (exit: {}, duration: {})"),
    "failed": ("error", "Command failed: {} (exit code: {})"),
    "timed_out": ("error", "Command timeout exceeded: {}"),
    "overflowed": ("error", "Output size exceeded: {}"),
    "broke": ("error", "Command execution error: {}"),
}


class Execution:
    """One command of the executor's, from its admission to its result.

    Within `with`, it may hold a slot, which is given back at the end; that a
    command could not be started, or was lost, is a result then too. It
    listens to its run: `on_output` gets every chunk, in order, up to the limit of the stream.
    """

    __slots__ = (
        "_args",
        "_began",
        "_config",
        "_journal",
        "_on_output",
        "_raised",
        "_room",
        "_slots",
        "asked",
        "command",
        "result",
    )

    def __init__(
        self,
        command: str,
        args: "Sequence[str]",
        words: "Sequence[str]",
        cwd: str | None,
        timeout: float,
        on_output: "OnOutput | None",
        config: "CommandExecutorConfig",
        slots: "Slots",
        journal: "Journal",
    ) -> None:
        limit = config.max_output_bytes
        self.command = command
        self._args = args
        self._config = config
        self._slots = slots
        self._journal = journal
        self._room = {"stdout": limit, "stderr": limit}
        self._on_output = on_output
        self._raised: BaseException | None = None  # by on_output, and so no failure of the command's
        self._began: float | None = None
        self.asked = Command(
            words,
            cwd=cwd,
            limits=Limits(timeout=timeout, grace=config.kill_timeout / 1000, overflow="stop"),
            keep=Head(limit),
            on_output=self._hear,
            on_event=self._note,
        )

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> bool:
        self._slots.give_back(self)
        if error is None:
            return False
        self._journal.write("broke", self.command)
        if self._began is None or error is self._raised or not isinstance(error, Broken | Missing):
            return False
        why = error.message.encode("utf-8", "replace")
        spent = CommandMetadata(round((monotonic() - self._began) * 1000), 0, len(why))
        self.result = CommandExecutionResult("error", "", text(why), None, spent, executor_code(error))
        return True

    def queue(self, on_limit: str | None) -> "Future[None] | None":
        """Take a slot, and return None; or return a future that is done when there is one.

        Raise CommandExecutionError if there is none, and commands are not to wait.
        """
        if self._slots.take(self):
            return None
        if (on_limit or self._config.on_limit) == "queue":
            return self._slots.queue(self)
        raise CommandExecutionError(
            "Concurrent limit exceeded",
            CONCURRENT_LIMIT_EXCEEDED,
            {"command": self.command, "max_concurrent": self._config.max_concurrent},
        )

    def begin(self) -> Command:
        """Return the command, which is about to be started."""
        self._journal.write("executing", " ".join((self.command, *self._args)))
        self._began = monotonic()
        return self.asked

    def _hear(self, stream: "Stream", chunk: bytes) -> None:
        """Take the next chunk of a stream; after its limit it is neither kept nor passed on."""
        room = self._room[stream]
        if room <= 0:
            return
        self._room[stream] = room - len(chunk)
        self._journal.write("received", len(chunk))
        if self._on_output is not None:
            try:
                self._on_output(stream, chunk if len(chunk) <= room else chunk[:room])
            except BaseException as error:
                self._raised = error
                raise

    def _note(self, event: str, detail: int | str | None) -> None:
        """Take what the run reports besides its output."""
        if event == "spawned":
            self._journal.write("spawned", detail)
            return
        if event == "terminate" and detail == "timeout":
            self._journal.write("expired", self.command)
        self._journal.write("signalled", "SIGTERM" if event == "terminate" else "SIGKILL")

    def end(self, outcome: "Outcome", guard: "Guard | None") -> None:
        """Make the result of a command that ran, however it ended, from its outcome and what confined it."""
        duration = round(outcome.duration * 1000)
        exit_code = outcome.exit_code if outcome.signal is None else None
        status: Status = "error"
        code = None
        if outcome.cause == "timeout":
            status, code, exit_code = "timeout", TIMEOUT, None
            self._journal.write("timed_out", self.command)
        elif max(outcome.stdout_observed, outcome.stderr_observed) > self._config.max_output_bytes:
            code = OUTPUT_SIZE_EXCEEDED
            self._journal.write("overflowed", self.command)
        elif exit_code == 0 and outcome.cause is None:
            status = "success"
            self._journal.write("executed", self.command, exit_code, duration)
        else:
            code = EXECUTION_FAILED if exit_code is None or outcome.cause is not None else None
            self._journal.write("failed", self.command, exit_code)
        self.result = CommandExecutionResult(
            status,
            _text(outcome.stdout, outcome.stdout_observed),
            _text(outcome.stderr, outcome.stderr_observed),
            exit_code,
            CommandMetadata(duration, len(outcome.stdout), len(outcome.stderr)),
            code,
            outcome.signal,
            outcome.changes,
            "" if status == "success" or guard is None else self._denied(outcome, guard.plan),
        )

    def _denied(self, outcome: "Outcome", plan: "Plan") -> str:
        from agent_exec.sandbox.report.report import denials, human

        printed = f"{outcome.stdout_text}\n{outcome.stderr_text}"
        return human(denials(plan, printed, str(self.asked.cwd or here()))) if plan.backend else ""


def _text(data: bytes, observed: int) -> str:
    """Return output as text; a character that the limit cuts in two is left out."""
    return text(data) if observed == len(data) else Text().feed(data)


class Slots:
    """A number of slots, and a queue before them; any thread may use it.

    A holder stands for a slot or a place in the queue, so that giving back
    is right at any moment, whatever interrupts whom.
    """

    __slots__ = ("_holders", "_limit", "_lock", "_waiting")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._holders: set[object] = set()
        self._waiting: dict[object, Future[None]] = {}
        self._lock = RLock()  # a holder that is forgotten gives back whenever the garbage collector finds it

    @property
    def taken(self) -> int:
        """How many slots are taken now."""
        return len(self._holders)

    def take(self, holder: object) -> bool:
        """Take a slot if one is free and no other holder waits; return True if so."""
        with self._lock:
            if self._waiting or len(self._holders) >= self._limit:
                return False
            self._holders.add(holder)
            return True

    def queue(self, holder: object) -> "Future[None]":
        """Return a future that is done as soon as the holder has a slot; first come, first served."""
        from concurrent.futures import Future

        turn: Future[None] = Future()
        turn.set_running_or_notify_cancel()  # giving up is said by giving back, and by that alone
        with self._lock:
            self._waiting[holder] = turn
            self._fill()
        return turn

    def give_back(self, holder: object) -> None:
        """Return the slot, or the place in the queue; does nothing for a holder that has neither."""
        try:
            self._free(holder)
        except BaseException:
            self._free(holder)  # interrupted, but the next holder must get its slot
            raise

    def _free(self, holder: object) -> None:
        with self._lock:
            self._waiting.pop(holder, None)
            self._holders.discard(holder)
            self._fill()

    def _fill(self) -> None:
        """Hand free slots to waiting holders; in this order, so that an interruption loses none."""
        while self._waiting and len(self._holders) < self._limit:
            holder, turn = next(iter(self._waiting.items()))
            self._holders.add(holder)
            if not turn.done():
                turn.set_result(None)
            self._waiting.pop(holder, None)


class Journal:
    """Writes the lines of the contract; nothing without a logger.

    A line is one line: what is not printable is escaped, so that no argument
    can forge another.
    """

    __slots__ = ("_logger",)

    def __init__(self, logger: "Logger | None") -> None:
        levels = ("info", "debug", "error")
        if logger is not None and not all(callable(getattr(logger, level, None)) for level in levels):
            raise InvalidArgument(f"a logger needs the methods info, debug and error; got {logger!r}")
        self._logger = logger

    def write(self, event: str, *values: object) -> None:
        """Write the line of an event; one for developers only if the logger wants it."""
        if self._logger is None:
            return
        level, form = _LINES[event]
        if level == "debug" and not getattr(self._logger, "isEnabledFor", lambda _: True)(_DEBUG):
            return
        getattr(self._logger, level)(form.format(*(_line(str(value)) for value in values)))


def _line(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
