"""Dialogs: a question with a few answers, and whether a command may run."""

from math import inf
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from agent_exec.faces.slash.feedback import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.rule import Rule
    from agent_exec.requests.gate import Request


class Dialog(ModalScreen[str]):
    """A question; its result is the name of the answer. Esc, and going away, is the last of them."""

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        & > Vertical {
            width: 90%;
            max-width: 76;
            height: auto;
            max-height: 90%;
            background: $panel;
            border: round $warning;
            border-title-color: $text-warning;
            padding: 0 1;
        }
        & VerticalScroll { height: auto; max-height: 12; margin: 0 0 1 0; }
        & Horizontal { height: auto; align: center middle; }
        & Button { min-width: 8; height: 1; border: none; margin: 0 1; padding: 0 1; }
        & Button:focus { text-style: reverse; border: none; }
        &:ansi > Vertical { background: ansi_default; border: heavy ansi_default; }
        &:ansi Button { background: ansi_default; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "answer('')", show=False),
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
    ]

    PATIENCE: ClassVar[float] = 0.0
    """For how many seconds after it is shown, and after any key meanwhile, only the last answer is taken."""

    def __init__(self, title: str, lines: "Sequence[str]", answers: "Sequence[tuple[str, str]]") -> None:
        """Ask: each answer is its name and what it is called; the first letter is its key."""
        super().__init__()
        self._title = title
        self._lines = lines
        self._answers = answers
        self._ready_at = inf if self.PATIENCE else 0.0

    def compose(self) -> ComposeResult:
        """Return what it is made of."""
        with Vertical() as box:
            box.border_title = Text(self._title)
            with VerticalScroll(can_focus=False):
                yield Static(Text("\n".join(self._lines)))
            with Horizontal():
                for name, called in self._answers:
                    yield Button(Text(called), id=f"answer-{name}", compact=True)

    @property
    def ready(self) -> bool:
        """True if an answer is taken for one: it is none if it was typed before the question was read."""
        return _now() >= self._ready_at

    def on_mount(self) -> None:
        """Have the mildest answer under the cursor: nobody says yes by accident."""
        self._ready_at = _now() + self.PATIENCE
        self.query_one(f"#answer-{self._answers[-1][0]}", Button).focus()

    def on_key(self, event: events.Key) -> None:
        """Take the first letter of an answer; what is typed too early is none, nor is what follows it."""
        names = [name for name, _ in self._answers if name[0] == (event.character or " ").lower()]
        if event.time < self._ready_at and event.key != "escape" and names != [self._answers[-1][0]]:
            self._ready_at = max(self._ready_at, event.time + self.PATIENCE)
            event.stop()  # so that no button is pressed either
        elif names:
            event.stop()
            self.dismiss(names[0])

    def action_answer(self, name: str) -> None:
        """Give an answer; nothing is the last one."""
        self.dismiss(name or self._answers[-1][0])

    def action_scroll(self, lines: int) -> None:
        """Show more of a long question."""
        box = self.query_one(VerticalScroll)
        box.scroll_relative(y=lines, animate=False)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Give the answer that was pressed."""
        self.dismiss((event.button.id or "").removeprefix("answer-"))


class Confirm(Dialog):
    """Whether something is to be done: "yes" or "no"."""

    def __init__(self, title: str, lines: "Sequence[str]") -> None:
        super().__init__(title, lines, (("yes", "Yes (y)"), ("no", "No (n)")))


class Approval(Dialog):
    """Whether a command may run: "once", "session", "always" or "no".

    What was typed ahead is no answer.
    """

    PATIENCE: ClassVar[float] = 0.4

    def __init__(self, request: "Request") -> None:
        super().__init__(
            "may this run?",
            approval_lines(request),
            (("once", "Once (o)"), ("session", "Session (s)"), ("always", "Always (a)"), ("no", "No (n)")),
        )


def _now() -> float:
    """Return the moment by the clock that keys are stamped with when they come."""
    return Message().time


def approval_lines(request: "Request") -> list[str]:
    """Return what is asked, each line safe to be shown."""
    from agent_exec.faces.slash.line import joined

    command = request.command if isinstance(request.command, str) else joined(request.command)
    lines = [f"$ {shown(command)}"]
    if request.cwd:
        lines.append(f"in {shown(request.cwd)}")
    lines += ["", shown(request.verdict.reason)]
    rule = request.verdict.rule
    if rule is not None:
        lines.append(f"rule: {shown(rule.source) if rule.source else _prefix(rule.prefix)}")
    if request.rules:
        lines += ["", "Always writes a rule that allows:"]
        lines += [f"  {_rule(one)}" for one in request.rules]
    else:
        lines += ["", "No rule could allow it: Always is for this session."]
    return lines


def _rule(rule: "Rule") -> str:
    if rule.write:
        return shown(f"writing to {', '.join(rule.write)}")
    return _prefix(rule.prefix) + ("" if rule.exact else " …")


def _prefix(tokens: "Sequence[str | Sequence[str]]") -> str:
    return shown(" ".join(token if isinstance(token, str) else "|".join(token) for token in tokens))
