"""The command line: a slash command is typed here, with candidates and history."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from agent_exec.apps.shell.background_read import Aside
from agent_exec.apps.shell.panes.candidatelist import CandidateList
from agent_exec.faces.slash.feedback import shown
from agent_exec.faces.slash.files import SlashCandidates, candidates
from agent_exec.faces.slash.line import command_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.faces.slash.history import History, Walk


class CommandLine(Input):
    """One line that begins with a slash; hidden until it is opened.

    `folder` gives the folder that paths are completed in.
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
        Binding("tab", "accept", show=False),
        Binding("shift+tab,up", "up", show=False),
        Binding("down", "down", show=False),
        Binding("ctrl+p", "older", show=False),
        Binding("ctrl+n", "newer", show=False),
        Binding("escape", "cancel", show=False),
        Binding("backspace,ctrl+h", "backspace", show=False),
    ]

    class Entered(Message):
        """A line was typed to its end."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    class Left(Message):
        """Nothing is to be typed any more."""

    class Refused(Message):
        """Something could not be put into the line."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    def __init__(
        self,
        history: "History",
        folder: "Callable[[], str]",
        listed: CandidateList,
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id, select_on_focus=False, compact=True)
        self._history = history
        self._folder = folder
        self._listed = listed
        self._walk: Walk = history.walk()
        self._walked: str | None = None
        self._listed_for: tuple[str, int] | None = None
        self._aside = Aside(self)

    def open(self, line: str = "/") -> None:
        """Begin a line."""
        self._walk = self._history.walk()
        self._walked = None
        self.display = True
        self._put(line, len(line))
        self.screen.set_focus(self)
        self._list()

    def close(self) -> None:
        """Forget the line."""
        self.display = False
        self._listed.show(SlashCandidates(0, 0))
        with self.prevent(Input.Changed):
            self.value = ""

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what may come next."""
        event.stop()
        if self.value != self._walked:
            self._walked = None
            self._list()

    async def action_submit(self) -> None:
        """Take the candidate that was chosen; or the line as it is."""
        chosen = self._listed.chosen
        if chosen is not None:
            item = self._listed.candidates.items[chosen]
            self.action_accept()
            if item.kind != "command" or item.insert.endswith(" "):
                return
        line = self.value
        self.post_message(self.Left() if line.strip() in ("", "/") else self.Entered(line))

    def action_accept(self) -> None:
        """Put the chosen candidate into the line, or the first."""
        listed = self._listed
        if self._listed_for != (self.value, self.cursor_position):
            self._list()  # after a step through the history, or in the line
        if self._listed_for == (self.value, self.cursor_position) and listed.candidates.items:
            self._put(*listed.candidates.accept(self.value, listed.chosen or 0))
            self._walked = None
            self._list()

    def action_up(self) -> None:
        """Choose the candidate above; with none chosen, the line that was typed before."""
        if self._listed.chosen is not None:
            self._listed.choose(-1)
        else:
            self.action_older()

    def action_down(self) -> None:
        """Choose the next candidate; on the way through the history, the line that was typed after."""
        if self._walked is None and self._listed.candidates.items:
            self._listed.choose(1)
        else:
            self.action_newer()

    def action_older(self) -> None:
        """Have the line that was typed before."""
        self._recall(self._walk.older(self.value))

    def action_newer(self) -> None:
        """Have the line that was typed after."""
        self._recall(self._walk.newer(self.value))

    def action_cancel(self) -> None:
        """Have the candidate left that was chosen; or else the line."""
        if self._listed.chosen is not None:
            self._list()
        else:
            self.post_message(self.Left())

    def action_backspace(self) -> None:
        """Take away what is before the cursor; the lone slash is the line itself."""
        if self.value in ("", "/"):
            self.post_message(self.Left())
        else:
            self.action_delete_left()

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.rstrip("\r\n").replace("\t", " ")
        if shown(text, len(text)) != text:
            self.post_message(self.Refused("what was pasted has control characters, or several lines"))
            return
        self.insert_text_at_cursor(text)

    def _put(self, line: str, cursor: int) -> None:
        with self.prevent(Input.Changed):
            self.value = line
        self.cursor_position = cursor

    def _recall(self, line: str) -> None:
        if line == self.value:
            return
        self._walked = line
        self._put(line, len(line))
        self._listed_for = None
        self._listed.show(SlashCandidates(0, 0))

    def _list(self) -> None:
        line, cursor, folder = self.value, self.cursor_position, self._folder()

        def take(found: SlashCandidates) -> None:
            if self.display and line == self.value:
                self._listed_for = (line, cursor)
                self._listed.show(found, _hint(line))

        if not self._aside.read(lambda: candidates(line, folder, cursor), take):
            self._listed_for = None
            self._listed.show(SlashCandidates(0, 0), "reading …")


def _hint(line: str) -> str:
    """Return what a command is for, as long as nothing comes after it."""
    name = line[1:].rstrip(" ") if line.startswith("/") else ""
    command = command_named(name)
    return "" if command is None else command.hint
