"""A screen: what a person would see of a program on a terminal."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from agent_exec.terminal.cells import Style

    Span = tuple[int, int, str, Style]
    """Where it begins, how many cells it takes, its text, its style."""
else:
    Protocol = object


class Screen(Protocol):
    """The picture that a terminal shows; nothing that has scrolled away is kept."""

    rows: int
    columns: int
    title: str

    def feed(self, data: bytes) -> None:
        """Draw what was printed; how it is cut into pieces does not matter."""

    def resize(self, rows: int, columns: int) -> None:
        """Take on another size."""

    def text(self) -> str:
        """Return its lines without the blanks at their ends and the empty lines at the end of all."""

    def spans(self, row: int) -> "list[Span]":
        """Return a row as stretches of one style each, all its cells."""

    @property
    def cursor(self) -> tuple[int, int]:
        """Its row and column, from zero."""

    @property
    def cursor_shown(self) -> bool:
        """True if the cursor is visible."""

    @property
    def alternate(self) -> bool:
        """True if a full-screen program has it."""

    @property
    def application_keys(self) -> bool:
        """True if the program wants the other form of the cursor keys."""

    @property
    def bracketed_paste(self) -> bool:
        """True if the program wants to be told where pasted text begins and ends."""


def new_screen(
    rows: int = 24, columns: int = 80, answer: "Callable[[bytes], object] | None" = None
) -> Screen:
    """Return a blank screen; `answer` gets what a terminal would reply to a program that asks."""
    from agent_exec.terminal.emulator import Emulator

    return Emulator(rows, columns, answer)
