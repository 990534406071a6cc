"""A page of text over the screen: the help, and what is to be said about sessions."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from agent_exec.faces.slash.line import COMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.slash.permission import ShellPermission


class TextScreen(ModalScreen[None]):
    """Shows a text until it has been read."""

    DEFAULT_CSS = """
    TextScreen {
        align: center middle;
        & > VerticalScroll {
            width: 90%;
            max-width: 84;
            height: auto;
            max-height: 90%;
            background: $panel;
            border: round $primary;
            border-title-color: $foreground;
            border-subtitle-color: $foreground 70%;
            padding: 0 1;
        }
        &:ansi > VerticalScroll { background: ansi_default; border: heavy ansi_default; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "dismiss", show=False),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """Return what it is made of."""
        with VerticalScroll() as box:
            box.border_title = Text(self._title)
            box.border_subtitle = Text("Esc closes")
            yield Static(Text(self._text))


KEYS = (
    (
        "files",
        (
            ("↑ ↓ PgUp PgDn Home End", "move"),
            ("Enter →", "walk into a folder"),
            ("Backspace ←", "walk to the folder above"),
            (". or h", "show hidden names, or not"),
            ("r", "look again"),
            ("t / x", "open a tab here / close this tab"),
            ("1-9 [ ]", "show another tab"),
            ("Tab", "go to the other pane"),
        ),
    ),
    (
        "command line",
        (
            ("/ or :", "open it"),
            ("Tab", "take the first candidate, or the one chosen with ↓ ↑"),
            ("Ctrl+P Ctrl+N, ↑", "lines typed before"),
            ("Enter", "do it"),
            ("Esc", "leave it"),
        ),
    ),
    (
        "output",
        (
            ("Ctrl+O", "open it, and close it"),
            ("Esc q", "close it"),
            ("↑ ↓ PgUp PgDn Home End", "move"),
            ("← →", "move sideways"),
            ("/ n N", "search, next, previous"),
            ("F", "follow the end, or stay"),
            ("w", "whole width, or beside the files"),
        ),
    ),
    (
        "everywhere",
        (
            ("Ctrl+C", "end what runs; again: by force"),
            ("Ctrl+Q", "leave; asks if something runs"),
            ("F2", "light or dark"),
            ("?", "this help"),
        ),
    ),
)
_KEYS = 26

SESSIONS = """\
A session is a command that an agent keeps open, such as a shell or a debugger it types into. \
It lives inside the program that opened it: the server started by `agent-exec mcp`, or a program \
that uses `agent_exec.open_tools()`. It has no port and no file that others could open, so no \
other program, and this one neither, can list or enter it.

What can be done:
  - ask the agent: its tool list_sessions shows them, read_output their screens
  - see what a server runs: `ps --forest`, below `agent-exec mcp`
  - have commands that anyone can watch: `agent-exec run` makes jobs, /jobs shows them"""


def help_text(permission: "ShellPermission") -> str:
    """Return the help: the commands, the keys, and whether commands may run."""
    lines = []
    for command in COMMANDS:
        name = f"/{command.name} {command.arguments}".rstrip()
        lines.append(f"{name:<{_KEYS}}{command.description}")
    for title, keys in KEYS:
        lines += ["", title]
        lines += [f"  {key:<{_KEYS - 2}}{what}" for key, what in keys]
    lines += ["", f"Shell commands are {'on' if permission.allowed else 'off'}: {permission.reason}."]
    lines.append("A command is one program with its arguments: no pipes, no redirections, no variables, and")
    lines.append("no paths that lead out of its folder.")
    return "\n".join(lines)
