"""The output view: the output of a command, to look through as with `less`."""

from typing import ClassVar

from rich.text import Text
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.strip import Strip
from textual.widgets import Input

from agent_exec.apps.shell.panes.pane import Moving, Told
from agent_exec.faces.slash.view import OutputLine, OutputSnapshot, Scroll, Search, ShellOutputView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.style import Style

FRAMES = 25
"""How many times a second the view is checked for changes."""


class OutputLines(Moving):
    """Draws the lines in sight, and only when they have changed; what comes in is drawn in the next frame."""

    DEFAULT_CSS = """
    OutputLines {
        & > .row--found { text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("k", "move(-1)"),
        ("j,enter", "move(1)"),
        ("b", "page(-1)"),
        ("space", "page(1)"),
        ("g", "home"),
        ("G", "end"),
        ("left", "sideways(-1)"),
        ("right", "sideways(1)"),
        ("F,f", "follow"),
        ("n", "again(False)"),
        ("N", "again(True)"),
    ]

    def __init__(self, view: ShellOutputView) -> None:
        super().__init__()
        self.view = view
        self.scroll = Scroll(view)
        self.search: Search | None = None
        self.frames = 0
        """How many times it has been drawn."""
        self.window = OutputSnapshot(-1, -1, 0, 0, ())
        """The lines that are shown."""
        self._drawn: object = None

    def on_mount(self) -> None:
        """Look for changes from now on."""
        self.set_interval(1 / FRAMES, self._look)

    def _look(self) -> None:
        """Draw again if anything has changed and can be seen."""
        if self.display and self.region and self.screen.is_current:
            self.draw()

    def draw(self) -> None:
        """Read the lines that are in sight, and draw them if they have changed."""
        scroll = self.scroll
        scroll.height = max(1, self.size.height - len(self._header()) - 1)
        state = (self.view.version, scroll.top, scroll.column, scroll.follow, self.size, self.search)
        if state != self._drawn:
            self._drawn = state
            self.window = scroll.window()
            self.frames += 1
            self._show_place()
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one line: of the header, of the output, or the footer."""
        header = self._header()
        place = y - len(header)
        if place < 0:
            return self.row((header[y], self.style("quiet")))
        if y == self.size.height - 1:
            return self.row((self.view.footer, self.style(self._ending())))
        if place >= len(self.window.lines):
            return Strip.blank(self.size.width, self.rich_style)
        return self.row(*self._pieces(self.window.lines[place]), column=self.scroll.column)

    def _ending(self) -> str:
        if self.view.result is None:
            return "quiet"
        return "good" if self.view.result.feedback.status == "Success" else "bad"

    def look_for(self, text: str) -> None:
        """Search for a text from the first line in sight on."""
        if text:
            self.search = Search(text)
            self.action_again(False)

    def action_again(self, backwards: bool) -> None:
        """Search for the next one, or for the one before."""
        search = self.search
        if search is None:
            self.post_message(Told("nothing is looked for; press / and type some text", "Warn"))
            return
        found = search.find(self.view, self.scroll.top, backwards=backwards)
        if found is None:
            self.post_message(Told(f"not found: {search.text}", "Warn"))
        else:
            self.scroll.show(found.number)
            self._reach(found.start, found.end)
            if found.wrapped:
                self.post_message(Told("looked through from the other end", "Info"))
        self.draw()

    def action_move(self, rows: int) -> None:
        """Go down by so many lines."""
        self.scroll.move(rows)
        self.draw()

    def action_page(self, pages: int) -> None:
        """Go down by so many pages."""
        self.scroll.page(pages)
        self.draw()

    def action_home(self) -> None:
        """Go to the first line that is kept."""
        self.scroll.home()
        self.draw()

    def action_end(self) -> None:
        """Go to the last line, and follow it."""
        self.scroll.end()
        self.draw()

    def action_follow(self) -> None:
        """Follow the last line, or stay."""
        self.scroll.follow = not self.scroll.follow
        self.draw()

    def action_sideways(self, steps: int) -> None:
        """Go right by so many steps."""
        self.scroll.sideways(steps)
        self.draw()

    def on_resize(self) -> None:
        """Read as many lines as there is room for."""
        self.draw()

    def _reach(self, start: int, end: int) -> None:
        """Scroll sideways until what was found can be seen."""
        width = max(8, self.size.width - 2)
        if end <= width:
            self.scroll.column = 0
        elif not self.scroll.column <= start < end <= self.scroll.column + width:
            self.scroll.column = max(0, start - width // 2)

    def _header(self) -> "tuple[str, ...]":
        height = self.size.height
        return self.view.header[: 2 if height >= 8 else 1 if height >= 4 else 0]

    def _pieces(self, line: OutputLine) -> "list[tuple[str, Style]]":
        is_error = line.stream == "stderr"
        style = self.style("bad") if is_error else self.rich_style
        pieces: list[tuple[str, Style]] = []
        if self.app.no_color:
            pieces.append(("E " if is_error else "  ", style))
        place = 0
        for start, end in self.search.spans(line.text) if self.search is not None else ():
            found = style + self.style("found", partial=True)
            pieces += [(line.text[place:start], style), (line.text[start:end], found)]
            place = end
        return [*pieces, (line.text[place:], style)]

    def _show_place(self) -> None:
        """Write on the border of the pane which lines are in sight."""
        window = self.window
        parts = []
        if window.last > window.first:
            top = window.lines[0].number if window.lines else window.first
            parts.append(f"{top + 1}-{top + len(window.lines)} of {window.last}")
        if window.first:
            parts.append(f"first {window.first} dropped")
        if self.scroll.column:
            parts.append(f"column {self.scroll.column + 1}")
        parts.append("follows" if self.scroll.follow else "stays")
        assert isinstance(self.parent, OutputPane)
        self.parent.border_subtitle = Text(" · ".join(parts))


class OutputPane(Vertical):
    """The lines with a border, and a line to type a search."""

    DEFAULT_CSS = """
    OutputPane {
        & > OutputLines { height: 1fr; }
        & > Input { height: 1; border: none; padding: 0; display: none; background: transparent; }
    }
    """
    DEFAULT_CLASSES = "pane"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("slash", "find"),
        ("escape", "end_search"),
        ("q", "screen.close_output"),
        ("w", "screen.widen"),
    ]

    def __init__(self, view: ShellOutputView, title: str = "shell output") -> None:
        super().__init__()
        self.lines = OutputLines(view)
        self.border_title = Text(title)
        self._search_line = Input(placeholder="look for text", select_on_focus=False, compact=True)

    def compose(self) -> ComposeResult:
        """Return its parts."""
        yield self.lines
        yield self._search_line

    def action_find(self) -> None:
        """Open the search line."""
        self._search_line.value = ""
        self._search_line.display = True
        self.screen.set_focus(self._search_line)

    def action_end_search(self) -> None:
        """Leave the search line; if it has not the focus, the key is for the screen."""
        if not self._search_line.has_focus:
            raise SkipAction
        self.screen.set_focus(self.lines)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search for what was typed."""
        event.stop()
        self.screen.set_focus(self.lines)
        self.lines.call_later(self.lines.look_for, event.value)  # its messages are its own, and come through

    def on_descendant_blur(self) -> None:
        """Hide the search line as soon as it is left."""
        self._search_line.display = False
