"""What a tool answers: a text for the model, and the same as an object."""

from os import urandom

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

EXACT = "exact"
LIKELY = "likely"


def new_chunk_id() -> str:
    """Give a name for one answer: six hexadecimal digits."""
    return urandom(3).hex()


class Answer(Value):
    """What happened to a command while the caller waited.

    Of the contract: `exit_code` if it has ended, `session_id` if it has not,
    `wall_time_seconds` waited in this call, `original_token_count` of all
    that was printed meanwhile, of which `output` is what the caller gets. Of
    ours, and only told when set: that the program waits for input, by which
    `evidence` ("exact" or "likely"), and whether typing is echoed; the
    `signal` that ended it ("SIGKILL"); that it `timed_out`; which ranges of
    its output were `omitted`; `notes`; its two `streams` apart; the `cursor`
    behind the last byte seen.
    """

    __slots__ = (
        "awaiting_input",
        "chunk_id",
        "cursor",
        "echo",
        "evidence",
        "exit_code",
        "notes",
        "omitted",
        "original_token_count",
        "output",
        "session_id",
        "signal",
        "streams",
        "timed_out",
        "wall_time_seconds",
    )

    def __init__(
        self,
        *,
        output: str,
        wall_time_seconds: float,
        chunk_id: str = "",
        exit_code: int | None = None,
        session_id: int | None = None,
        original_token_count: int | None = None,
        awaiting_input: bool = False,
        evidence: str | None = None,
        echo: bool | None = None,
        signal: str | None = None,
        timed_out: bool = False,
        omitted: "Sequence[tuple[int, int]]" = (),
        notes: "Sequence[str]" = (),
        streams: "Mapping[str, str] | None" = None,
        cursor: int | None = None,
    ) -> None:
        self.output = output
        self.wall_time_seconds = wall_time_seconds
        self.chunk_id = chunk_id
        self.exit_code = exit_code
        self.session_id = session_id
        self.original_token_count = original_token_count
        self.awaiting_input = awaiting_input
        self.evidence = evidence
        self.echo = echo
        self.signal = signal
        self.timed_out = timed_out
        self.omitted = tuple(omitted)
        self.notes = tuple(notes)
        self.streams = None if streams is None else dict(streams)
        self.cursor = cursor

    def text(self) -> str:
        """Give the answer as a model reads it."""
        return "\n".join([*self._header(), *self._body()])

    def structured(self) -> "dict[str, Any]":
        """Give the answer as an object of JSON: the contract's fields, then those of ours that are set."""
        of_contract = {
            "chunk_id": self.chunk_id or None,
            "wall_time_seconds": self.wall_time_seconds,
            "exit_code": self.exit_code,
            "session_id": self.session_id,
            "original_token_count": self.original_token_count,
            "output": self.output,
        }
        ours = {
            "awaiting_input": self.awaiting_input or None,
            "evidence": self.evidence,
            "echo": self.echo,
            "signal": self.signal,
            "timed_out": self.timed_out or None,
            "omitted": [{"from": start, "to": end} for start, end in self.omitted] or None,
            "notes": list(self.notes) or None,
            "streams": None if self.streams is None else dict(self.streams),
            "cursor": self.cursor,
        }
        return {name: value for name, value in (of_contract | ours).items() if value is not None}

    def _header(self) -> list[str]:
        lines = [f"Wall time: {self.wall_time_seconds:.4f} seconds"]
        if self.chunk_id:
            lines.insert(0, f"Chunk ID: {self.chunk_id}")
        if self.exit_code is not None:
            lines.append(f"Process exited with code {self.exit_code}")
        if self.session_id is not None:
            lines.append(f"Process running with session ID {self.session_id}")
        if self.awaiting_input:
            lines.append("Process is waiting for input")
        if self.original_token_count is not None:
            lines.append(f"Original token count: {self.original_token_count}")
        return lines + [f"Note: {note}" for note in self._all_notes()]

    def _all_notes(self) -> list[str]:
        notes = list(self.notes)
        if self.awaiting_input and self.echo is False:
            notes.append("what is typed now is not echoed; the program may be asking for a secret")
        if self.timed_out:
            notes.append("the command was ended because its time was over")
        if self.signal is not None:
            notes.append(f"the command was ended by {self.signal}")
        notes += [
            f"bytes {start} to {end} of the output are not shown; read_output can give them"
            for start, end in self.omitted
        ]
        return notes

    def _body(self) -> list[str]:
        if self.streams is None:
            return ["Output:", self.output]
        errors = self.streams.get("stderr", "")
        return ["Output:", self.streams.get("stdout", ""), *(("Standard error:", errors) if errors else ())]
