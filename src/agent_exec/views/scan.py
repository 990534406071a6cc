"""One pass over an output: lines that are alike are counted, those that report a failure are located.

Lines are alike if they differ only in numbers, hexadecimal digits, blanks and the drawing of bars. All
bytes are looked at by C code; only a line of a kind that was not seen before, or that may report a
failure, is looked at here. Where hardly any line is like another, kinds are not counted any longer.
"""

from bisect import bisect
from collections import Counter
from itertools import accumulate

from agent_exec.model.value import Value
from agent_exec.views.reader import PIECE
from agent_exec.views.shapes import (
    BROKEN,
    ERROR,
    VERDICT,
    WEAK,
    Row,
    candidates,
    counts,
    likely,
    own_parts,
    plain,
    row_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.views.reader import Source

_UNLIKE = b"0123456789abcdef \t#=>.-*~+_"
_LETTERS = bytes([*range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1), *range(0x80, 0x100)])
_LINES = bytes.maketrans(b"\r", b"\n")
_MOST_KINDS = 20_000
_ENOUGH_KINDS = 4_000
_SAMPLE = 8192
_MOST_MARKS = 4_000
_TITLE = 400
_LONG_LINE, _AROUND = 1000, 400
_OFTEN, _WORD = 40, 12
_ALIKE = 16
_MANY = b"\n"
"""The kind of marks of which there are too many kinds."""


def flat(data: bytes) -> bytes:
    """Return output of the same length in which a carriage return ends a line, as a newline does."""
    return data.replace(b"\r\n", b" \n").translate(_LINES) if b"\r" in data else data


def split(data: bytes) -> list[bytes]:
    """Return the lines of an output."""
    lines = flat(data).split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def kind_of(line: bytes) -> bytes:
    """Return what a line has in common with those that are like it."""
    return line.translate(None, _UNLIKE)


class Span(Value):
    """Lines: their numbers, from 0, their bytes, without the last newline, and where the first one ends."""

    first: int
    behind: int
    start: int
    end: int
    line_end: int = 0
    weight: int = 0
    kind: bytes = b""

    @property
    def title(self) -> "Span":
        """The first line alone."""
        return self.replace(behind=self.first + 1, end=self.line_end)


