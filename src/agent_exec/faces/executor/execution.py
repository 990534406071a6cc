"""One execution: its command, its log lines, and its result."""

from agent_exec.faces.executor.errors import (
    EXECUTION_FAILED,
    OUTPUT_SIZE_EXCEEDED,
    TIMEOUT,
)
from agent_exec.faces.executor.result import CommandExecutionResult, CommandMetadata
from agent_exec.model.command import Command
from agent_exec.model.limits import Limits
from agent_exec.model.output import Head, Text, text
from agent_exec.tools.codes import executor_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.faces.executor.journal import Journal
    from agent_exec.model.choices import OnOutput, Status, Stream
    from agent_exec.model.errors import AgentExecError
    from agent_exec.model.outcome import Outcome


class Execution:
    """One command of the executor's, from what was asked to its result.

    It listens to its run: `on_output` gets every chunk, in order, up to the
    limit of the stream; what comes after that is neither kept nor told.
    """

    __slots__ = (
        "_args",
        "_journal",
        "_limit",
        "_on_output",
        "_room",
        "_talkative",
        "asked",
        "command",
        "raised",
    )

    def __init__(
        self,
        command: str,
        args: "Sequence[str]",
        words: "Sequence[str]",
        *,
        cwd: str | None,
        timeout: float,
        grace: float,
        limit: int,
        on_output: "OnOutput | None",
        journal: "Journal",
    ) -> None:
        self.command = command
        self._args = args
        self._journal = journal
        self._limit = limit
        self._room = {"stdout": limit, "stderr": limit}
        self._on_output = on_output
        self._talkative = journal.debugging
        self.raised: BaseException | None = None  # by on_output, and so no failure of the command's
        self.asked = Command(
            words,
            cwd=cwd,
            limits=Limits(timeout=timeout, grace=grace, overflow="stop"),
            keep=Head(limit),
            on_output=self._hear,
            on_event=self._note,
        )

    def begin(self) -> None:
        """Log that it is about to be started."""
        self._journal.executing(self.command, self._args)

    def _hear(self, stream: "Stream", chunk: bytes) -> None:
        """Take the next chunk of a stream."""
        room = self._room[stream]
        if room <= 0:
            return
        self._room[stream] = room - len(chunk)
        if self._talkative:
            self._journal.received(len(chunk))
        if self._on_output is not None:
            try:
                self._on_output(stream, chunk if len(chunk) <= room else chunk[:room])
            except BaseException as error:
                self.raised = error
                raise

    def _note(self, event: str, detail: int | str | None) -> None:
        """Take what the run tells besides its output."""
        if event == "terminate" and detail == "timeout":
            self._journal.expired(self.command)
        if not self._talkative:
            return
        if event == "spawned":
            self._journal.spawned(detail)
        else:
            self._journal.signalled("SIGTERM" if event == "terminate" else "SIGKILL")

    def ended(self, outcome: "Outcome") -> CommandExecutionResult:
        """Return the result of a command that ran, however it ended."""
        duration = round(outcome.duration * 1000)
        exit_code = outcome.exit_code if outcome.signal is None else None
        status: Status = "error"
        code = None
        if outcome.cause == "timeout":
            status, code, exit_code = "timeout", TIMEOUT, None
            self._journal.timed_out(self.command)
        elif max(outcome.stdout_observed, outcome.stderr_observed) > self._limit:
            code = OUTPUT_SIZE_EXCEEDED
            self._journal.overflowed(self.command)
        elif exit_code == 0 and outcome.cause is None:
            status = "success"
            self._journal.executed(self.command, exit_code, duration)
        else:
            code = EXECUTION_FAILED if exit_code is None or outcome.cause is not None else None
            self._journal.failed(self.command, exit_code)
        return CommandExecutionResult(
            status,
            self._text(outcome.stdout, outcome.stdout_observed),
            self._text(outcome.stderr, outcome.stderr_observed),
            exit_code,
            CommandMetadata(duration, len(outcome.stdout), len(outcome.stderr)),
            code,
            outcome.signal,
            outcome.changes,
        )

    def failed(self, error: "AgentExecError", seconds: float) -> CommandExecutionResult:
        """Return the result of a command that could not be started, or was lost."""
        self._journal.broke(self.command)
        why = error.message.encode("utf-8", "replace")
        return CommandExecutionResult(
            "error",
            "",
            text(why),
            None,
            CommandMetadata(round(seconds * 1000), 0, len(why)),
            executor_code(error),
        )

    @staticmethod
    def _text(data: bytes, observed: int) -> str:
        """Return output as text; a character that the limit cuts in two is left out."""
        return text(data) if observed == len(data) else Text().feed(data)
