"""The pane that shows the beginning of what is under the cursor."""

import os
from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.strip import Strip

from agent_exec.apps.shell.background_read import BackgroundReader
from agent_exec.apps.shell.panes.pane import Moving, shortened
from agent_exec.faces.slash.feedback import cells, shown
from agent_exec.faces.slash.files import Preview, preview
from agent_exec.faces.slash.view import SIDEWAYS


class PreviewPane(Moving):
    """The first lines of a file, or the names in a folder."""

    DEFAULT_CLASSES = "pane"
    BINDINGS: ClassVar[list[BindingType]] = [("left", "sideways(-1)"), ("right", "sideways(1)")]

    def __init__(self) -> None:
        super().__init__()
        self.path = ""
        self.preview = Preview("message")
        self.top = 0
        self.column = 0
        self._reader = BackgroundReader(self)

    def show(self, path: str) -> None:
        """Show what is at a path now; the same path stays scrolled as it was."""
        if path != self.path:
            self.top = self.column = 0
        self.path = path
        if not self._reader.read(lambda: preview(path), self._take):
            self._take(Preview("message", ("reading …",)))

    def _take(self, found: Preview) -> None:
        self.preview = found
        self.on_resize()

    def on_resize(self) -> None:
        """Make the title fit."""
        name = shown(os.path.basename(self.path) or self.path)
        self.border_title = Text(shortened(name, self.size.width - 4))
        self.border_subtitle = self.preview.kind if self.preview.kind in ("binary", "directory") else ""
        self.action_move(0)

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        kind, lines, number = self.preview.kind, self.preview.lines, self.top + y
        quiet = kind in ("message", "binary")
        text = lines[number] if number < len(lines) else ""
        if number == len(lines) and self.preview.more:
            text, quiet = "(more)", True
        elif not lines and y == 0 and kind in ("text", "directory"):
            text, quiet = "(empty)", True
        return self.row((text, self.style("quiet") if quiet else self.rich_style), column=self.column)

    def action_move(self, rows: int) -> None:
        """Go down by so many lines."""
        total = len(self.preview.lines) + self.preview.more
        self.top = max(0, min(self.top + rows, total - self.size.height))
        self.refresh()

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
