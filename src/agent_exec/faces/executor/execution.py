"""One execution: its slot, its command, its log lines, and its result."""

from time import monotonic

from agent_exec.faces.executor.errors import (
    CONCURRENT_LIMIT_EXCEEDED,
    EXECUTION_FAILED,
    OUTPUT_SIZE_EXCEEDED,
    TIMEOUT,
    CommandExecutionError,
)
from agent_exec.faces.executor.result import CommandExecutionResult, CommandMetadata
from agent_exec.model.command import Command
from agent_exec.model.errors import Broken, Missing
from agent_exec.model.limits import Limits
from agent_exec.model.output import Head, Text, text
from agent_exec.tools.codes import executor_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future
    from types import TracebackType
    from typing import Self

    from agent_exec.faces.executor.config import CommandExecutorConfig
    from agent_exec.faces.executor.journal import Journal
    from agent_exec.faces.executor.slots import Slots
    from agent_exec.model.choices import OnOutput, Status, Stream
    from agent_exec.model.outcome import Outcome


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

    def end(self, outcome: "Outcome") -> None:
        """Take the outcome of a command that ran, however it ended."""
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
        )


def _text(data: bytes, observed: int) -> str:
    """Return output as text; a character that the limit cuts in two is left out."""
    return text(data) if observed == len(data) else Text().feed(data)
