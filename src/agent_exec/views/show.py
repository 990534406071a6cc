"""Shows an output within a budget: all of it, one of its ends, what matches, or what matters in it.

What is shown are ranges of the log as they are; a line in brackets stands for each range that is left
out. Whether a command has failed is for its exit code to say: it decides here only how much is kept.
"""

from itertools import accumulate

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.output import unfinished
from agent_exec.model.value import Value
from agent_exec.views.reader import PIECE, Source
from agent_exec.views.scan import Scan, Span, kind_of, split
from agent_exec.views.shapes import CONTENT, ERROR, VERDICT, WEAK, tool_of
from agent_exec.views.wanted import AUTO, ENOUGH, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_NOTE = 80
"""More bytes than the line about a range that is left out takes, as a rule."""
_LONG, _LONG_LINE = 2000, 1000
"""A block, or a line, of more bytes is shown by its two ends."""
_LOOK = 8192
_SMALL_GAP = 90
_PATIENCE = 5.0
"""So many seconds may a caller's expression take: some never come to an end on some texts."""
_MOST = 3000


class Shown(Value):
    """A view of an output: its text, the tool that was recognized, or "", what is in it, and what is not."""

    text: str
    tool: str = ""
    kept: "Sequence[tuple[int, int]]" = ()
    omitted_bytes: int = 0
    omitted_lines: int = 0


def show(
    source: Source,
    view: View = AUTO,
    *,
    limit: int,
    exit_code: int | None = None,
    more: str = "",
    clock: "Callable[[], float]" = lambda: 0.0,
) -> Shown:
    """Return a view of an output in at most so many bytes.

    `exit_code` is None while the command runs. `more` is the call that shows what is left out; {start}
    and {end} in it stand for the largest range of that. By `clock`, a caller's expression has 5 seconds.
    """
    page = _Page(source, limit, more)
    if view.kind == "range":
        start, end = (min(max(source.start, place), source.end) for place in (view.start, view.end))
        page = _Page(Source(source.piece, start, end), limit, more)
    elif view.kind in ("auto", "since"):
        if len(source) <= min(ENOUGH, limit):
            return page.whole()
        return _auto(page, exit_code)
    elif view.kind == "grep":
        return page.best(_matches(source, view, clock), [], 0)
    elif view.kind == "errors":
        marks = Scan().read(source).marks
        return page.best(_by_importance(marks), [], 0)
    if len(page.source) <= limit:
        return page.whole()
    share = {"head": 1.0, "tail": 0.0}.get(view.kind, 0.5)
    return page.ends(share)


