"""The lines of a command's output on the screen: which are looked at, and what is marked in them."""

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_exec.apps.shell.panes.rows import row
from agent_exec.faces.slash.view import Found, OutputLine, OutputSnapshot, Scroll, Search, ShellOutputView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.style import Style

FRAMES = 25
"""How many times a second it looks for what is new."""

_STDERR, _STDOUT = "E ", "  "
"""What marks the streams where there is no colour."""


class OutputLines(Widget, can_focus=True):
    """Draws the lines in sight, and only when they have changed; what comes in is drawn in the next frame."""

    DEFAULT_CSS = """
    OutputLines {
        & > .output--stderr { color: $text-error; }
        & > .output--quiet { color: $foreground 60%; }
        & > .output--good { color: $text-success; }
        & > .output--found { text-style: reverse; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "output--stderr",
        "output--quiet",
        "output--good",
        "output--found",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j,enter", "move(1)", show=False),
        Binding("pageup,b", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home,g", "home", show=False),
        Binding("end,G", "end", show=False),
        Binding("left", "sideways(-1)", show=False),
        Binding("right", "sideways(1)", show=False),
        Binding("F,f", "follow", show=False),
        Binding("n", "again(False)", show=False),
        Binding("N", "again(True)", show=False),
    ]

    class Looked(Message):
        """Something was looked for; `told` says what came of it."""

        def __init__(self, told: str, *, found: bool) -> None:
            super().__init__()
            self.told = told
            self.found = found

    def __init__(self, view: ShellOutputView, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.view = view
        self.scroll = Scroll(view)
        self.search: Search | None = None
        self.frames = 0
        """How many times it has been drawn."""
        self._window = OutputSnapshot(-1, -1, 0, 0, ())
        self._drawn: tuple[object, ...] = ()

    @property
    def window(self) -> OutputSnapshot:
        """The lines that are shown."""
        return self._window

    def on_mount(self) -> None:
        """Begin to look for what is new."""
        self.set_interval(1 / FRAMES, self.look)

    def look(self) -> None:
        """Draw again if anything is new; what cannot be seen is not drawn."""
        if self.display and self.region and self.screen.is_current:
            self.draw()

    def draw(self) -> None:
        """Take the lines that are in sight, and have them drawn if they are others than before."""
        scroll = self.scroll
        self._sized()
        state = (self.view.version, scroll.top, scroll.column, scroll.follow, self.size, self.search)
        if state == self._drawn:
            return
        self._drawn = state
        self._window = scroll.window()
        self.frames += 1
        self._place()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one line: of the head, of the output, or of the foot."""
        base = self.rich_style
        width = self.size.width
        header = self._header()
        if y < len(header):
            return row([(header[y], self.get_component_rich_style("output--quiet"))], width, base)
        if y == self.size.height - 1:
            return row([(self.view.footer, self._foot())], width, base)
        place = y - len(header)
        if place >= len(self._window.lines):
            return Strip.blank(width, base)
        return row(self._pieces(self._window.lines[place], base), width, base, self.scroll.column)

    def look_for(self, text: str) -> None:
        """Look for a text from the first line in sight on."""
        if text:
            self.search = Search(text)
            self.action_again(False)

    def action_again(self, opposite: bool) -> None:
        """Look for the next one, or for the one before."""
        search = self.search
        if search is None:
            self.post_message(self.Looked("nothing is looked for; press / and type some text", found=False))
            return
        self._found(search, search.find(self.view, self.scroll.top, backwards=opposite))

    def action_move(self, lines: int) -> None:
        """Go down by so many lines."""
        self.scroll.move(lines)
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
        if self.scroll.follow:
            self.scroll.move(0)
        else:
            self.scroll.end()
        self.draw()

    def action_sideways(self, steps: int) -> None:
        """Go right by so many steps."""
        self.scroll.sideways(steps)
        self.draw()

    def on_mouse_scroll_down(self) -> None:
        """Go down."""
        self.action_move(3)

    def on_mouse_scroll_up(self) -> None:
        """Go up."""
        self.action_move(-3)

    def on_resize(self) -> None:
        """Take as many lines as there is room for."""
        self.draw()

    def _found(self, search: Search, found: Found | None) -> None:
        if found is not None:
            self.scroll.show(found.number)
            self._reach(found.start, found.end)
            told = "looked through from the other end" if found.wrapped else ""
        else:
            told = f"not found: {search.text}"
        self.post_message(self.Looked(told, found=found is not None))
        self._drawn = ()
        self.draw()

    def _reach(self, start: int, end: int) -> None:
        """Go sideways until what was found can be seen."""
        width = max(8, self.size.width - 2)
        if end <= width:
            self.scroll.column = 0
        elif not self.scroll.column <= start < end <= self.scroll.column + width:
            self.scroll.column = max(0, start - width // 2)

    def _header(self) -> "tuple[str, ...]":
        height = self.size.height
        return self.view.header[: 2 if height >= 8 else 1 if height >= 4 else 0]

    def _foot(self) -> "Style":
        result = self.view.result
        if result is None:
            return self.get_component_rich_style("output--quiet")
        good = result.feedback.status == "Success"
        return self.get_component_rich_style("output--good" if good else "output--stderr")

    def _sized(self) -> None:
        self.scroll.height = max(1, self.size.height - len(self._header()) - 1)

    def _pieces(self, line: OutputLine, base: "Style") -> "list[tuple[str, Style]]":
        style = self.get_component_rich_style("output--stderr") if line.stream == "stderr" else base
        pieces: list[tuple[str, Style]] = []
        if self.app.no_color:
            pieces.append((_STDERR if line.stream == "stderr" else _STDOUT, style))
        search = self.search
        place = 0
        for start, end in search.spans(line.text) if search is not None else ():
            mark = self.get_component_rich_style("output--found", partial=True)
            pieces += [(line.text[place:start], style), (line.text[start:end], style + mark)]
            place = end
        return [*pieces, (line.text[place:], style)]

    def _place(self) -> None:
        """Tell where we are on the border of the pane around us."""
        window = self._window
        total = window.last - window.first
        told = []
        if total:
            top = window.lines[0].number if window.lines else window.first
            told.append(f"{top + 1}-{top + len(window.lines)} of {window.last}")
        if window.first:
            told.append(f"first {window.first} dropped")
        if self.scroll.column:
            told.append(f"column {self.scroll.column + 1}")
        told.append("follows" if self.scroll.follow else "stays")
        parent = self.parent
        if isinstance(parent, Widget):
            parent.border_subtitle = Text(" · ".join(told))
