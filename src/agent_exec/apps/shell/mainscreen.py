"""The main screen: tabs, files, preview or output, the command line, the Bottom Bar."""

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Static

from agent_exec.apps.shell.panes.bars import MOST_TABS, StatusBar, TabBar
from agent_exec.apps.shell.panes.commandline import CandidateList, CommandLine
from agent_exec.apps.shell.panes.filepane import FilePane
from agent_exec.apps.shell.panes.outputpane import OutputLines, OutputPane
from agent_exec.apps.shell.panes.pane import Told
from agent_exec.apps.shell.panes.previewpane import PreviewPane
from agent_exec.faces.slash.feedback import SlashFeedback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from agent_exec.faces.slash.core import SlashCore
    from agent_exec.faces.slash.feedback import Status

    Output = Literal["closed", "beside", "open"]

NARROW = 100
"""With fewer columns than this, an open output view has the whole width."""

_TINY = 50
_FILE_KEYS = Text("/ command  ^O output  Tab pane  t tab  . hidden  ? help  ^Q quit")
_OUTPUT_KEYS = Text("Esc close  / search  n N next  F follow  w width  : command  ^C cancel")


class MainScreen(Screen[None]):
    """The first screen; what is typed is handed to the app."""

    DEFAULT_CSS = """
    MainScreen {
        layers: base above;
        & #panes { height: 1fr; }
        & FilePane { width: 1fr; min-width: 20; max-width: 44; }
        & PreviewPane { width: 2fr; }
        & OutputPane { width: 2fr; display: none; }
        & #bottom { dock: bottom; height: auto; }
        & #hint { height: 1; padding: 0 1; color: $foreground 60%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("slash,colon", "command"),
        Binding("ctrl+o", "output", priority=True),
        ("escape", "close_output"),
        ("question_mark,f1", "app.help"),
    ]

    def __init__(self, core: "SlashCore", folder: str) -> None:
        super().__init__()
        self._core = core
        self.output: Output = "closed"
        """Beside: it is in the place of the preview, and the keys still belong to the files."""
        self._wide: bool | None = None
        self.tabs = TabBar(folder)
        self.files = FilePane(folder)
        self.preview = PreviewPane()
        self.pane = OutputPane(core.view)
        self.candidates = CandidateList()
        self.line = CommandLine(core.history, lambda: self.files.path, self.candidates)
        self.bar = StatusBar(core, folder)
        self._hint = Static(_FILE_KEYS, id="hint")

    def compose(self) -> ComposeResult:
        """Return its parts."""
        yield self.tabs
        with Horizontal(id="panes"):
            yield self.files
            yield self.preview
            yield self.pane
        yield self.candidates
        with Vertical(id="bottom"):
            yield self._hint
            yield self.line
            yield self.bar

    def on_mount(self) -> None:
        """Begin with the files."""
        self.set_focus(self.files)

    def on_resize(self) -> None:
        """Give each pane its room."""
        self._arrange()

    def on_status_bar_grown(self, event: StatusBar.Grown) -> None:
        """Keep the candidates above the command line."""
        self.candidates.styles.margin = (0, 0, event.height + 1, 1)

    def tell(self, text: str, status: "Status" = "Info") -> None:
        """Show a line on the Bottom Bar."""
        self.bar.tell(SlashFeedback(text, status))

    # The command line.

    def action_command(self) -> None:
        """Open the command line."""
        self._hint.display = False
        self.line.open()

    def on_command_line_ended(self) -> None:
        """Close the command line; what was typed is for the app."""
        self._hint.display = True
        self.line.close()
        self.set_focus(self.pane.lines if self.output == "open" else self.files)

    def on_told(self, event: Told) -> None:
        """Show a line on the Bottom Bar."""
        self.tell(event.text, event.status)

    # Files and tabs.

    def on_file_pane_looked(self) -> None:
        """Show what is under the cursor, and which folder the tab shows."""
        self.preview.show(self.files.chosen_path)
        self.tabs.tab.path = self.files.path
        self.tabs.refresh()
        self.bar.show_folder(self.files.path)

    def on_list_pane_moved(self) -> None:
        """Show what is under the cursor, in the place of output that is merely beside."""
        self.preview.show(self.files.chosen_path)
        if self.output == "beside":
            self._show_output("closed")

    def on_list_pane_chosen(self) -> None:
        """Go to the preview of a file."""
        self._show_output("closed")
        if self.preview.display:
            self.set_focus(self.preview)

    def action_new_tab(self) -> None:
        """Open another tab on the folder under the cursor, or on this one."""
        path = self.files.folder_chosen or self.files.path
        self.tabs.tab.name = self.files.name_chosen
        if self.tabs.open(path):
            self._show_tab()
        else:
            self.tell(f"there are {MOST_TABS} tabs already; close one with x", "Warn")

    def action_close_tab(self) -> None:
        """Close the tab that is shown."""
        if self.tabs.close():
            self._show_tab()
        else:
            self.tell("the last tab stays; Ctrl+Q leaves")

    def action_next_tab(self, step: int) -> None:
        """Show the next tab."""
        self._switch(self.tabs.number + step)

    def action_show_tab(self, number: int) -> None:
        """Show a tab by its number."""
        if number <= len(self.tabs.tabs):
            self._switch(number - 1)

    def _switch(self, number: int) -> None:
        self.tabs.tab.name = self.files.name_chosen
        self.tabs.show(number)
        self._show_tab()

    def _show_tab(self) -> None:
        self.files.show(self.tabs.tab.path, self.tabs.tab.name)

    # The output view.

    def action_output(self) -> None:
        """Open the output view, or close it."""
        if self.output == "open":
            self._show_output("closed")
        elif self._core.view.request is None:
            self.tell("there is no output yet; run a command with /shell")
        else:
            self._show_output("open")

    def action_close_output(self) -> None:
        """Close the output view; if it is closed, dismiss the feedback."""
        if self.output == "closed":
            self.bar.bar.dismiss()
            self.bar.look()
            self.set_focus(self.files)
        self._show_output("closed")

    def show_beside(self) -> None:
        """Show the output in the place of the preview, if it is not seen yet."""
        if self.output == "closed":
            self._show_output("beside")

    def action_widen(self) -> None:
        """Give the output view the whole width, or less."""
        self._wide = not self._is_wide()
        self._arrange()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Open the output view once the keys are its own; show which keys there are."""
        is_output = isinstance(event.widget, OutputLines)
        if is_output and self.output == "beside":
            self._show_output("open")
        self._hint.update(_OUTPUT_KEYS if is_output else _FILE_KEYS)

    def _show_output(self, how: "Output") -> None:
        before, self.output = self.output, how
        self._arrange()
        if self.line.display:
            return  # a line is being typed
        if how == "open":
            self.set_focus(self.pane.lines)
        elif before == "open":
            self.set_focus(self.files)

    def _is_wide(self) -> bool:
        return self.size.width < NARROW if self._wide is None else self._wide

    def _arrange(self) -> None:
        tiny = self.size.width < _TINY
        self.pane.display = self.output == "open" or (self.output == "beside" and not tiny)
        self.preview.display = self.output == "closed" and not tiny
        self.files.display = not (self.output == "open" and self._is_wide())
