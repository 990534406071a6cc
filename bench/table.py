"""Numbers as tables: medians, ratios, goals and the plain word for each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Literal

Word = Literal["reached", "must only", "short", "disturbed", "missing"]
Range = tuple[float, float]


@dataclass(frozen=True)
class Seconds:
    """What one contestant took: the middle and the fast end."""

    median: float
    p10: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Seconds | None":
        """Sum up a sample; None if there is none."""
        if not values:
            return None
        p10 = quantiles(values, n=10, method="inclusive")[0] if len(values) > 1 else values[0]
        return cls(median(values), p10, len(values))


@dataclass(frozen=True)
class Goal:
    """A measured number beside the two numbers it is to reach."""

    what: str
    measured: float | None
    must: float
    stretch: float
    unit: str = "x"
    higher: bool = False
    spread: Range | None = None
    disturbed: bool = False

    @property
    def word(self) -> Word:
        """Return how far it got."""
        if self.measured is None:
            return "missing"
        if self.disturbed:
            return "disturbed"
        if self._within(self.stretch):
            return "reached"
        return "must only" if self._within(self.must) else "short"

    def cells(self) -> list[str]:
        """Return a row of the table of goals."""
        sign = ">=" if self.higher else "<="
        shown = "missing" if self.measured is None else self._shown(self.measured)
        spread = f"{self.spread[0]:.2f}-{self.spread[1]:.2f}" if self.spread else "-"
        bounds = [f"{sign} {self._shown(bound)}" for bound in (self.must, self.stretch)]
        return [self.what, shown, spread, *bounds, self.word]

    def _within(self, bound: float) -> bool:
        assert self.measured is not None
        # As it is shown: nobody can tell 1.202 from 1.20 here.
        measured = round(self.measured, 2)
        return measured >= bound if self.higher else measured <= bound

    def _shown(self, value: float) -> str:
        if self.unit == "x":
            return f"{value:.2f}x"
        return f"{value:.{'0f' if value >= 1000 else '3g'}} {self.unit}".rstrip()


GOAL_COLUMNS = ("goal", "measured", "80 % range", "must", "stretch", "word")


@dataclass
class Result:
    """The tables of one workload, and what went wrong in it."""

    title: str
    columns: Sequence[str] = ()
    rows: list[list[str]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def goal_rows(self) -> list[list[str]]:
        """Return its goals for a table of many results, with its number before each."""
        number = self.title.partition(" ")[0]
        return [[f"{number} {cells[0]}", *cells[1:]] for cells in (goal.cells() for goal in self.goals)]

    def text(self) -> str:
        """Return it as Markdown."""
        parts = [f"## {self.title}"]
        parts.extend(f"**Wrong:** {error}" for error in self.errors)
        if self.rows:
            parts.append(table(self.columns, self.rows))
        if self.goals:
            parts.append(table(GOAL_COLUMNS, [goal.cells() for goal in self.goals]))
        parts.extend(self.notes)
        return "\n\n".join(parts)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table that is also readable as it stands: names left, numbers right."""
    widths = [max(3, *(len(row[at]) for row in (columns, *rows))) for at in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        shown = [
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(shown)} |"

    rule = ["-" * widths[0], *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    return "\n".join([line(columns), line(rule), *(line(row) for row in rows)])


def ratio(ours: Seconds | None, theirs: Seconds | None) -> float | None:
    """Return how many times as long ours took, by the medians."""
    return ours.median / theirs.median if ours and theirs else None


def fast_ratio(ours: Seconds | None, theirs: Seconds | None) -> float | None:
    """Return how many times as long ours took at the fast end, where less of it is noise."""
    return ours.p10 / theirs.p10 if ours and theirs else None


def times(value: float | None) -> str:
    """Show a ratio."""
    return "-" if value is None else f"{value:.2f}x"


def micro(seconds: float) -> str:
    """Show microseconds."""
    return f"{seconds * 1e6:.0f}"


def milli(seconds: float) -> str:
    """Show milliseconds."""
    return f"{seconds * 1e3:.1f}"