class Scan:
    """What a pass over an output has found."""

    def __init__(self) -> None:
        self.lines = 0
        self.counts: Counter[bytes] = Counter()
        self.kinds: dict[bytes, tuple[int, int, int]] = {}  # of the first line of each: number, start, end
        self._marks: dict[bytes, list[Span]] = {}  # those that are alike; under "", those that stay
        self._title = -1
        self._counted = 0  # lines whose kinds are counted
        self._failures = 0
        self._rows: dict[bytes, tuple[Row | None, bool]] = {}  # of each kind, and if numbers decide it
        self._watched: set[bytes] = set()

    @property
    def marks(self) -> list[Span]:
        """The lines that matter, in order; of very many, or very many alike, the first and the last."""
        return sorted((mark for alike in self._marks.values() for mark in alike), key=lambda mark: mark.first)

    def read(self, source: "Source") -> "Scan":
        """Take all of a source."""
        at = source.start
        rest = b""
        while True:
            begin, data = source.piece(at + len(rest), max(PIECE, 2 * len(rest)))
            if rest and (not data or begin > at + len(rest)):
                self._take(at, rest, final=True)
                rest = b""
            if not data:
                return self
            if not rest:
                at = begin
            whole = rest + data
            used = self._take(at, whole, final=False)
            if not used and len(whole) > 4 * PIECE:
                used = self._take(at, whole, final=True)  # a line, or a block, that is too long
            at, rest = at + used, whole[used:]

    @property
    def foldable(self) -> bool:
        """True if most lines are alike."""
        return self.lines >= 60 and len(self.counts) * 6 <= self._counted and self.lines <= 2 * self._counted

    @property
    def is_counted(self) -> bool:
        """True if the counts of kinds are those of all lines."""
        return self._counted == self.lines

    def odd(self) -> "list[Span]":
        """Return lines of rare punctuation, in order, if that of nearly all lines is of a few forms."""
        forms = b"\n".join(self.kinds).translate(None, _LETTERS).split(b"\n")
        counts = Counter(forms)
        most = len(forms) // 20
        rare = [place for form, place in zip(forms, self.kinds.values(), strict=True) if counts[form] <= most]
        if len(rare) > 2 * most:
            return []
        return [Span(number, number + 1, start, end) for number, start, end in sorted(rare)]

    def _take(self, place: int, data: bytes, *, final: bool) -> int:
        """Take whole lines, and return how many bytes that were."""
        if not final:
            data = data[: len(data) - data.endswith(b"\r")]  # its newline may follow
            data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1]
        if not data:
            return 0
        lines = split(data)
        count = len(lines)
        kinds: list[bytes] = []
        new: set[bytes] = set()
        watched: set[bytes] = set()
        firsts: dict[bytes, int] = {}
        hits: list[int] = []
        if self._folds(data):
            kinds = kind_of(flat(data)).split(b"\n")[:count]
            there = set(kinds)
            watched = self._watched & there
            if len(self.kinds) < _MOST_KINDS and (new := there - self.kinds.keys()):
                firsts = dict(zip(reversed(kinds), range(count - 1, -1, -1), strict=True))
                watched |= self._mattering([(kind, lines[firsts[kind]]) for kind in new])
            hits = [at for at, kind in enumerate(kinds) if kind in watched] if watched else []
        places = [found.start() for found in BROKEN.finditer(data)] if b"HTTP/" in data else []
        if not kinds or len(self.kinds) >= _MOST_KINDS:
            places += likely(data)
        starts: list[int] = []
        if new or hits or places:
            starts = [*accumulate(map((1).__add__, map(len, lines)), initial=place)]
        if places:
            hits = sorted({*hits, *(bisect(starts, place + at) - 1 for at in places)})
        self.counts.update(kinds)
        if hits:
            open_at = self._mark(lines, starts, hits, final=final)
            if open_at >= 0:
                data = data[: starts[open_at] - place]
                count = open_at
                self.counts.subtract(kinds[count:])
        for kind in new:
            at = firsts[kind]
            if at < count:
                self.kinds[kind] = self.lines + at, starts[at], starts[at + 1] - 1
        self._watched |= watched
        self.lines += count
        self._counted += count if kinds else 0
        return len(data)

    def _folds(self, data: bytes) -> bool:
        """True if the kinds of these lines are counted: until there are enough, and where most are known."""
        if len(self.kinds) < _ENOUGH_KINDS:
            return True
        kinds = kind_of(flat(data[:_SAMPLE])).split(b"\n")
        return len(set(kinds) - self.kinds.keys()) * 6 <= len(kinds)

    def _span(self, starts: list[int], first: int, behind: int, weight: int = 0, kind: bytes = b"") -> Span:
        numbers = self.lines + first, self.lines + behind
        return Span(*numbers, starts[first], starts[behind] - 1, starts[first + 1] - 1, weight, kind)

    def _mark(self, lines: list[bytes], starts: list[int], hits: list[int], *, final: bool) -> int:
        """Locate the lines that matter; return the index of a block that may go on, or -1."""
        behind = 0
        if self._failures >= 2 * _MOST_MARKS:
            del hits[: -2 * _ALIKE]  # more than can be shown: the last ones are
        latest: dict[bytes, list[tuple[int, Row]]] = {}  # of kinds that have come often
        for at in hits:
            kind = kind_of(lines[at])
            row = self._row(kind, lines[at]) if at >= behind else None
            if row is None:
                continue
            if row.folds and not row.is_block:
                known = self._marks.get(kind)
                if known is None and len(self._marks) >= _MOST_MARKS:
                    kind = _MANY
                if kind is _MANY or (known is not None and len(known) == 2 * _ALIKE):
                    latest.setdefault(kind, []).append((at, row))
                    continue
            end = row.end(lines, at)
            if row.is_block and end == len(lines) and not final and at:
                break
            end = next((near for near in range(at + 1, end) if self._is_common(kind_of(lines[near]))), end)
            while end > at + 1 and not lines[end - 1].strip():
                end -= 1
            if row.titled:
                above = range(at - 1, max(0, at - _TITLE) - 1, -1)
                title = next((near for near in above if lines[near][:1].strip()), at)
                if starts[title] != self._title:
                    self._title = starts[title]
                    self._add(self._span(starts, title, title + 1, row.weight))
            if len(lines[at]) > _LONG_LINE:
                self._add_middle(self._span(starts, at, at + 1, row.weight), lines[at])
            behind = end if row.weight > WEAK else behind
            alike = b"\n".join(map(kind_of, lines[at:end])) if row.folds else b""
            for number, (first, last) in enumerate(own_parts(lines, at, end)):
                self._add(
                    self._span(
                        starts, first, last, row.weight, b"%s\n%d" % (alike, number) if number else alike
                    )
                )
        else:
            at = -1
        for kind, rows in latest.items():
            for last, row in rows[-_ALIKE:]:
                self._add(self._span(starts, last, last + 1, row.weight, kind))
        return at

    def _mattering(self, firsts: list[tuple[bytes, bytes]]) -> set[bytes]:
        """Return the kinds of which lines must be looked at, given the first line of each."""
        lines = [plain(line) for _, line in firsts]
        found = set()
        for place in candidates(lines):
            kind, line = firsts[place][0], lines[place]
            self._rows[kind] = row, numbered = row_of(line), counts(line, zero=True)
            if row is not None or numbered:
                found.add(kind)
        return found

    def _row(self, kind: bytes, line: bytes) -> "Row | None":
        """Return the row of a line; lines that are alike have the same, unless it depends on a number."""
        if kind not in self._rows:
            return row_of(plain(line))
        row, numbered = self._rows[kind]
        if numbered or b"HTTP/" in line:
            line = plain(line)
            if counts(line) or (row is not None and row.weight > ERROR):
                return row_of(line)
        return row

    def _is_common(self, kind: bytes) -> bool:
        """True if a line is of a kind that has come so often that it belongs to no block."""
        return len(kind) > _WORD and kind not in self._watched and self.counts[kind] > _OFTEN

    def _add_middle(self, line: Span, text: bytes) -> None:
        """Add what is around the first word of failures in a long line, of which else the ends are shown."""
        place = min(likely(text), default=0)
        start, end = line.start + max(0, place - _AROUND // 4), line.start + place + _AROUND
        self._add(line.replace(start=start, end=min(end, line.end), line_end=min(end, line.end)))

    def _add(self, mark: Span) -> None:
        self._failures += mark.weight == VERDICT
        alike = self._marks.setdefault(mark.kind, [])
        most = _ALIKE if mark.kind else _MOST_MARKS
        if len(alike) == 2 * most:
            del alike[most]
        if alike or mark.kind is _MANY or len(self._marks) < _MOST_MARKS:
            alike.append(mark)
