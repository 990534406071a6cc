"""What a tool answers: a text for the model, and the same as an object."""

from os import urandom

from agent_exec.faces.session.omitted_ranges import without
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

EXACT = "exact"
LIKELY = "likely"


def new_chunk_id() -> str:
    """Return a name for one answer: six hexadecimal digits."""
    return urandom(3).hex()


def gone(start: int, end: int) -> str:
    """Return what is said of output that cannot be read any more."""
    return f"bytes {start} to {end} of the output were not kept: there was too much, or no room on the disk"


class Answer(Value):
    """What happened to a command while the caller waited.

    Of the contract: `exit_code` if it has ended, `session_id` if it has not,
    `wall_time_seconds` waited in this call, `original_token_count` of all
    that was printed meanwhile, of which `output` is what the caller gets. Of
    ours, and only told when set: that the program waits for input, by which
    `evidence` ("exact" or "likely"), and whether typing is echoed; the
    `signal` that ended it ("SIGKILL"); that it `timed_out`; which ranges of
    its output were `omitted`, because they were too much to hold; the range
    that was `cut` out of it, to fit into the budget, those among it, and
    whether that is exact; which of these were `dropped`, and cannot be read
    any more; the number `of` the session whose output it is; `notes`; its two
    `streams` apart; the `cursor` behind the last byte seen; the `changes` of
    paths that the sandbox protects, each told once.
    """

    output: str
    wall_time_seconds: float
    chunk_id: str = ""
    exit_code: int | None = None
    session_id: int | None = None
    original_token_count: int | None = None
    awaiting_input: bool = False
    evidence: str | None = None
    echo: bool | None = None
    signal: str | None = None
    timed_out: bool = False
    omitted: "Sequence[tuple[int, int]]" = ()
    cut: "tuple[int, int, bool] | None" = None
    dropped: "Sequence[tuple[int, int]]" = ()
    of: int | None = None
    notes: "Sequence[str]" = ()
    streams: dict[str, str] | None = None
    cursor: int | None = None
    changes: "Sequence[Mapping[str, object]]" = ()

    def text(self) -> str:
        """Return the answer as a model reads it."""
        return "\n".join([*self._header(), *self._body()])

    def structured(self) -> "dict[str, Any]":
        """Return the answer as an object of JSON: the contract's fields, then those of ours that are set."""
        told: dict[str, Any] = {"wall_time_seconds": self.wall_time_seconds}
        if self.chunk_id:
            told = {"chunk_id": self.chunk_id, **told}
        if self.exit_code is not None:
            told["exit_code"] = self.exit_code
        if self.session_id is not None:
            told["session_id"] = self.session_id
        if self.original_token_count is not None:
            told["original_token_count"] = self.original_token_count
        told["output"] = self.output
        if self.awaiting_input:
            told["awaiting_input"] = True
        for name in ("evidence", "echo", "signal"):
            if (value := getattr(self, name)) is not None:
                told[name] = value
        if self.timed_out:
            told["timed_out"] = True
        if located := self._located():
            told["omitted"] = located
        if self.dropped:
            told["output_complete"] = False
            told["dropped"] = [{"from": start, "to": end} for start, end in self.dropped]
        if self.notes:
            told["notes"] = list(self.notes)
        if self.streams is not None:
            told["streams"] = dict(self.streams)
        if self.cursor is not None:
            told["cursor"] = self.cursor
        if self.changes:
            told["sandbox"] = {"protected_changes": [dict(change) for change in self.changes]}
        return told

    def _located(self) -> "list[dict[str, Any]]":
        """Return the ranges that read_output can show and this answer does not."""
        if self.cut is None and not self.omitted:
            return []
        of = {} if self.of is None else {"session_id": self.of}
        exact = self.cut is None or self.cut[2]
        ranges = self.omitted if self.cut is None else (self.cut[:2],)
        return [
            of | {"from": start, "to": end} | ({} if exact else {"exact": False})
            for start, end in without(ranges, self.dropped)
        ]

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
        if self.changes:
            from agent_exec.sandbox.report.report import said

            notes.append(said(self.changes))
        if self.awaiting_input and self.echo is False:
            notes.append("what is typed now is not echoed; the program may be asking for a secret")
        if self.timed_out:
            notes.append("the command was ended because its time was over")
        if self.signal is not None:
            notes.append(f"the command was ended by {self.signal}")
        notes += [
            f"bytes {start} to {end} of the output are not shown; read_output can give them"
            for start, end in without(self.omitted, self.dropped)
        ]
        return notes + [gone(start, end) for start, end in self.dropped]

    def _body(self) -> list[str]:
        if self.streams is None:
            return ["Output:", self.output]
        errors = self.streams.get("stderr", "")
        return ["Output:", self.streams.get("stdout", ""), *(("Standard error:", errors) if errors else ())]
