"""The command line: a slash command is typed here, with a list of candidates, and with history."""

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input

from agent_exec.apps.shell.background_read import BackgroundReader
from agent_exec.apps.shell.panes.pane import Drawn, Told
from agent_exec.faces.slash.feedback import cells, shown
from agent_exec.faces.slash.files import SlashCandidates, candidates
from agent_exec.faces.slash.line import command_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.faces.slash.history import History, Walk

ROWS = 8
"""How many candidates are seen at once."""

_NONE = SlashCandidates(0, 0)


class CandidateList(Drawn):
    """The candidates above the command line; Tab or Enter accepts the chosen one."""

    DEFAULT_CSS = """
    CandidateList {
        layer: above;
        dock: bottom;
        margin: 0 0 3 1;
        display: none;
        background: $panel;
        border: round $primary;
        border-title-color: $foreground;
        border-subtitle-color: $foreground 70%;
        & > .row--chosen { text-style: reverse; }
        & > .row--first { text-style: bold; }
        & > .row--folder { color: $text-primary; }
        &:ansi { border: round ansi_default; background: ansi_default; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.candidates = _NONE
        self.chosen: int | None = None

    def show(self, candidates: SlashCandidates, hint: str = "") -> None:
        """Show these, with none of them chosen; hide if there are none and no hint."""
        self.candidates = candidates
        items = candidates.items
        self.display = bool(items or hint)
        longest = max([cells(item.text) for item in items] + [cells(hint)])
        self.styles.height = min(ROWS, len(items)) + 2
        self.styles.width = min(max(longest + 6, 30), max(24, self.screen.size.width - 2))
        self.border_title = Text(hint) if hint else None
        self._choose(None)

    def move(self, step: int) -> None:
        """Choose the next candidate or the one before; before the first is none."""
        place = (-1 if self.chosen is None else self.chosen) + step
        self._choose(None if place < 0 else min(place, len(self.candidates.items) - 1))

    def render_line(self, y: int) -> Strip:
        """Draw one candidate."""
        base = style = self.rich_style
        items = self.candidates.items
        number = max(0, (self.chosen or 0) - ROWS + 1) + y
        if number >= len(items):
            return Strip.blank(self.size.width, base)
        if items[number].kind == "directory":
            style = self.style("folder")
        if number == self.chosen:
            base = style = style + self.style("chosen", partial=True)
        elif number == 0 and self.chosen is None:
            style += self.style("first", partial=True)
        return self.row((f" {items[number].text}", style), base=base)

    def _choose(self, number: int | None) -> None:
        self.chosen = number
        count = f"{len(self.candidates.items)}{'+' if self.candidates.more else ''}"
        which = "the first" if number is None else "it"
        self.border_subtitle = Text(f"{count} · Tab takes {which}") if self.candidates.items else None
        self.refresh()


class CommandLine(Input):
    """One line that begins with a slash; hidden until it is opened.

    `folder` returns the folder that paths are completed in.
    """

    DEFAULT_CSS = """
    CommandLine {
        height: 1;
        border: none;
        padding: 0 1;
        display: none;
        background: transparent;
        &:focus { border: none; background-tint: transparent; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("tab", "accept"),
        ("shift+tab,up", "up"),
        ("down", "down"),
        ("ctrl+p", "older"),
        ("ctrl+n", "newer"),
        ("escape", "cancel"),
        ("backspace,ctrl+h", "backspace"),
    ]

    class Ended(Message):
        """A line was entered, or left: then it is empty."""

        def __init__(self, line: str = "") -> None:
            super().__init__()
            self.line = line

    def __init__(self, history: "History", folder: "Callable[[], str]", listed: CandidateList) -> None:
        super().__init__(select_on_focus=False, compact=True)
        self._history = history
        self._folder = folder
        self._listed = listed
        self._walk: Walk = history.walk()
        self._walked: str | None = None
        self._listed_for: tuple[str, int] | None = None
        self._reader = BackgroundReader(self)

    def open(self) -> None:
        """Begin a line."""
        self._walk = self._history.walk()
        self._walked = None
        self.display = True
        self._put("/", 1)
        self.screen.set_focus(self)
        self._list()

    def close(self) -> None:
        """Forget the line."""
        self.display = False
        self._listed.show(_NONE)
        self._put("", 0)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what may come next."""
        event.stop()
        if self.value != self._walked:
            self._walked = None
            self._list()

    async def action_submit(self) -> None:
        """Accept the candidate that was chosen; or enter the line as it is."""
        chosen = self._listed.chosen
        if chosen is not None:
            item = self._listed.candidates.items[chosen]
            self.action_accept()
            if item.kind != "command" or item.insert.endswith(" "):
                return
        self.post_message(self.Ended("" if self.value.strip() in ("", "/") else self.value))

    def action_accept(self) -> None:
        """Put the chosen candidate into the line, or the first."""
        if self._listed_for != self._state:
            self._list()  # after a step through the history, or in the line
        listed = self._listed
        if self._listed_for == self._state and listed.candidates.items:
            self._put(*listed.candidates.accept(self.value, listed.chosen or 0))
            self._walked = None
            self._list()

    def action_up(self) -> None:
        """Choose the candidate above; with none chosen, recall the line that was typed before."""
        if self._listed.chosen is not None:
            self._listed.move(-1)
        else:
            self.action_older()

    def action_down(self) -> None:
        """Choose the next candidate; on the way through the history, recall the line that was typed after."""
        if self._walked is None and self._listed.candidates.items:
            self._listed.move(1)
        else:
            self.action_newer()

    def action_older(self) -> None:
        """Recall the line that was typed before."""
        self._recall(self._walk.older(self.value))

    def action_newer(self) -> None:
        """Recall the line that was typed after."""
        self._recall(self._walk.newer(self.value))

    def action_cancel(self) -> None:
        """Leave the chosen candidate; or else the line."""
        if self._listed.chosen is not None:
            self._list()
        else:
            self.post_message(self.Ended())

    def action_backspace(self) -> None:
        """Delete what is before the cursor; with the lone slash, the line is left."""
        if self.value in ("", "/"):
            self.post_message(self.Ended())
        else:
            self.action_delete_left()

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.rstrip("\r\n").replace("\t", " ")
        if shown(text, len(text)) == text:
            self.insert_text_at_cursor(text)
        else:
            why = "what was pasted has control characters, or several lines"
            self.post_message(Told(f"{why}; nothing was pasted", "Warn"))

    @property
    def _state(self) -> tuple[str, int]:
        return self.value, self.cursor_position

    def _put(self, line: str, cursor: int) -> None:
        with self.prevent(Input.Changed):
            self.value = line
        self.cursor_position = cursor

    def _recall(self, line: str) -> None:
        if line != self.value:
            self._walked = line
            self._put(line, len(line))
            self._listed_for = None
            self._listed.show(_NONE)

    def _list(self) -> None:
        (line, cursor), folder = self._state, self._folder()

        def take(found: SlashCandidates) -> None:
            if self.display and line == self.value:
                self._listed_for = (line, cursor)
                command = command_named(line[1:].rstrip(" "))  # no hint once its arguments are typed
                self._listed.show(found, "" if command is None else command.hint)

        if not self._reader.read(lambda: candidates(line, folder, cursor), take):
            self._listed_for = None
            self._listed.show(_NONE, "reading …")
