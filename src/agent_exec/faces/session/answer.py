"""What a tool answers: a text for the model and the same as an object, within a budget of tokens.

Of output that is too long both ends are shown; what lies between is counted, and located in the
transcript.
"""

from time import monotonic

from agent_exec.model.value import Value
from agent_exec.sessions.transcript import omission
from agent_exec.tools.tool import answer_text, seconds
from agent_exec.views.wanted import ENOUGH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from agent_exec.sessions.session import Session
    from agent_exec.sessions.transcript import Taken
    from agent_exec.views.show import Shown
    from agent_exec.views.wanted import View

    Range = tuple[int, int]

BYTES_A_TOKEN = 4
_HEADER = 1000
"""More bytes than the lines of an answer without notes take."""
_STRIDE = 1 << 10


class Answer(Value):
    """What happened to a command while the caller waited.

    Of the contract: `exit_code` if it has ended, `session_id` if it has not, `wall_time_seconds`
    waited in this call, `original_token_count` of all that was printed meanwhile, of which `output`
    is what the caller gets. The rest is reported only when set: that the program waits for input,
    by which `evidence` ("exact" or "likely"), and whether typing is echoed; the `signal` that ended
    it ("SIGKILL"); that it `timed_out`; the ranges of its output that were `omitted`, because they
    were too much to hold; the range that was `cut` out to fit into the budget, and whether that
    range is exact; which of these were `dropped`, and cannot be read any more; the number `of` the
    session; `notes`; its two `streams` apart; the `cursor` behind the last byte seen; the `changes`
    of paths that the sandbox protects, each reported once. `brief` is about the text. `viewed`: `output` says
    itself what is left out of it.
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
    omitted: "Sequence[Range]" = ()
    cut: "tuple[int, int, bool] | None" = None
    dropped: "Sequence[Range]" = ()
    of: int | None = None
    notes: "Sequence[str]" = ()
    streams: dict[str, str] | None = None
    cursor: int | None = None
    changes: "Sequence[Mapping[str, object]]" = ()
    brief: bool = False
    viewed: bool = False

    def text(self) -> str:
        """Return the answer as a model reads it."""
        if self.brief:
            return self._brief()
        lines = [f"Chunk ID: {self.chunk_id}"] if self.chunk_id else []
        lines.append(f"Wall time: {self.wall_time_seconds:.4f} seconds")
        if self.exit_code is not None:
            lines.append(f"Process exited with code {self.exit_code}")
        if self.session_id is not None:
            lines.append(f"Process running with session ID {self.session_id}")
        if self.awaiting_input:
            lines.append("Process is waiting for input")
        if self.original_token_count is not None:
            lines.append(f"Original token count: {self.original_token_count}")
        lines += [f"Note: {note}" for note in self._all_notes()]
        if self.streams is None:
            return "\n".join([*lines, "Output:", self.output])
        lines += ["Output:", self.streams.get("stdout", "")]
        errors = self.streams.get("stderr", "")
        return "\n".join([*lines, "Standard error:", errors] if errors else lines)

    def _brief(self) -> str:
        """Return the text with the lines of the contract, in its order, that say something."""
        status = f"Wall time: {seconds(self.wall_time_seconds * 1000)}"
        if self.exit_code is not None:
            status += f", exit code {self.exit_code}"
        if self.session_id is not None:
            status += f", session ID {self.session_id} {'waits for input' if self.awaiting_input else 'runs'}"
        streams = {"stdout": self.output} if self.streams is None else self.streams
        located = [] if self.viewed else self._located()
        left_out = [_call(**one) for one in located] + [gone(*one) for one in self.dropped]
        return answer_text(
            status,
            streams.get("stdout", ""),
            streams.get("stderr", ""),
            notes=(f"Note: {note}" for note in self._state_notes()),
            left_out=left_out,
            heading="Output:",
        )

    def structured(self) -> "dict[str, Any]":
        """Return the answer as an object of JSON: the contract's fields, then those of ours that are set."""
        told = {
            "chunk_id": self.chunk_id or None,
            "wall_time_seconds": self.wall_time_seconds,
            "exit_code": self.exit_code,
            "session_id": self.session_id,
            "original_token_count": self.original_token_count,
            "output": self.output,
            "awaiting_input": self.awaiting_input or None,
            "evidence": self.evidence,
            "echo": self.echo,
            "signal": self.signal,
            "timed_out": self.timed_out or None,
            "omitted": self._located() or None,
            "output_complete": False if self.dropped else None,
            "dropped": [{"from": start, "to": end} for start, end in self.dropped] or None,
            "notes": list(self.notes) or None,
            "streams": self.streams,
            "cursor": self.cursor,
            "sandbox": {"protected_changes": [*map(dict, self.changes)]} if self.changes else None,
        }
        return {name: value for name, value in told.items() if value is not None}

    def _located(self) -> "list[dict[str, Any]]":
        """Return the ranges that read_output can show and this answer does not."""
        of = {} if self.of is None else {"session_id": self.of}
        inexact = {} if self.cut is None or self.cut[2] else {"exact": False}
        ranges = self.omitted if self.cut is None else (self.cut[:2],)
        return [of | {"from": start, "to": end} | inexact for start, end in _without(ranges, self.dropped)]

    def _all_notes(self) -> list[str]:
        notes = self._state_notes()
        notes += [
            f"bytes {start} to {end} of the output are not shown; read_output can give them"
            for start, end in _without(() if self.viewed else self.omitted, self.dropped)
        ]
        return notes + [gone(start, end) for start, end in self.dropped]

    def _state_notes(self) -> list[str]:
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
        return notes


