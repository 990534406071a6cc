"""A pane of rows of which one is under the cursor."""

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_exec.apps.shell.panes.rows import row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.style import Style


class ListPane(Widget, can_focus=True):
    """Draws only the rows that can be seen; a pane of this kind tells how many there are, and their text."""

    DEFAULT_CSS = """
    ListPane {
        border: round $foreground 30%;
        border-title-color: $foreground;
        border-subtitle-color: $foreground 70%;
        & > .row--cursor {
            color: $block-cursor-blurred-foreground;
            background: $block-cursor-blurred-background;
        }
        & > .row--folder { color: $text-primary; text-style: bold; }
        & > .row--quiet { color: $foreground 60%; }
        & > .row--good { color: $text-success; }
        & > .row--bad { color: $text-error; }
        & > .row--busy { color: $text-warning; }
        &:focus { border: round $primary; }
        &:focus > .row--cursor { color: $block-cursor-foreground; background: $block-cursor-background; }
        &:ansi { border: round ansi_default; }
        &:ansi:focus { border: heavy ansi_default; }
        &:ansi > .row--cursor { text-style: underline; color: ansi_default; background: ansi_default; }
        &:ansi:focus > .row--cursor { text-style: reverse; color: ansi_default; background: ansi_default; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "row--cursor",
        "row--folder",
        "row--quiet",
        "row--good",
        "row--bad",
        "row--busy",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False),
        Binding("down", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "first", "first", show=False),
        Binding("end", "last", "last", show=False),
        Binding("enter", "choose", "choose", show=False),
    ]

    class Moved(Message):
        """The cursor is on another row."""

    class Chosen(Message):
        """Somebody wants the row under the cursor."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.cursor = 0
        self.top = 0

    @property
    def count(self) -> int:
        """How many rows there are; none in a list of nothing."""
        return 0

    def pieces(self, number: int, base: "Style") -> "list[tuple[str, Style]]":
        """Return the text of a row and how it is drawn; `base` is how text is drawn there."""
        return [(f"{number}", base)]

    def nothing(self) -> str:
        """Return what is shown if there are no rows."""
        return ""

    def style_named(self, name: str) -> "Style":
        """Return how something is drawn."""
        return self.get_component_rich_style(f"row--{name}")

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        base = self.rich_style
        width = self.size.width
        number = self.top + y
        if not self.count:
            text = self.nothing() if y == 0 else ""
            return row([(f" {text}", base + self.get_component_rich_style("row--quiet"))], width, base)
        if number >= self.count:
            return Strip.blank(width, base)
        drawn = row(self.pieces(number, base), width, base)
        if number == self.cursor:
            style = self.get_component_rich_style("row--cursor")
            drawn = Strip(Segment.apply_style(drawn, post_style=style), width)
        return drawn

    def go(self, number: int) -> None:
        """Have the cursor on a row, or on the nearest that there is."""
        before = self.cursor
        self.cursor = max(0, min(number, self.count - 1))
        self._keep_in_sight()
        self.refresh()
        if self.cursor != before:
            self.post_message(self.Moved())

    def _keep_in_sight(self) -> None:
        height = max(1, self.size.height)
        if self.cursor < self.top:
            self.top = self.cursor
        elif self.cursor >= self.top + height:
            self.top = self.cursor - height + 1
        self.top = max(0, min(self.top, self.count - height))

    def action_move(self, rows: int) -> None:
        """Go down by so many rows."""
        self.go(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        """Go down by so many pages."""
        self.go(self.cursor + pages * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Go to the first row."""
        self.go(0)

    def action_last(self) -> None:
        """Go to the last row."""
        self.go(self.count - 1)

    def action_choose(self) -> None:
        """Take the row under the cursor."""
        if self.count:
            self.post_message(self.Chosen())

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._keep_in_sight()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Go where the mouse is; take it if it is clicked again."""
        place = event.get_content_offset(self)
        if place is None or self.top + place.y >= self.count:
            return
        number = self.top + place.y
        if number == self.cursor and event.chain > 1:
            self.action_choose()
        self.go(number)

    def on_mouse_scroll_down(self) -> None:
        """Go down."""
        self.go(self.cursor + 3)

    def on_mouse_scroll_up(self) -> None:
        """Go up."""
        self.go(self.cursor - 3)