def _auto(page: "_Page", exit_code: int | None) -> Shown:
    source, limit = page.source, page.limit
    scan = Scan().read(source)
    head, tail = (
        source.between(at, at + _LOOK) for at in (source.start, max(source.start, source.end - _LOOK))
    )
    page.tool = tool_of(head, tail)
    page.counts = scan.counts if scan.is_counted else {}
    page.lines = scan.lines
    marks = scan.marks
    red = exit_code not in (0, None) or any(mark.weight == VERDICT for mark in marks)
    if page.tool == CONTENT or not (page.tool or scan.foldable):  # its reader may want any line of it
        weak = [mark for mark in marks if mark.weight == WEAK]
        found = [*_by_importance(marks), *_ends_first(weak), *scan.odd()] if red else ()
        return page.whole() if len(source) <= limit else page.ends(0.5, found)
    in_order = sorted(scan.kinds, key=lambda kind: (scan.counts[kind], scan.kinds[kind]))
    firsts = (scan.kinds[kind] for kind in in_order[:_MOST])
    rare = [Span(number, number + 1, start, end) for number, start, end in firsts]
    first, last = page.line_spans(head, 4), page.line_spans(tail, 12 if page.tool else 4, last=True)
    weak = _ends_first([mark for mark in marks if mark.weight == WEAK])
    if red:
        must = [*last[-3:], *_by_importance([mark for mark in marks if mark.weight > WEAK])]
        may = [*first, *reversed(last), *weak, *rare]
        return page.best(must, may, min(4000, len(source) // 3))
    errors = [mark for mark in marks if mark.weight == ERROR]
    weak = _ends_first([mark for mark in marks if mark.weight < ERROR])
    may = [*reversed(last[-3:]), *weak, *first[:2], *reversed(last[-8:-3]), *rare]
    return page.best(_ends_first(errors), may, min(1500, max(400, len(source) // 6)))


def _by_importance(marks: "Sequence[Span]") -> list[Span]:
    """Return marks in the order in which they are worth their room.

    First the title of every failure, then the first and the last block, then all others.
    """
    failures = [mark for mark in marks if mark.weight == VERDICT]
    blocks = [mark for mark in marks if mark.weight > WEAK]
    titles = _ends_first([mark.title for mark in failures])
    weak = () if blocks else [mark for mark in marks if mark.weight == WEAK]
    return [*titles, *_ends_first(blocks), *_ends_first([*weak])]


def _ends_first(spans: "Sequence[Span]") -> list[Span]:
    """Return the first span, the last one, and those between them."""
    return [*spans[:1], *spans[1:][-1:], *spans[1:-1]]


def _matches(source: Source, view: View, clock: "Callable[[], float]") -> list[Span]:
    """Return the lines that match, with those around each; the last of very many instead of all."""
    assert view.pattern is not None
    search, around = view.pattern.search, view.context
    deadline = clock() + _PATIENCE
    found: list[Span] = []
    for at, number, lines in _lines(source, around):
        text = b"\n".join(lines).decode(errors="replace").split("\n")
        try:
            hits = [
                place
                for place, line in enumerate(text)
                if search(line.removesuffix("\r"), timeout=max(0.001, deadline - clock()), concurrent=True)
            ]
        except TimeoutError:
            raise InvalidArgument(
                f"the regular expression {view.pattern.pattern!r} took longer than {_PATIENCE:.0f} seconds;"
                " use one without repetitions of repetitions"
            ) from None
        if not hits:
            continue
        starts = [*accumulate(map(len, lines), lambda sum_, size: sum_ + size + 1, initial=at)]
        wanted: list[int] = []
        for hit in hits:
            begin = max(hit - around, wanted[-1] + 1 if wanted else 0)
            wanted += range(begin, min(hit + around + 1, len(lines)))
        found += [
            Span(number + place, number + place + 1, starts[place], starts[place + 1] - 1) for place in wanted
        ]
        del found[_MOST:-_MOST]
    return found


def _lines(source: Source, again: int) -> "Iterator[tuple[int, int, list[bytes]]]":
    """Return all lines in pieces: offset, number of the first one, lines; so many are there twice."""
    at, number, rest = source.start, 0, b""
    while True:
        begin, data = source.piece(at + len(rest))
        if rest and (not data or begin > at + len(rest)):
            lines = rest.split(b"\n")
            yield at, number, lines
            number, rest = number + len(lines), b""
        if not data:
            return
        at = at if rest else begin
        whole = rest + data
        lines = whole.split(b"\n")
        yield at, number, lines[:-1]
        if len(lines) == 1 and len(whole) > 4 * PIECE:
            at, rest = at + len(whole), b""  # too long a line: it is searched in pieces
            yield at - len(whole), number, lines
            continue
        kept = min(len(lines) - 1, 2 * again)
        rest = b"\n".join(lines[len(lines) - 1 - kept :])
        at, number = at + len(whole) - len(rest), number + len(lines) - 1 - kept


class _Page:
    """Some ranges of a source, and what stands for the rest of it."""

    def __init__(self, source: Source, limit: int, more: str) -> None:
        self.source = source
        self.limit = limit
        self.lines = -1  # of the source, as far as it is known
        self.tool = ""
        self.counts: Mapping[bytes, int] = {}  # of the lines of each kind
        self._more = more

    def whole(self) -> Shown:
        """Return all of it."""
        source = self.source
        text = source.between(source.start, source.end).decode(errors="replace")
        if len(text) * 3 > self.limit and len(text.encode()) > self.limit:
            return self.ends(0.5)  # bytes that are no characters take more room as text
        return Shown(text, self.tool, [(source.start, source.end)])

    def ends(self, share: float, marks: "Sequence[Span]" = ()) -> Shown:
        """Return its beginning and its end; the beginning gets this share of the room."""
        source, lines = self.source, self._count_lines()
        room = max(0, self.limit - _NOTE * 2 - len(self._more)) // (2 if marks else 1)
        while True:
            head = source.between(source.start, source.start + int(room * share))
            tail = source.between(max(source.start, source.end - (room - len(head))), source.end)
            head = head[: head.rfind(b"\n") + 1] or head
            tail = tail[tail.find(b"\n", 0, -1) + 1 :]
            ends = [
                Span(0, head.count(b"\n"), source.start, source.start + len(head)),
                Span(lines - len(split(tail)), lines, source.end - len(tail), source.end),
            ]
            shown = self.best(marks, [], 0, [end for end in ends if end.end > end.start])
            if shown.kept or room < _NOTE:
                return shown
            room //= 2

    def line_spans(self, data: bytes, most: int, *, last: bool = False) -> list[Span]:
        """Return the first lines of the source, or the last ones, given its bytes there."""
        lines = split(data)
        number = self.lines - len(lines) if last else 0
        at = self.source.end - len(data) if last else self.source.start
        found = []
        for line in lines:
            found.append(Span(number, number + 1, at, at + len(line)))
            at, number = at + len(line) + 1, number + 1
        return found[-most:] if last else found[:most]

    def best(
        self, must: "Sequence[Span]", may: "Sequence[Span]", aim: int, have: "Sequence[Span]" = ()
    ) -> Shown:
        """Return what fits: all of `have`, the first of `must` within the limit, of `may` within the aim."""
        must, may = ([part for span in spans for part in _shortened(span)] for spans in (must, may))
        chosen = self._fitting(have, must, self.limit)
        if len(chosen) == len(have) + len(must):
            chosen = self._fitting(chosen, may, min(aim, self.limit))
        if aim and len(self.source) <= self.limit:
            kept = sum(span.end - span.start for span in _merged(chosen))
            if kept * 4 > len(self.source) * 3:
                return self.whole()  # too little would be saved
        while True:
            shown = self._render(chosen)
            if len(shown.text.encode()) <= self.limit:
                return shown
            if not chosen:
                return shown.replace(text=shown.text.encode()[: self.limit].decode(errors="ignore"))
            chosen = chosen[: len(chosen) * 9 // 10]

    def _fitting(self, have: "Sequence[Span]", more: "Sequence[Span]", room: int) -> list[Span]:
        """Return these spans, and as many of the others as there is room for."""
        low, high = 0, len(more)
        while low < high:
            middle = (low + high + 1) // 2
            spans = _merged([*have, *more[:middle]])
            size = sum(span.end - span.start + _NOTE for span in spans) + _NOTE + len(self._more)
            low, high = (middle, high) if size <= room else (low, middle - 1)
        return [*have, *more[:low]]

    def _render(self, chosen: "Iterable[Span]") -> Shown:
        source = self.source
        spans = _merged(chosen)
        lines = self._count_lines()
        text: list[str] = []
        at, number = source.start, 0
        largest = (0, 0)
        left = shown = 0
        for span in [*spans, Span(lines, lines, source.end, source.end)]:
            if span.start > at + 1 or (span.start > at and not text):
                gap = at, span.start
                missing = max(0, span.first - number)
                largest = max(largest, gap, key=lambda one: one[1] - one[0])
                if source.between(at, min(span.start, at + 4096)).strip():
                    left += missing
                    above = source.between(max(source.start, at - _LONG), at) if text else b""
                    alike = self.counts.get(kind_of(above.rpartition(b"\n")[2]), 0)
                    text.append(_note(missing, gap, alike if alike * 2 > missing else 0))
            if span.end > span.start:
                text.append(_text(source.between(span.start, span.end)))
                shown += span.end - span.start
            at, number = span.end, span.behind
        if largest[1] and self._more:
            said = f"{left} of {lines} lines" if left else f"{len(source) - shown} bytes"
            more = self._more.format(start=largest[0], end=largest[1])
            text.append(f"[{said} left out; {more}]")
        kept = [(span.start, span.end) for span in spans]
        return Shown("\n".join(text), self.tool, kept, len(source) - shown, left)

    def _count_lines(self) -> int:
        if self.lines < 0:
            source, at, count, last = self.source, self.source.start, 0, b"\n"
            while True:
                begin, data = source.piece(at)
                if not data:
                    break
                at, count, last = begin + len(data), count + data.count(b"\n"), data[-1:]
            self.lines = count + (last != b"\n")
        return self.lines


def _note(lines: int, gap: tuple[int, int], alike: int) -> str:
    """Return the line that stands for a range; `alike` is how many lines are like the one above it."""
    said = f"{lines} line{'s' * (lines != 1)}, " if lines else ""
    folded = f"; in all {alike} like the one above" if alike > 8 else ""
    return f"[\u2026 {said}bytes {gap[0]}-{gap[1]}{folded} \u2026]"


def _shortened(span: Span) -> "tuple[Span, ...]":
    """Return a span, or its two ends if it is too long."""
    most = _LONG if span.behind > span.first + 1 else _LONG_LINE
    if span.end - span.start <= most:
        return (span,)
    middle = span.start + most * 2 // 3
    return span.replace(end=middle), span.replace(first=span.behind, start=span.end - most // 3)


def _merged(spans: "Iterable[Span]") -> list[Span]:
    """Return spans in order, without overlaps; small gaps between them are filled."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start, one.end)):
        last = found[-1] if found else None
        if last is not None and span.start <= last.end + _SMALL_GAP:
            if span.end > last.end:
                found[-1] = last.replace(end=span.end, behind=span.behind)
        else:
            found.append(span)
    return found


def _text(data: bytes) -> str:
    """Return some output as text, without halves of characters at its ends."""
    skip = 0
    while skip < min(3, len(data)) and data[skip] & 0xC0 == 0x80:
        skip += 1
    return data[skip : len(data) - unfinished(data)].decode(errors="replace").rstrip("\r\n")
