"""Dialogs over the screen: a question with a few answers, whether a command may run, and a page of text."""

from math import inf
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from agent_exec.faces.slash.feedback import shown
from agent_exec.faces.slash.line import COMMANDS, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.faces.slash.permission import ShellPermission
    from agent_exec.policy.rule import Rule
    from agent_exec.requests.gate import Request


class Boxed(ModalScreen[str]):
    """A box in the middle of the screen."""

    DEFAULT_CSS = """
    Boxed {
        align: center middle;
        & > .box {
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
        &:ansi > .box { background: ansi_default; border: heavy ansi_default; }
    }
    """


class Dialog(Boxed):
    """A question; its result is the name of the answer. Esc, and leaving, is the last of them."""

    DEFAULT_CSS = """
    Dialog {
        & > .box { max-width: 76; border: round $warning; border-title-color: $text-warning; }
        & VerticalScroll { height: auto; max-height: 12; margin: 0 0 1 0; }
        & Horizontal { height: auto; align: center middle; }
        & Button { min-width: 8; height: 1; border: none; margin: 0 1; padding: 0 1; }
        & Button:focus { text-style: reverse; border: none; }
        &:ansi Button { background: ansi_default; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "answer"),
        ("left", "app.focus_previous"),
        ("right", "app.focus_next"),
        ("up,k", "scroll(-1)"),
        ("down,j", "scroll(1)"),
    ]

    PATIENCE: ClassVar[float] = 0.0
    """For how many seconds after it is shown, and after any key meanwhile, only the last answer counts."""

    def __init__(self, title: str, lines: "Sequence[str]", answers: "Sequence[tuple[str, str]]") -> None:
        """Ask: each answer is its name and its label; the first letter is its key."""
        super().__init__()
        self._title = title
        self._lines = lines
        self._answers = answers
        self._ready_at = inf if self.PATIENCE else 0.0

    def compose(self) -> ComposeResult:
        """Return its parts."""
        with Vertical(classes="box") as box:
            box.border_title = Text(self._title)
            with VerticalScroll(can_focus=False):
                yield Static(Text("\n".join(self._lines)))
            with Horizontal():
                for name, label in self._answers:
                    yield Button(Text(label), id=f"answer-{name}", compact=True)

    @property
    def ready(self) -> bool:
        """True if an answer counts: one that was typed before the question was read does not."""
        return _now() >= self._ready_at

    def on_mount(self) -> None:
        """Put the cursor on the mildest answer, so that an accident is no consent."""
        self._ready_at = _now() + self.PATIENCE
        self.query_one(f"#answer-{self._answers[-1][0]}", Button).focus()

    def on_key(self, event: events.Key) -> None:
        """Take the first letter of an answer; what is typed too early does not count, nor what follows it."""
        names = [name for name, _ in self._answers if name[0] == (event.character or " ").lower()]
        if event.time < self._ready_at and event.key != "escape" and names != [self._answers[-1][0]]:
            self._ready_at = max(self._ready_at, event.time + self.PATIENCE)
            event.stop()  # so that no button is pressed either
        elif names:
            event.stop()
            self.dismiss(names[0])

    def action_answer(self) -> None:
        """Answer with the last choice."""
        self.dismiss(self._answers[-1][0])

    def action_scroll(self, lines: int) -> None:
        """Show more of a long question."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer with the choice of the button."""
        self.dismiss((event.button.id or "").removeprefix("answer-"))


class Confirm(Dialog):
    """Whether to do something: "yes" or "no"."""

    def __init__(self, title: str, lines: "Sequence[str]") -> None:
        super().__init__(title, lines, (("yes", "Yes (y)"), ("no", "No (n)")))


class Inquiry(Dialog):
    """Whether a command of another program may run: one of the answers that are offered, or later."""

    PATIENCE: ClassVar[float] = 0.4
    LATER = "later"

    def __init__(self, question: "dict[str, Any]") -> None:
        origin = question["client"] or question["server"]
        rule = [f"rule: {question['rule']}"] if question["rule"] else []
        answers = [*question["answers"], self.LATER]
        super().__init__(
            f"{origin} asks",
            [*question["text"].split("\n"), *rule],
            [(name, f"{name.capitalize()} ({name[0]})") for name in answers],
        )


