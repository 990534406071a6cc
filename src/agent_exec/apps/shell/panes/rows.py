"""One row of a screen, put together from pieces of text that are safe to be shown."""

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from agent_exec.faces.slash.feedback import cells
from agent_exec.model.paths import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ELLIPSIS = "…"


def row(pieces: "Iterable[tuple[str, Style]]", width: int, base: Style, column: int = 0) -> Strip:
    """Return a row of this width: what comes after its first `column` cells, filled up with blanks."""
    strip = Strip([Segment(text, style) for text, style in pieces if text])
    if column or strip.cell_length > width:
        strip = strip.crop(column, column + width)
    return strip.adjust_cell_length(width, base)


def shortened(text: str, width: int) -> str:
    """Return a text that takes at most so many cells; if it is too long, its beginning and an ellipsis."""
    if cells(text) <= width:
        return text
    if width <= 0:
        return ""
    taken = 0
    for place, character in enumerate(text):
        taken += cells(character)
        if taken > width - 1:
            return text[:place] + ELLIPSIS
    return text


def shortened_front(text: str, width: int) -> str:
    """Return a text that takes at most so many cells; if it is too long, an ellipsis and its end."""
    if cells(text) <= width:
        return text
    if width <= 0:
        return ""
    place = max(0, len(text) - width + 1)
    while place < len(text) and cells(text[place:]) > width - 1:
        place += 1
    return ELLIPSIS + text[place:]


def wrapped(text: str, width: int, most: int) -> list[str]:
    """Return a text on at most so many rows, broken at blanks where there are some; the last is shortened."""
    rows: list[str] = []
    rest = text
    while cells(rest) > width > 1 and len(rows) < most - 1:
        place = len(shortened(rest, width + 1)) - 1
        blank = rest.rfind(" ", place // 2, place + 1)
        rows.append(rest[: blank if blank > 0 else place])
        rest = rest[len(rows[-1]) :].lstrip(" ")
    return [*rows, shortened(rest, width)]


def homely(path: str, home: str) -> str:
    """Return a path with ~ in the place of the home folder."""
    if home not in ("", "/") and inside(path, home):
        return f"~{path[len(home) :]}"
    return path
