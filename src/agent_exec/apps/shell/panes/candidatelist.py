"""The list above the command line: what may come next."""

from typing import ClassVar

from rich.text import Text
from textual.strip import Strip
from textual.widget import Widget

from agent_exec.apps.shell.panes.rows import row
from agent_exec.faces.slash.feedback import cells
from agent_exec.faces.slash.files import SlashCandidates

ROWS = 8
"""How many candidates are seen at once."""


class CandidateList(Widget):
    """Some candidates; one of them may be chosen, which Tab or Enter then takes."""

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
        & > .candidate--chosen { text-style: reverse; }
        & > .candidate--first { text-style: bold; }
        & > .candidate--folder { color: $text-primary; }
        &:ansi { border: round ansi_default; background: ansi_default; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "candidate--chosen",
        "candidate--first",
        "candidate--folder",
    }

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.candidates = SlashCandidates(0, 0)
        self.chosen: int | None = None

    def show(self, candidates: SlashCandidates, hint: str = "") -> None:
        """Show these, with none of them chosen; nothing at all if there are none and nothing to tell."""
        self.candidates = candidates
        self.chosen = None
        items = candidates.items
        self.display = bool(items or hint)
        if not self.display:
            return
        longest = max([cells(item.text) for item in items] + [cells(hint)], default=0)
        self.styles.height = min(ROWS, len(items)) + 2
        self.styles.width = min(max(longest + 6, 30), max(24, self.screen.size.width - 2))
        self.border_title = Text(hint) if hint else None
        self._count()
        self.refresh()

    def choose(self, step: int) -> None:
        """Choose the next one or the one before; before the first is none."""
        count = len(self.candidates.items)
        if not count:
            return
        if self.chosen is None:
            self.chosen = 0 if step > 0 else None
        else:
            place = self.chosen + step
            self.chosen = None if place < 0 else min(place, count - 1)
        self._count()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one candidate."""
        base = self.rich_style
        width = self.size.width
        items = self.candidates.items
        top = max(0, (self.chosen or 0) - ROWS + 1)
        number = top + y
        if number >= len(items):
            return Strip.blank(width, base)
        style = base
        if items[number].kind == "directory":
            style = self.get_component_rich_style("candidate--folder")
        if number == self.chosen:
            style += self.get_component_rich_style("candidate--chosen", partial=True)
        elif number == 0 and self.chosen is None:
            style += self.get_component_rich_style("candidate--first", partial=True)
        return row([(f" {items[number].text}", style)], width, style if number == self.chosen else base)

    def _count(self) -> None:
        count = len(self.candidates.items)
        more = "+" if self.candidates.more else ""
        told = f"Tab takes {'it' if self.chosen is not None else 'the first'}"
        self.border_subtitle = Text(f"{count}{more} · {told}") if count else None