def fit(
    whole: Answer,
    tokens: int,
    omitted: int,
    covered: "Taken",
    gaps: "Callable[[], list[Range]]",
    *,
    exact: bool,
) -> Answer:
    """Return an answer that has all of its output within so many tokens and a fifth, with the text around it.

    `omitted` is how many bytes its output lacks already, `covered` what that was made from, and
    `exact` whether each byte of it is shown as it is. The lines that are always there, some 150
    bytes, may be more than a very small budget.
    """

    def cut(tokens: int, *, brief: bool = False) -> Answer:
        text, count = whole.output, whole.original_token_count
        output = shown(text, tokens, original_tokens=count, omitted=omitted, brief=brief)
        missing = None if output is text else _cut_range(text, tokens, covered, exact=exact)
        lost = _overlap(gaps(), covered.start, covered.end) if missing or omitted else []
        streams = whole.streams and {name: cut_middle(text, tokens) for name, text in whole.streams.items()}
        return whole.replace(output=output, cut=missing, dropped=lost, streams=streams)

    room = tokens * BYTES_A_TOKEN * 6 // 5
    more = omitted or whole.streams or whole.notes or whole.changes
    if not more and len(whole.output) * BYTES_A_TOKEN + _HEADER < min(room, tokens * BYTES_A_TOKEN):
        return whole  # it fits by far, as a rule
    answer = cut(tokens)
    if size_of(answer.text()) <= room:
        return answer
    bare = cut(0)
    # The warning above the output goes if there would be little below it.
    brief = room - size_of(bare.text()) < room // 4
    if brief:
        bare = cut(0, brief=True)
    left = room - size_of(bare.text())
    if left < 0:  # of the text around it, the notes can be done without
        notes = [cut_middle(note, room // BYTES_A_TOKEN // 4) for note in bare.notes[:1]]
        return bare.replace(notes=notes)
    return cut(left // BYTES_A_TOKEN // (1 if bare.streams is None else 2), brief=brief)


def excerpt(
    whole: Answer, session: "Session", view: "View", covered: "Taken", tokens: int
) -> "Answer | None":
    """Return an answer with a view of what it covers; None if that is all of it, or if it has no room."""
    start, end = covered.start, covered.end
    if view.kind == "auto" and end - start <= ENOUGH:
        return None
    if view.kind == "range":
        start = 0
    elif view.kind == "since":
        start = min(int(view.cursor), end)
    shown = show_of(session, view, start, end, tokens * BYTES_A_TOKEN)
    bounds = [start, *(place for kept in shown.kept for place in kept), end]
    left_out = [(at, to) for at, to in zip(bounds[::2], bounds[1::2], strict=True) if at < to]
    lost = _overlap(session.gaps(), start, end)
    answer = whole.replace(output=shown.text, omitted=left_out, dropped=lost, viewed=True)
    return answer if size_of(answer.text()) <= tokens * BYTES_A_TOKEN * 6 // 5 else None


def show_of(session: "Session", view: "View", start: int, end: int, limit: int) -> "Shown":
    """Return a view of a range of what a session has printed, in at most so many bytes."""
    from agent_exec.views.reader import Source
    from agent_exec.views.show import show

    outcome = session.outcome
    code = None if outcome is None else outcome.exit_code
    more = f"read_output session_id={session.number} view=range={{start}}-{{end}}"
    return show(
        Source(session.read, start, end), view, limit=limit, exit_code=code, more=more, clock=monotonic
    )


def _call(session_id: int | None = None, exact: bool = True, **place: int) -> str:
    """Return what is left out of an answer, and the call that shows it."""
    start, end = place["from"], place["to"]
    shows = f"read_output session_id={session_id} view=range={start}-{end} shows them"
    return f"{'bytes' if exact else 'some of the bytes'} {start} to {end} are left out; {shows}"


def gone(start: int, end: int) -> str:
    """Return the note about output that cannot be read any more."""
    return f"bytes {start} to {end} of the output were not kept: there was too much, or no room on the disk"


def _cut_range(text: str, tokens: int, of: "Taken", *, exact: bool) -> "tuple[int, int, bool] | None":
    """Return the bytes that the budget has no room for; if that cannot be known, those it was made from."""
    if not exact:
        return (of.start, of.end, False) if of.start < of.end else None
    before, after = bytes_kept(text, tokens, of.head, of.tail, of.omitted)
    return of.start + before, of.end - after, True


def _without(ranges: "Iterable[Range]", gaps: "Sequence[Range]") -> "list[Range]":
    """Return what is left of ranges without gaps, which are in order."""
    found: list[Range] = []
    for start, end in ranges:
        at = start
        for first, last in gaps:
            if at < min(first, end):
                found.append((at, min(first, end)))
            at = max(at, min(last, end))
        if at < end:
            found.append((at, end))
    return found


def _overlap(gaps: "Iterable[Range]", start: int, end: int) -> "list[Range]":
    """Return the parts of gaps that lie in a range."""
    return [(max(first, start), min(last, end)) for first, last in gaps if max(first, start) < min(last, end)]


def token_count(size: int) -> int:
    """Return about how many tokens so many bytes are."""
    return -(-size // BYTES_A_TOKEN)


def size_of(text: str) -> int:
    """Return how many bytes a text takes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def cut_middle(text: str, tokens: int) -> str:
    """Return a text of about so many tokens at most: its two ends, and between them what was cut.

    No character is cut in half, so a few bytes of the budget may stay unused.
    """
    budget = tokens * BYTES_A_TOKEN
    size = size_of(text)
    if size <= budget:
        return text
    head, tail = _ends(text, budget)
    return f"{head}…{token_count(size - budget)} tokens truncated…{tail}"


def shown(
    text: str, tokens: int, *, original_tokens: int | None = None, omitted: int = 0, brief: bool = False
) -> str:
    """Return an output as a model gets it: as it is if it fits, else cut, with a warning unless `brief`.

    `original_tokens` counts all that was printed, also what `text` lacks; `omitted` is how many
    bytes were left out of it where a line says so.
    """
    size = size_of(text)
    if size <= tokens * BYTES_A_TOKEN:
        return text
    body = cut_middle(text, tokens)
    if brief:
        return body
    original = token_count(size) if original_tokens is None else original_tokens
    said = [f"Warning: truncated output (original token count: {original})"]
    if not omitted:
        lines = text.count("\n") + (text != "" and not text.endswith("\n"))
        said.append(f"Total output lines: {lines}")
    elif omission(omitted) not in body:
        said.append(omission(omitted))
    return "\n".join([*said, "", body])


def bytes_kept(text: str, tokens: int, head: bytes, tail: bytes, omitted: int) -> "Range":
    """Return how many bytes are left of the beginning and of the end of an output when its text is cut.

    The text is that of `head` and `tail`, decoded and `joined`.
    """
    first, last = _ends(text, tokens * BYTES_A_TOKEN)
    if not omitted:
        head = tail = head + tail
    shown_of_tail = max(0, len(tail.decode(errors="replace")) - len(last))
    return _bytes_of(head, len(first)), len(tail) - _bytes_of(tail, shown_of_tail)


def _ends(text: str, budget: int) -> tuple[str, str]:
    """Return the two ends of a text that has more bytes than so many."""
    data = text.encode("utf-8", "surrogatepass")
    left = budget // 2
    start = len(data) - (budget - left)
    while left < len(data) and data[left] & 0xC0 == 0x80:  # inside of a character
        left -= 1
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[:left].decode("utf-8", "surrogatepass"), data[start:].decode("utf-8", "surrogatepass")


def _bytes_of(data: bytes, characters: int) -> int:
    """Return how many bytes the first characters of some output were; all of them, if it has fewer."""
    if data.isascii():
        return min(characters, len(data))
    try:
        return size_of(data.decode()[:characters])
    except UnicodeDecodeError:  # not a text: other bytes may stand for a character too
        from codecs import getincrementaldecoder

    decoder = getincrementaldecoder("utf-8")("replace")
    seen = at = 0
    while at + _STRIDE < len(data) and seen < characters - 2 * _STRIDE:
        seen += len(decoder.decode(data[at : at + _STRIDE]))
        at += _STRIDE
    while at < len(data) and seen < characters:
        seen += len(decoder.decode(data[at : at + 1]))
        at += 1
    return at - 1 if seen > characters else at  # the last byte has also ended what came before it
