"""The Bottom Bar: what was told last, and below it where we are and what runs."""

import os
from time import monotonic
from typing import ClassVar

from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_exec.apps.shell.panes.rows import homely, row, shortened, shortened_front, wrapped
from agent_exec.faces.slash.feedback import BottomBar, SlashFeedback, cells, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.slash.core import SlashCore

ICONS = {"Success": "✓", "Error": "✗", "Warn": "!", "Info": "·"}
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TICK = 0.1
_ROWS = 3
_SUMMARY = "shell: exit="


class StatusBar(Widget):
    """The feedback with its icon; below it the working folder, the permission, the queue and the clock.

    Bad news are shown whole, on up to three rows; how a command ended is one row, and the rest its output.
    """

    DEFAULT_CSS = """
    StatusBar {
        height: 2;
        background: $panel;
        & > .bar--success { color: $text-success; }
        & > .bar--error { color: $text-error; text-style: bold; }
        & > .bar--warn { color: $text-warning; text-style: bold; }
        & > .bar--info { color: $foreground; }
        & > .bar--quiet { color: $foreground 70%; }
        &:ansi { background: ansi_default; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "bar--success",
        "bar--error",
        "bar--warn",
        "bar--info",
        "bar--quiet",
    }

    class Grown(Message):
        """It has another height, in rows."""

        def __init__(self, height: int) -> None:
            super().__init__()
            self.height = height

    def __init__(self, core: "SlashCore", folder: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.bar = BottomBar()
        self.folder = folder
        self._core = core
        self._drawn: object = None

    def on_mount(self) -> None:
        """Begin to look for what is new."""
        self.set_interval(_TICK, self.look)

    def tell(self, feedback: SlashFeedback) -> None:
        """Show this now."""
        self.bar.tell(feedback, monotonic())
        self.look()

    def show_folder(self, folder: str) -> None:
        """Say where commands would run."""
        self.folder = folder
        self.look()

    def look(self) -> None:
        """Draw again if anything is new."""
        state = (self.feedback, self.running, self.folder, self.line)
        if state != self._drawn:
            self._drawn = state
            height = len(self._told()) + 1
            if self.styles.height is None or self.styles.height.value != height:
                self.styles.height = height
                self.post_message(self.Grown(height))
            self.refresh()

    def on_resize(self) -> None:
        """Have as many rows as it takes."""
        self._drawn = None
        self.look()

    @property
    def feedback(self) -> SlashFeedback | None:
        """What is shown of what was told."""
        return self.bar.shown(monotonic())

    @property
    def line(self) -> str:
        """The second row, without the folder."""
        told = ["shell on" if self._core.permission.allowed else "shell off"]
        if waiting := len(self._core.waiting):
            told.append(f"{waiting} queued")
        running = self._core.running
        if running is not None:
            turn = SPINNER[int(monotonic() / _TICK) % len(SPINNER)]
            told.append(f"{turn} {running.elapsed:.1f}s")
        return " │ ".join(told)

    @property
    def running(self) -> str:
        """The command that runs, and where if that is elsewhere than here."""
        running = self._core.running
        if running is None:
            return ""
        request = running.request
        place = "" if request.working_dir == self.folder else f" in {self._short(request.working_dir)}"
        return f"shell: running: {shown(request.line, 200)}{place}"

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        base = self.rich_style
        width = self.size.width
        told = self._told()
        if y < len(told):
            feedback = self.feedback
            status = "info" if feedback is None else feedback.status.lower()
            return row([(f" {told[y]}", self.get_component_rich_style(f"bar--{status}"))], width, base)
        line = self.line
        room = width - cells(line) - 5
        folder = shortened_front(self._short(self.folder), room)
        quiet = self.get_component_rich_style("bar--quiet")
        return row([(f" {folder} │ {line}", quiet)], width, base)

    def _told(self) -> list[str]:
        """Return the rows of what was told; of nothing, what runs."""
        feedback = self.feedback
        width = max(2, self.size.width - 2)
        if feedback is None:
            return [shortened(self.running, width)]
        rows = 1 if feedback.ttl is not None or feedback.text.startswith(_SUMMARY) else _ROWS
        return wrapped(f"{ICONS[feedback.status]} {feedback.text}", width, rows)

    def _short(self, path: str) -> str:
        return homely(shown(path), os.path.expanduser("~"))
