"""The base of the panes: rows drawn from safe text, a border, keys that move, and a list with a cursor."""

import os
from typing import ClassVar, Generic, TypeVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_exec.faces.slash.feedback import cells, shown
from agent_exec.model.paths import inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

    from agent_exec.faces.slash.feedback import Status

T = TypeVar("T")

ELLIPSIS = "…"
_STYLES = "bad busy chosen cursor error first folder found good info other quiet success tab warn"


class Told(Message):
    """A line for the user."""

    def __init__(self, text: str, status: "Status") -> None:
        super().__init__()
        self.text = text
        self.status: Status = status


class Drawn(Widget):
    """A widget that draws its own rows, and only those in sight."""

    DEFAULT_CSS = """
    Drawn {
        & > .row--quiet { color: $foreground 60%; }
        & > .row--good { color: $text-success; }
        & > .row--bad { color: $text-error; }
        & > .row--busy { color: $text-warning; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"row--{name}" for name in _STYLES.split()}

    def style(self, name: str, *, partial: bool = False) -> "Style":
        """Return a style of this widget; with `partial`, one to be added to another."""
        return self.get_component_rich_style(f"row--{name}", partial=partial)

    def row(self, *pieces: "tuple[str, Style]", column: int = 0, base: "Style | None" = None) -> Strip:
        """Return a row: the pieces after the first `column` cells, filled up with blanks."""
        width = self.size.width
        strip = Strip([Segment(text, style) for text, style in pieces if text])
        if column or strip.cell_length > width:
            strip = strip.crop(column, column + width)
        return strip.adjust_cell_length(width, self.rich_style if base is None else base)


class Moving(Drawn, can_focus=True):
    """Rows that keys and the wheel move through; a subclass moves, and goes to both ends."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "move(-1)"),
        ("down", "move(1)"),
        ("pageup", "page(-1)"),
        ("pagedown", "page(1)"),
        ("home", "home"),
        ("end", "end"),
    ]

    def action_move(self, rows: int) -> None:
        """Go down by so many rows."""
        raise NotImplementedError

    def action_page(self, pages: int) -> None:
        """Go down by so many pages, less a row that is seen in both."""
        self.action_move(pages * max(1, self.size.height - 1))

    def on_mouse_scroll_down(self) -> None:
        """Go down."""
        self.action_move(3)

    def on_mouse_scroll_up(self) -> None:
        """Go up."""
        self.action_move(-3)


class ListPane(Moving, Generic[T]):
    """A list with a cursor; a subclass draws an entry. `problem` says why there are none, else EMPTY does."""

    DEFAULT_CSS = """
    ListPane {
        & > .row--cursor {
            color: $block-cursor-blurred-foreground;
            background: $block-cursor-blurred-background;
        }
        & > .row--folder { color: $text-primary; text-style: bold; }
        &:focus > .row--cursor { color: $block-cursor-foreground; background: $block-cursor-background; }
        &:ansi > .row--cursor { text-style: underline; color: ansi_default; background: ansi_default; }
        &:ansi:focus > .row--cursor { text-style: reverse; color: ansi_default; background: ansi_default; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("enter", "choose")]
    DEFAULT_CLASSES = "pane"
    EMPTY: ClassVar[str]

    class Moved(Message):
        """The cursor is on another row."""

    class Chosen(Message):
        """The row under the cursor was chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: Sequence[T] = ()
        self.problem = ""
        self.cursor = 0
        self.top = 0

    @property
    def count(self) -> int:
        """The number of entries."""
        return len(self.entries)

    @property
    def entry(self) -> T | None:
        """The entry under the cursor; None if there are none."""
        return self.entries[self.cursor] if self.entries else None

    def pieces(self, entry: T, base: "Style") -> "list[tuple[str, Style]]":
        """Return the text of an entry and its styles; `base` is that of plain text."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        base = self.rich_style
        number = self.top + y
        if not self.count:
            text = f" {self.problem or self.EMPTY}" if y == 0 else ""
            return self.row((text, base + self.style("quiet")))
        if number >= self.count:
            return Strip.blank(self.size.width, base)
        drawn = self.row(*self.pieces(self.entries[number], base))
        if number == self.cursor:
            drawn = Strip(Segment.apply_style(drawn, post_style=self.style("cursor")), self.size.width)
        return drawn

    def go(self, number: int) -> None:
        """Put the cursor on a row, or on the nearest that there is."""
        before = self.cursor
        self.cursor = max(0, min(number, self.count - 1))
        self.keep_in_sight()
        if self.cursor != before:
            self.post_message(self.Moved())

    def keep_in_sight(self) -> None:
        """Scroll until the cursor can be seen, and draw again."""
        height = max(1, self.size.height)
        top = min(max(self.top, self.cursor - height + 1), self.cursor)
        self.top = max(0, min(top, self.count - height))
        self.refresh()

    def action_move(self, rows: int) -> None:
        """Go down by so many rows."""
        self.go(self.cursor + rows)

    def action_home(self) -> None:
        """Go to the first row."""
        self.go(0)

    def action_end(self) -> None:
        """Go to the last row."""
        self.go(self.count - 1)

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self.count:
            self.post_message(self.Chosen())

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.keep_in_sight()

    def on_click(self, event: events.Click) -> None:
        """Go to the row under the mouse; choose it if it is clicked again."""
        place = event.get_content_offset(self)
        if place is None or self.top + place.y >= self.count:
            return
        number = self.top + place.y
        if number == self.cursor and event.chain > 1:
            self.action_choose()
        self.go(number)


def shortened(text: str, width: int, *, front: bool = False) -> str:
    """Return a text that takes at most so many cells, with an ellipsis at its end, or its front, if cut."""
    if cells(text) <= width:
        return text
    if width <= 0:
        return ""
    kept = text[-width:] if front else text[:width]
    while cells(kept) > width - 1:
        kept = kept[1:] if front else kept[:-1]
    return ELLIPSIS + kept if front else kept + ELLIPSIS


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


def homely(path: str) -> str:
    """Return a path, safe to show, with ~ in the place of the home folder."""
    text, home = shown(path), os.path.expanduser("~")
    return f"~{text[len(home) :]}" if home not in ("", "/") and inside(text, home) else text
