"""The tabs: several folders, one of them shown."""

import os
from typing import ClassVar

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_exec.apps.shell.panes.rows import row, shortened
from agent_exec.faces.slash.feedback import cells, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.style import Style

MOST = 9
_LONGEST = 18


class Tab:
    """A folder that is open, and the name that was under the cursor when it was last shown."""

    __slots__ = ("name", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = ""

    def title(self, width: int) -> str:
        """Return what is on the tab, in so many cells."""
        return shortened(shown(os.path.basename(self.path) or self.path), width)


class TabBar(Widget):
    """One row with the tabs; there is always one at least."""

    DEFAULT_CSS = """
    TabBar {
        dock: top;
        height: 1;
        background: $panel;
        & > .tab--shown { text-style: reverse; }
        & > .tab--other { color: $foreground 70%; }
        &:ansi { background: ansi_default; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"tab--shown", "tab--other"}

    class Switched(Message):
        """Another tab is to be shown."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, path: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.tabs = [Tab(path)]
        self.number = 0

    @property
    def tab(self) -> Tab:
        """The tab that is shown."""
        return self.tabs[self.number]

    def open(self, path: str) -> bool:
        """Open another tab after the one shown, and show it; say whether there was room."""
        if len(self.tabs) >= MOST:
            return False
        self.tabs.insert(self.number + 1, Tab(path))
        self.show(self.number + 1)
        return True

    def close(self) -> bool:
        """Close the tab that is shown; say whether that was done: the last one stays."""
        if len(self.tabs) == 1:
            return False
        del self.tabs[self.number]
        self.show(min(self.number, len(self.tabs) - 1))
        return True

    def show(self, number: int) -> None:
        """Show a tab, counted round."""
        self.number = number % len(self.tabs)
        self.refresh()

    def render_line(self, y: int) -> Strip:  # noqa: ARG002
        """Draw them."""
        base = self.rich_style
        pieces: list[tuple[str, Style]] = []
        for number, text in enumerate(self._texts()):
            kind = "shown" if number == self.number else "other"
            pieces += [(text, self.get_component_rich_style(f"tab--{kind}")), (" ", base)]
        return row(pieces, self.size.width, base)

    def on_click(self, event: events.Click) -> None:
        """Show the tab that was clicked."""
        place = 0
        for number, text in enumerate(self._texts()):
            place += cells(text) + 1
            if event.x < place:
                self.post_message(self.Switched(number))
                return

    def _texts(self) -> list[str]:
        width = min(_LONGEST, max(1, self.size.width // len(self.tabs) - 5))
        return [f" {number + 1} {tab.title(width)} " for number, tab in enumerate(self.tabs)]
