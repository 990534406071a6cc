"""The bars: the tabs above, and the Bottom Bar with feedback, the folder, and what runs."""

import os
from time import monotonic

from rich.style import Style
from textual.message import Message
from textual.strip import Strip

from agent_exec.apps.shell.panes.pane import Drawn, homely, shortened, wrapped
from agent_exec.faces.slash.feedback import BottomBar, SlashFeedback, cells, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.slash.core import SlashCore

MOST_TABS = 9
ICONS = {"Success": "✓", "Error": "✗", "Warn": "!", "Info": "·"}
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_LONGEST_TITLE = 18
_TICK = 0.1
_ROWS = 3
_SUMMARY = "shell: exit="


class Tab:
    """A folder that is open, and the name that was under the cursor when it was last shown."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = ""


class TabBar(Drawn):
    """One row with the tabs; there is always one at least."""

    DEFAULT_CSS = """
    TabBar {
        dock: top;
        height: 1;
        background: $panel;
        & > .row--tab { text-style: reverse; }
        & > .row--other { color: $foreground 70%; }
        &:ansi { background: ansi_default; }
    }
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self.tabs = [Tab(path)]
        self.number = 0

    @property
    def tab(self) -> Tab:
        """The tab that is shown."""
        return self.tabs[self.number]

    def open(self, path: str) -> bool:
        """Open another tab after the one shown, and show it; False if there are too many."""
        if len(self.tabs) >= MOST_TABS:
            return False
        self.tabs.insert(self.number + 1, Tab(path))
        self.show(self.number + 1)
        return True

    def close(self) -> bool:
        """Close the tab that is shown; False if it is the last one, which stays."""
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
        """Draw the tabs."""
        pieces: list[tuple[str, Style]] = []
        for number, text in enumerate(self._texts()):
            click = Style(meta={"@click": f"screen.show_tab({number + 1})"})
            style = self.style("tab" if number == self.number else "other") + click
            pieces += [(text, style), (" ", self.rich_style)]
        return self.row(*pieces)

    def _texts(self) -> list[str]:
        width = min(_LONGEST_TITLE, max(1, self.size.width // len(self.tabs) - 5))
        titles = (shown(os.path.basename(tab.path) or tab.path) for tab in self.tabs)
        return [f" {number} {shortened(title, width)} " for number, title in enumerate(titles, 1)]


class StatusBar(Drawn):
    """The feedback with its icon; below it the working folder, the permission, the queue and the clock.

    Bad news are shown whole, on up to three rows; how a command ended is one row, and the rest its output.
    """

    DEFAULT_CSS = """
    StatusBar {
        height: 2;
        background: $panel;
        & > .row--success { color: $text-success; }
        & > .row--error { color: $text-error; text-style: bold; }
        & > .row--warn { color: $text-warning; text-style: bold; }
        & > .row--info { color: $foreground; }
        & > .row--quiet { color: $foreground 70%; }
        &:ansi { background: ansi_default; }
    }
    """

    class Grown(Message):
        """The height has changed, in rows."""

        def __init__(self, height: int) -> None:
            super().__init__()
            self.height = height

    def __init__(self, core: "SlashCore", folder: str) -> None:
        super().__init__()
        self.bar = BottomBar()
        self.folder = folder
        self._core = core
        self._drawn: object = None

    def on_mount(self) -> None:
        """Look for changes from now on."""
        self.set_interval(_TICK, self.look)

    def tell(self, feedback: SlashFeedback) -> None:
        """Show this now."""
        self.bar.tell(feedback, monotonic())
        self.look()

    def show_folder(self, folder: str) -> None:
        """Show the folder in which commands would run."""
        self.folder = folder
        self.look()

    def look(self) -> None:
        """Draw again if anything has changed."""
        state = (self.feedback, self.running, self.folder, self.line, self.size)
        if state == self._drawn:
            return
        self._drawn = state
        height = len(self._rows()) + 1
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
            self.post_message(self.Grown(height))
        self.refresh()

    def on_resize(self) -> None:
        """Take as many rows as the feedback needs."""
        self.look()

    @property
    def feedback(self) -> SlashFeedback | None:
        """The feedback that is shown."""
        return self.bar.shown(monotonic())

    @property
    def line(self) -> str:
        """The last row, without the folder."""
        parts = ["shell on" if self._core.permission.allowed else "shell off"]
        if waiting := len(self._core.waiting):
            parts.append(f"{waiting} queued")
        running = self._core.running
        if running is not None:
            turn = SPINNER[int(monotonic() / _TICK) % len(SPINNER)]
            parts.append(f"{turn} {running.elapsed:.1f}s")
        return " │ ".join(parts)

    @property
    def running(self) -> str:
        """The command that runs, and where if that is another folder."""
        running = self._core.running
        if running is None:
            return ""
        request = running.request
        place = "" if request.working_dir == self.folder else f" in {homely(request.working_dir)}"
        return f"shell: running: {shown(request.line, 200)}{place}"

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        rows = self._rows()
        if y < len(rows):
            feedback = self.feedback
            status = "info" if feedback is None else feedback.status.lower()
            return self.row((f" {rows[y]}", self.style(status)))
        line = self.line
        folder = shortened(homely(self.folder), self.size.width - cells(line) - 5, front=True)
        return self.row((f" {folder} │ {line}", self.style("quiet")))

    def _rows(self) -> list[str]:
        """Return the rows of the feedback; without any, what runs."""
        feedback = self.feedback
        width = max(2, self.size.width - 2)
        if feedback is None:
            return [shortened(self.running, width)]
        rows = 1 if feedback.ttl is not None or feedback.text.startswith(_SUMMARY) else _ROWS
        return wrapped(f"{ICONS[feedback.status]} {feedback.text}", width, rows)
