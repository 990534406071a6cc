"""The pane that shows the beginning of what is under the cursor."""

import os
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widget import Widget

from agent_exec.apps.shell.background_read import Aside
from agent_exec.apps.shell.panes.rows import row, shortened
from agent_exec.faces.slash.feedback import cells, shown
from agent_exec.faces.slash.files import Preview, preview
from agent_exec.faces.slash.view import SIDEWAYS


class PreviewPane(Widget, can_focus=True):
    """The first lines of a file, or the names in a folder."""

    DEFAULT_CSS = """
    PreviewPane {
        border: round $foreground 30%;
        border-title-color: $foreground;
        border-subtitle-color: $foreground 70%;
        & > .preview--note { color: $foreground 60%; }
        &:focus { border: round $primary; }
        &:ansi { border: round ansi_default; }
        &:ansi:focus { border: heavy ansi_default; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"preview--note"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "home", show=False),
        Binding("end", "end", show=False),
        Binding("left", "sideways(-1)", show=False),
        Binding("right", "sideways(1)", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.path = ""
        self.preview = Preview("message")
        self.top = 0
        self.column = 0
        self._aside = Aside(self)

    def show(self, path: str) -> None:
        """Show what is at a path now; what was shown stays where it was looked at."""
        if path != self.path:
            self.top = self.column = 0
        self.path = path
        if not self._aside.read(lambda: preview(path), self._take):
            self._take(Preview("message", ("reading …",)))

    def _take(self, found: Preview) -> None:
        self.preview = found
        self._entitle()
        self.action_move(0)

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        base = self.rich_style
        width = self.size.width
        lines = self.preview.lines
        number = self.top + y
        style = base
        text = lines[number] if number < len(lines) else ""
        if number == len(lines) and self.preview.more:
            text, style = "(more)", self.get_component_rich_style("preview--note")
        elif not lines and y == 0 and self.preview.kind in ("text", "directory"):
            text, style = "(empty)", self.get_component_rich_style("preview--note")
        elif self.preview.kind in ("message", "binary"):
            style = self.get_component_rich_style("preview--note")
        return row([(text, style)], width, base, self.column)

    def on_resize(self) -> None:
        """Have the title fit."""
        self._entitle()
        self.action_move(0)

    def action_move(self, lines: int) -> None:
        """Go down by so many lines."""
        total = len(self.preview.lines) + self.preview.more
        self.top = max(0, min(self.top + lines, total - self.size.height))
        self.refresh()

    def action_page(self, pages: int) -> None:
        """Go down by so many pages."""
        self.action_move(pages * max(1, self.size.height - 1))

    def action_home(self) -> None:
        """Go to the first line."""
        self.column = 0
        self.action_move(-self.top)

    def action_end(self) -> None:
        """Go to the last line."""
        self.action_move(len(self.preview.lines) + 1)

    def action_sideways(self, steps: int) -> None:
        """Go right by so many steps."""
        longest = max(map(cells, self.preview.lines), default=0)
        self.column = max(0, min(self.column + steps * SIDEWAYS, longest - 1))
        self.refresh()

    def on_mouse_scroll_down(self) -> None:
        """Go down."""
        self.action_move(3)

    def on_mouse_scroll_up(self) -> None:
        """Go up."""
        self.action_move(-3)

    def _entitle(self) -> None:
        name = shown(os.path.basename(self.path) or self.path)
        self.border_title = Text(shortened(name, self.size.width - 4))
        self.border_subtitle = self.preview.kind if self.preview.kind in ("binary", "directory") else ""
