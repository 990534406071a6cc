"""The main screen: tabs, files, preview or output, the command line, the Bottom Bar."""

import os
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Static

from agent_exec.apps.shell.panes.candidatelist import CandidateList
from agent_exec.apps.shell.panes.commandline import CommandLine
from agent_exec.apps.shell.panes.filepane import FilePane
from agent_exec.apps.shell.panes.outputlines import OutputLines
from agent_exec.apps.shell.panes.outputpane import OutputPane
from agent_exec.apps.shell.panes.previewpane import PreviewPane
from agent_exec.apps.shell.panes.statusbar import StatusBar
from agent_exec.apps.shell.panes.tabbar import MOST, TabBar
from agent_exec.faces.slash.feedback import SlashFeedback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from agent_exec.faces.slash.core import SlashCore

NARROW = 100
"""With fewer columns than this, an open output view has the whole width."""

_TINY = 50
_HINTS = {
    "files": "/ command  ^O output  Tab pane  t tab  . hidden  ? help  ^Q quit",
    "output": "Esc close  / search  n N next  F follow  w width  : command  ^C cancel",
}


class MainScreen(Screen[None]):
    """Where everything begins; what is typed is handed to the app."""

    DEFAULT_CSS = """
    MainScreen {
        layers: base above;
        & #panes { height: 1fr; }
        & FilePane { width: 1fr; min-width: 20; max-width: 44; }
        & PreviewPane { width: 2fr; }
        & #output { width: 2fr; display: none; }
        & #bottom { dock: bottom; height: auto; }
        & #hint { height: 1; padding: 0 1; color: $foreground 60%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash,colon", "command", show=False),
        Binding("ctrl+o", "output", show=False, priority=True),
        Binding("escape", "close_output", show=False),
        Binding("question_mark,f1", "app.help", show=False),
    ]

    def __init__(self, core: "SlashCore", folder: str) -> None:
        super().__init__()
        self._core = core
        self.output: Literal["closed", "beside", "open"] = "closed"
        """Beside: it is seen in the place of the preview, and the keys are still the files'."""
        self._wide: bool | None = None
        self.tabs = TabBar(folder)
        self.files = FilePane(folder)
        self.preview = PreviewPane()
        self.pane = OutputPane(core.view, id="output")
        self.candidates = CandidateList()
        self.line = CommandLine(core.history, lambda: self.files.path, self.candidates)
        self.bar = StatusBar(core, folder)

    def compose(self) -> ComposeResult:
        """Return what it is made of."""
        yield self.tabs
        with Horizontal(id="panes"):
            yield self.files
            yield self.preview
            yield self.pane
        yield self.candidates
        with Vertical(id="bottom"):
            yield Static(Text(_HINTS["files"]), id="hint")
            yield self.line
            yield self.bar

    def on_mount(self) -> None:
        """Begin with the files."""
        self.set_focus(self.files)

    def on_resize(self, event: events.Resize) -> None:
        """Give each pane its room."""
        del event
        self._arrange()

    def on_status_bar_grown(self, event: StatusBar.Grown) -> None:
        """Keep the candidates above the command line."""
        self.candidates.styles.margin = (0, 0, event.height + 1, 1)

    def tell(self, text: str, status: "Literal['Success', 'Error', 'Warn', 'Info']" = "Info") -> None:
        """Show a line on the Bottom Bar."""
        self.bar.tell(SlashFeedback(text, status))

    # The command line.

    def action_command(self) -> None:
        """Open the command line."""
        self.query_one("#hint").display = False
        self.line.open()

    def on_command_line_left(self) -> None:
        """Close the command line."""
        self._close_line()

    def on_command_line_entered(self, event: CommandLine.Entered) -> None:
        """Hand on what was typed."""
        from agent_exec.apps.shell.app import Typed

        self._close_line()
        self.post_message(Typed(event.line, self.files.path))

    def on_command_line_refused(self, event: CommandLine.Refused) -> None:
        """Say what could not be pasted."""
        self.tell(f"{event.why}; nothing was pasted", "Warn")

    def _close_line(self) -> None:
        self.query_one("#hint").display = True
        self.line.close()
        self.set_focus(self.pane.lines if self.output == "open" else self.files)

    # Files and tabs.

    def on_file_pane_looked(self) -> None:
        """Show what is under the cursor."""
        self.preview.show(self.files.chosen_path)

    def on_list_pane_moved(self) -> None:
        """Show what is under the cursor, in the place of output that is merely beside."""
        self.preview.show(self.files.chosen_path)
        if self.output == "beside":
            self._show_output("closed")

    def on_list_pane_chosen(self) -> None:
        """Look at a file more closely."""
        self._show_output("closed")
        if self.preview.display:
            self.set_focus(self.preview)

    def on_file_pane_went(self, event: FilePane.Went) -> None:
        """Note where the tab is now."""
        self.tabs.tab.path = event.path
        self.tabs.refresh()
        self.bar.show_folder(event.path)

    def action_new_tab(self) -> None:
        """Open another tab on the folder under the cursor, or on this one."""
        entry = self.files.entry
        path = self.files.path
        if entry is not None and entry.kind == "directory":
            path = os.path.join(path, entry.name)
        self._leave_tab()
        if self.tabs.open(path):
            self._show_tab()
        else:
            self.tell(f"there are {MOST} tabs already; close one with x", "Warn")

    def action_close_tab(self) -> None:
        """Close the tab that is shown."""
        if self.tabs.close():
            self._show_tab()
        else:
            self.tell("the last tab stays; Ctrl+Q leaves", "Info")

    def action_next_tab(self, step: int) -> None:
        """Show the next tab."""
        self._switch(self.tabs.number + step)

    def action_show_tab(self, number: int) -> None:
        """Show a tab by its number."""
        if number <= len(self.tabs.tabs):
            self._switch(number - 1)

    def on_tab_bar_switched(self, event: TabBar.Switched) -> None:
        """Show the tab that was clicked."""
        self._switch(event.number)

    def _switch(self, number: int) -> None:
        self._leave_tab()
        self.tabs.show(number)
        self._show_tab()

    def _leave_tab(self) -> None:
        entry = self.files.entry
        self.tabs.tab.name = "" if entry is None else entry.name

    def _show_tab(self) -> None:
        tab = self.tabs.tab
        self.files.show(tab.path, tab.name)
        self.bar.show_folder(tab.path)

    # The output view.

    def action_output(self) -> None:
        """Open the output view, or close it."""
        if self.output == "open":
            self._show_output("closed")
        elif self._core.view.request is None:
            self.tell("there is no output yet; run a command with /shell", "Info")
        else:
            self._show_output("open")

    def action_close_output(self) -> None:
        """Close the output view; without one, take away what was told."""
        if self.output == "closed":
            self.bar.bar.dismiss()
            self.bar.look()
            self.set_focus(self.files)
        self._show_output("closed")

    def show_beside(self) -> None:
        """Show the output in the place of the preview, if it is not seen yet."""
        if self.output == "closed":
            self._show_output("beside")

    def on_output_pane_closed(self) -> None:
        """Close the output view."""
        self._show_output("closed")

    def on_output_pane_widened(self) -> None:
        """Give the output view the whole width, or less."""
        self._wide = not self._is_wide()
        self._arrange()

    def on_output_lines_looked(self, event: OutputLines.Looked) -> None:
        """Say what came of a search."""
        if event.told:
            self.tell(event.told, "Info" if event.found else "Warn")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Take the output view for opened once the keys are its own; say which keys there are."""
        if isinstance(event.widget, OutputLines) and self.output == "beside":
            self._show_output("open")
        output = isinstance(event.widget, OutputLines)
        self.query_one("#hint", Static).update(Text(_HINTS["output" if output else "files"]))

    def _show_output(self, how: "Literal['closed', 'beside', 'open']") -> None:
        before, self.output = self.output, how
        self._arrange()
        if self.line.display:
            return  # whoever types goes on
        if how == "open":
            self.set_focus(self.pane.lines)
        elif before == "open":
            self.set_focus(self.files)

    def _is_wide(self) -> bool:
        return self.size.width < NARROW if self._wide is None else self._wide

    def _arrange(self) -> None:
        wide = self.output == "open" and self._is_wide()
        tiny = self.size.width < _TINY
        self.pane.display = self.output != "closed" and not (tiny and self.output == "beside")
        self.preview.display = self.output == "closed" and not tiny
        self.files.display = not wide
