"""Colours and symbols for a person's terminal, and texts cut to its width."""

import os

from agent_exec.model.visible import visible
from agent_exec.terminal.widths import special, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_COLUMNS = 100
"""The width of what is no terminal."""


class Paint:
    """Colours text if `on`; `columns` is the width that lines are cut to, 0 for no limit."""

    def __init__(self, *, on: bool = False, columns: int = 0) -> None:
        self.on = on
        self.columns = columns

    def __call__(self, text: str, *styles: str) -> str:
        """Return a text in these styles."""
        if not (self.on and styles and text):
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"

    def table(self, rows: "Sequence[Sequence[tuple[str, str]]]") -> list[str]:
        """Return rows as lines of aligned columns; each cell is a text and its style, "" for none.

        The last column takes what is left of the width.
        """
        if not rows:
            return []
        shown = [[(visible(text), style) for text, style in row] for row in rows]
        sizes = [
            max(map(cells, column)) for column in zip(*[[c[0] for c in row] for row in shown], strict=True)
        ]
        return [self._line(row, sizes) for row in shown]

    def _line(self, row: "Sequence[tuple[str, str]]", sizes: "Sequence[int]") -> str:
        parts, used = [], 0
        for place, (text, style) in enumerate(row):
            last = place == len(row) - 1
            shown = cut(text, self.columns - used) if last and self.columns else text
            parts.append(self(shown, style) if style else shown)
            if not last:
                parts.append(" " * (sizes[place] - cells(text) + 2))
                used += sizes[place] + 2
        return "".join(parts).rstrip(" ")


def paint_for(descriptor: int) -> Paint:
    """Return how to write to a descriptor: in colours and its width if it is a terminal."""
    try:
        terminal = os.isatty(descriptor)
    except OSError:
        terminal = False
    if not terminal:
        return Paint(on=bool(os.environ.get("FORCE_COLOR")))
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    try:
        columns = os.get_terminal_size(descriptor).columns or _COLUMNS
    except OSError:
        columns = _COLUMNS
    return Paint(on=not plain, columns=columns)


def cells(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    return len(text) if text.isascii() else sum(width(one) if special().match(one) else 1 for one in text)


def cut(text: str, size: int) -> str:
    """Return a text that takes at most so many cells; what is cut off is marked."""
    if cells(text) <= size:
        return text
    kept, used = [], 0
    for one in text:
        used += cells(one)
        if used > size - 1:
            break
        kept.append(one)
    return "".join(kept) + "…" if size > 0 else ""


def span(seconds: float) -> str:
    """Return a duration in the unit that a person would choose, such as 9ms, 1.2s, 3m or 2d."""
    seconds = max(seconds, 0)
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 10:
        return f"{seconds:.1f}s"
    for unit, size, least in (("s", 1, 120), ("m", 60, 7200), ("h", 3600, 172_800)):
        if seconds < least:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds / 86_400:.0f}d"