class Approval(Dialog):
    """Whether a command may run: "once", "session", "always" or "no". What was typed ahead is no answer."""

    PATIENCE: ClassVar[float] = 0.4

    def __init__(self, request: "Request") -> None:
        super().__init__(
            "may this run?",
            _approval_lines(request),
            (("once", "Once (o)"), ("session", "Session (s)"), ("always", "Always (a)"), ("no", "No (n)")),
        )


def _now() -> float:
    """Return the time by the clock that stamps keys when they come."""
    return Message().time


def _approval_lines(request: "Request") -> list[str]:
    """Return the question, each line safe to show."""
    command = request.command if isinstance(request.command, str) else joined(request.command)
    lines = [f"$ {shown(command)}"]
    if request.cwd:
        lines.append(f"in {shown(request.cwd)}")
    lines += ["", shown(request.verdict.reason)]
    rule = request.verdict.rule
    if rule is not None:
        lines.append(f"rule: {shown(rule.source) if rule.source else _prefix(rule.prefix)}")
    if not request.rules:
        return [*lines, "", "No rule could allow it: Always is for this session."]
    return [*lines, "", "Always writes a rule that allows:", *(f"  {_rule(one)}" for one in request.rules)]


def _rule(rule: "Rule") -> str:
    if rule.write:
        return shown(f"writing to {', '.join(rule.write)}")
    return _prefix(rule.prefix) + ("" if rule.exact else " …")


def _prefix(tokens: "Sequence[str | Sequence[str]]") -> str:
    return shown(" ".join(token if isinstance(token, str) else "|".join(token) for token in tokens))


class TextScreen(Boxed):
    """A page of text, shown until it is closed."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,enter,question_mark", "dismiss")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """Return its parts."""
        with VerticalScroll(classes="box") as box:
            box.border_title = Text(self._title)
            box.border_subtitle = Text("Esc closes")
            yield Static(Text(self._text))


KEYS = {
    "files": (
        ("↑ ↓ PgUp PgDn Home End", "move"),
        ("Enter →", "walk into a folder"),
        ("Backspace ←", "walk to the folder above"),
        (". or h", "show hidden names, or not"),
        ("r", "look again"),
        ("t / x", "open a tab here / close this tab"),
        ("1-9 [ ]", "show another tab"),
        ("Tab", "go to the other pane"),
    ),
    "command line": (
        ("/ or :", "open it"),
        ("Tab", "take the first candidate, or the one chosen with ↓ ↑"),
        ("Ctrl+P Ctrl+N, ↑", "lines typed before"),
        ("Enter", "do it"),
        ("Esc", "leave it"),
    ),
    "output": (
        ("Ctrl+O", "open it, and close it"),
        ("Esc q", "close it"),
        ("↑ ↓ PgUp PgDn Home End", "move"),
        ("← →", "move sideways"),
        ("/ n N", "search, next, previous"),
        ("F", "follow the end, or stay"),
        ("w", "whole width, or beside the files"),
    ),
    "everywhere": (
        ("Ctrl+C", "end what runs; again: by force"),
        ("Ctrl+Q", "leave; asks if something runs"),
        ("F2", "light or dark"),
        ("?", "this help"),
    ),
}
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
    lines = [f"{command.usage:<{_KEYS}}{command.description}" for command in COMMANDS]
    for title, keys in KEYS.items():
        lines += ["", title, *(f"  {key:<{_KEYS - 2}}{what}" for key, what in keys)]
    return "\n".join(
        [
            *lines,
            "",
            f"Shell commands are {'on' if permission.allowed else 'off'}: {permission.reason}.",
            "A command is one program with its arguments: no pipes, no redirections, no variables, and",
            "no paths that lead out of its folder.",
        ]
    )
