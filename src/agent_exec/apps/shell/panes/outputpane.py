"""The output view: the output of the latest command, to be looked through as with `less`."""

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from agent_exec.apps.shell.panes.outputlines import OutputLines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.slash.view import ShellOutputView


class SearchLine(Input):
    """Where what is looked for is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", show=False)]

    class GivenUp(Message):
        """Nothing is to be looked for."""

    def action_give_up(self) -> None:
        """Look for nothing."""
        self.post_message(self.GivenUp())

    def on_blur(self) -> None:
        """Look for nothing: somebody went elsewhere."""
        self.post_message(self.GivenUp())


class OutputPane(Vertical):
    """The lines with a border, and a line to type what is looked for."""

    DEFAULT_CSS = """
    OutputPane {
        border: round $foreground 30%;
        border-title-color: $foreground;
        border-subtitle-color: $foreground 70%;
        & > OutputLines { height: 1fr; }
        & > SearchLine { height: 1; border: none; padding: 0; display: none; background: transparent; }
        &:focus-within { border: round $primary; }
        &:ansi { border: round ansi_default; }
        &:ansi:focus-within { border: heavy ansi_default; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", show=False),
        Binding("escape,q", "close", show=False),
        Binding("w", "wide", show=False),
    ]

    class Closed(Message):
        """Somebody has seen enough."""

    class Widened(Message):
        """It is to have more room, or less."""

    def __init__(
        self,
        view: "ShellOutputView",
        *,
        title: str = "shell output",
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self.lines = OutputLines(view)
        self.border_title = Text(title)

    def compose(self) -> ComposeResult:
        """Return what it is made of."""
        yield self.lines
        yield SearchLine(placeholder="look for text", select_on_focus=False, compact=True)

    def action_find(self) -> None:
        """Have something typed that is looked for."""
        line = self.query_one(SearchLine)
        line.value = ""
        line.display = True
        self.screen.set_focus(line)

    def action_close(self) -> None:
        """Have the view closed."""
        self.post_message(self.Closed())

    def action_wide(self) -> None:
        """Have the view made wider, or narrower."""
        self.post_message(self.Widened())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Look for what was typed."""
        event.stop()
        self._end_search()
        self.lines.call_later(self.lines.look_for, event.value)  # its messages are its own, and come through

    def on_search_line_given_up(self, event: SearchLine.GivenUp) -> None:
        """Go back to the lines."""
        event.stop()
        self._end_search()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Hide the search line as soon as it is left."""
        if isinstance(event.widget, SearchLine):
            event.widget.display = False

    def _end_search(self) -> None:
        line = self.query_one(SearchLine)
        if line.has_focus:
            self.screen.set_focus(self.lines)
        line.display = False
