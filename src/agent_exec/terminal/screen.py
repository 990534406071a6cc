"""A terminal's screen in plain Python: as much of it as full-screen programs, shells and REPLs use."""

from itertools import groupby

from agent_exec.model.errors import InvalidArgument
from agent_exec.terminal.controls import CODES, ESCAPES, SEQUENCES
from agent_exec.terminal.grid import DEFAULT, FILLER, Grid, restyle
from agent_exec.terminal.parser import Parser, patterns, sequence
from agent_exec.terminal.widths import special, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.terminal.grid import Style

    Span = tuple[int, int, str, Style]
    """Where it begins, how many cells it takes, its text, its style."""
    Saved = tuple[int, int, bool, Style, list[str], int, bool]
    """Row, column, whether the next character wraps, style, charsets, shift, origin."""

_LARGEST = 2000
_LONGEST_STYLE = 256
_LONGEST_TITLE = 1024
_LONGEST_CLUSTER = 8
_LINES = dict(
    zip(map(ord, "_`abcdefghijklmnopqrstuvwxyz{|}~"), " ◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True)
)


class Screen:
    """The picture that a terminal shows; nothing that has scrolled away is kept.

    `answer` gets what a terminal would reply to a program that asks. The parts that sequences
    change are public, for `controls` to change them.
    """

    def __init__(
        self, rows: int = 24, columns: int = 80, answer: "Callable[[bytes], object] | None" = None
    ) -> None:
        _check(rows, columns)
        self.rows = rows
        self.columns = columns
        self.answer = answer
        self.parser = Parser()
        self.reset()

    def reset(self) -> None:
        """Be as new, but for the size."""
        self.title = ""
        self.grid = Grid(self.rows, self.columns, DEFAULT)
        self.main: Grid | None = None  # the grid below, while a full-screen program has another
        self.saved: dict[bool, Saved] = {}
        self.row = self.column = 0
        self.cursor_shown = True
        self.application_keys = False
        self.bracketed_paste = False
        self.newline_returns = False
        self.modes: dict[
            int, None
        ] = {}  # those that only a person's terminal heeds, in the order they were set
        self.cursor_style = 0
        self.tabs = set(range(8, _LARGEST, 8))
        self.soft_reset()

    def soft_reset(self) -> None:
        """Forget modes, region and style."""
        self.wrapping = False  # the last column is filled, and the next character goes to the next row
        self.top = 0
        self.bottom = self.rows - 1
        self.origin = False
        self.autowrap = True
        self.inserting = False
        self.charsets = ["B", "B"]
        self.shift = 0
        self.last = ""
        self.style = DEFAULT

    @property
    def blank(self) -> "Style":
        """The style of cells that are erased."""
        return -1, self.style[1], 0

    @property
    def cursor(self) -> tuple[int, int]:
        """Its row and column, from zero."""
        return self.row, self.column

    @property
    def alternate(self) -> bool:
        """True if a full-screen program has it."""
        return self.main is not None

    def feed(self, data: bytes) -> None:
        """Draw what was printed; how it is cut into pieces does not matter."""
        if self.top == 0 and self.bottom == self.rows - 1:
            data = self.parser.skip(data, 2 * self.rows)
        for place, token in enumerate(patterns().tokens.split(self.parser.feed(data))):
            if place % 2 == 0:
                if token:
                    self.write(token)
            elif token[1:2] == "[":
                self._sequence(token)
            elif token[1:2] == "]":
                kind, _, title = token[2:].partition(";")
                if kind in {"0", "2"}:
                    self.title = title[:_LONGEST_TITLE].rstrip("\x07")
            else:
                self.last = ""
                action = ESCAPES.get(token[1:]) if token[0] == "\x1b" else CODES.get(token)
                if action is not None:
                    action(self)

    def resize(self, rows: int, columns: int) -> None:
        """Take on another size: rows go at the top if the cursor would be lost, else at the bottom."""
        _check(rows, columns)
        above = max(0, self.row - rows + 1)
        self.grid.resize(rows, columns, above)
        if self.main is not None:
            row, *rest = self.saved.get(False) or (0,)
            hidden = max(0, row - rows + 1)
            self.main.resize(rows, columns, hidden)
            if rest:
                self.saved[False] = (row - hidden, *self.saved[False][1:])
        self.rows = rows
        self.columns = columns
        self.top = 0
        self.bottom = rows - 1
        self.row -= above
        self.column = min(self.column, columns - 1)
        self.wrapping = False

    def text(self) -> str:
        """Return its lines without the blanks at their ends and the empty lines at the end of all."""
        return "\n".join("".join(line).rstrip(" ") for line in self.grid.text).rstrip("\n")

    def spans(self, row: int) -> "list[Span]":
        """Return a row as stretches of one style each, all its cells."""
        found: list[Span] = []
        start = 0
        for style, cells in groupby(self.grid.styles[row]):
            size = sum(1 for _ in cells)
            found.append((start, size, "".join(self.grid.text[row][start : start + size]), style))
            start += size
        return found

    def switch(self, alternate: bool) -> None:
        """Go to the other screen, which is blank, or come back to the one that was left."""
        if alternate and self.main is None:
            self.main = self.grid
            self.grid = Grid(self.rows, self.columns, self.blank)
        elif not alternate and self.main is not None:
            self.grid = self.main
            self.main = None

    def save(self) -> None:
        """Remember the cursor, of each screen apart."""
        charsets = self.charsets.copy()
        state = (self.row, self.column, self.wrapping, self.style, charsets, self.shift, self.origin)
        self.saved[self.alternate] = state

    def restore(self) -> None:
        """Go back to the cursor that was remembered."""
        saved = self.saved.get(self.alternate)
        if saved is None:
            self.origin = False
            self.go(0, 0)
            return
        row, column, wrapping, self.style, charsets, self.shift, self.origin = saved
        self.row = min(row, self.rows - 1)
        self.column = min(column, self.columns - 1)
        self.wrapping = wrapping and self.column == self.columns - 1
        self.charsets = charsets.copy()

    def write(self, text: str) -> None:
        """Put text where the cursor is."""
        if self.charsets[self.shift] == "0":
            text = text.translate(_LINES)
        if text.isascii() or special().search(text) is None:
            self._run(text)
        else:
            for part in filter(None, special().split(text)):
                size = width(part) if len(part) == 1 else 1
                (self._combine, self._run, self._wide)[size](part)
        self.last = text[-1]

    def linefeed(self) -> None:
        """Go down a row, and scroll if there is none in the region."""
        self.wrapping = False
        if self.row == self.bottom:
            self.grid.scroll(self.top, self.bottom, 1, self.blank)
        elif self.row < self.rows - 1:
            self.row += 1

    def go(self, row: int, column: int) -> None:
        """Put the cursor somewhere, within what the origin allows."""
        low, high = (self.top, self.bottom) if self.origin else (0, self.rows - 1)
        self.row = min(max(row + low, low), high)
        self.column = min(max(column, 0), self.columns - 1)
        self.wrapping = False

    def _run(self, text: str) -> None:
        """Write characters that take one cell each."""
        place = 0
        while place < len(text):
            if self.wrapping:
                self.column = 0
                self.linefeed()
            room = self.columns - self.column
            part = text[place : place + room]
            if self.inserting:
                self.grid.insert(self.row, self.column, len(part), self.blank)
            self.grid.put(self.row, self.column, part, self.style)
            place += room
            if len(part) < room:
                self.column += len(part)
            else:
                self.column = self.columns - 1
                self.wrapping = self.autowrap
                if not self.autowrap and place < len(text):
                    self.grid.put(self.row, self.column, text[-1], self.style)
                    return

    def _wide(self, character: str) -> None:
        """Write a character that takes two cells."""
        if self.columns < 2:
            self._run("?")
            return
        if self.wrapping or (self.autowrap and self.column == self.columns - 1):
            self.column = 0
            self.linefeed()
        self.column = min(self.column, self.columns - 2)
        if self.inserting:
            self.grid.insert(self.row, self.column, 2, self.blank)
        self.grid.put(self.row, self.column, [character, FILLER], self.style)
        self.wrapping = self.autowrap and self.column == self.columns - 2
        self.column = min(self.column + 2, self.columns - 1)

    def _combine(self, mark: str) -> None:
        """Add a character that takes no cell to the one before the cursor."""
        column = self.column if self.wrapping else self.column - 1
        line = self.grid.text[self.row]
        column -= column > 0 and line[column] == FILLER
        if column >= 0 and len(line[column]) < _LONGEST_CLUSTER:
            line[column] += mark

    def _sequence(self, token: str) -> None:
        """Do what a control sequence says."""
        if token[-1] == "m" and token[2] not in "<=>?":
            if len(token) <= _LONGEST_STYLE:
                self.style = restyle(self.style, token[2:-1])
            return
        key, numbers = sequence(token)
        action = SEQUENCES.get(key)
        if action is not None:
            action(self, numbers)


def _check(rows: int, columns: int) -> None:
    if not (1 <= rows <= _LARGEST and 1 <= columns <= _LARGEST):
        raise InvalidArgument(f"a screen has 1 to {_LARGEST} rows and columns; got {rows} x {columns}")
