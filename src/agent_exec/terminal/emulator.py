"""A terminal's screen in plain Python: as much of it as full-screen programs, shells and REPLs use."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.terminal.cells import DEFAULT, Grid
from agent_exec.terminal.controls import CODES, ESCAPES
from agent_exec.terminal.drawing import Drawing
from agent_exec.terminal.parser import Parser
from agent_exec.terminal.sequences import ignore, understand
from agent_exec.terminal.sgr import restyle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.terminal.cells import Style
    from agent_exec.terminal.controls import Action, Numbers
    from agent_exec.terminal.screen import Span

    Saved = tuple[int, int, bool, Style, list[str], int, bool]

_LARGEST = 2000
_LONGEST_SEQUENCE = 256
_LONGEST_TITLE = 1024
_REMEMBERED = 2048


class Emulator(Drawing):
    """A Screen. The parts that sequences change are public, for `controls` to change them."""

    def __init__(
        self, rows: int = 24, columns: int = 80, answer: "Callable[[bytes], object] | None" = None
    ) -> None:
        _check(rows, columns)
        super().__init__(rows, columns)
        self.answer = answer
        self._parser = Parser()
        self.reset()

    def reset(self) -> None:
        """Be as new, but for the size."""
        self.title = ""
        self.clear()
        self._saved: dict[bool, Saved] = {}
        self.cursor_shown = True
        self.application_keys = False
        self.bracketed_paste = False
        self.newline_returns = False
        self.tabs = set(range(8, _LARGEST, 8))

    @property
    def cursor(self) -> tuple[int, int]:
        """Its row and column, from zero."""
        return self.row, self.column

    @property
    def alternate(self) -> bool:
        """True if a full-screen program has it."""
        return self._main is not None

    def feed(self, data: bytes) -> None:
        """Draw what was printed; how it is cut into pieces does not matter."""
        if self.top == 0 and self.bottom == self.rows - 1:
            data = self._parser.skip(data, 2 * self.rows)
        control = False
        for token in self._parser.feed(data):
            if not control:
                if token:
                    self.write(token)
            elif token[0] != "\x1b":
                self.last = ""
                action = CODES.get(token)
                if action is not None:
                    action(self)
            elif token[1:2] == "[":
                self._sequence(token)
            elif token[1:2] == "]":
                self._name(token)
            else:
                self.last = ""
                action = ESCAPES.get(token[1:])
                if action is not None:
                    action(self)
            control = not control

    def resize(self, rows: int, columns: int) -> None:
        """Take on another size: rows go at the top if the cursor would be lost, else at the bottom."""
        _check(rows, columns)
        blank = self._code(DEFAULT)
        above = max(0, self.row - rows + 1)
        self.grid.resize(rows, columns, above, blank)
        if self._main is not None:
            row, *rest = self._saved.get(False) or (0,)
            hidden = max(0, row - rows + 1)
            self._main.resize(rows, columns, hidden, blank)
            if rest:
                self._saved[False] = (row - hidden, *self._saved[False][1:])
        self.rows = rows
        self.columns = columns
        self.top = 0
        self.bottom = rows - 1
        self.row -= above
        self.column = min(self.column, columns - 1)
        self.wrapping = False

    def text(self) -> str:
        """Return its lines without the blanks at their ends and the empty lines at the end of all."""
        return "\n".join(self._readable(line).rstrip(" ") for line in self.grid.text).rstrip("\n")

    def spans(self, row: int) -> "list[Span]":
        """Return a row as stretches of one style each, all its cells."""
        text = self.grid.text[row]
        styles = self.grid.styles[row]
        found: list[Span] = []
        start = 0
        while start < self.columns:
            code = styles[start]
            end = self.columns - len(styles[start:].lstrip(code))
            found.append((start, end - start, self._readable(text[start:end]), self._styles.value(code)))
            start = end
        return found

    def switch(self, alternate: bool) -> None:
        """Go to the other screen, which is blank, or come back to the one that was left."""
        if alternate and self._main is None:
            self._main = self.grid
            self.grid = Grid(self.rows, self.columns, self.blank)
        elif not alternate and self._main is not None:
            self.grid = self._main
            self._main = None

    def save(self) -> None:
        """Remember the cursor, of each screen apart."""
        state = (
            self.row,
            self.column,
            self.wrapping,
            self.style,
            self.charsets.copy(),
            self.shift,
            self.origin,
        )
        self._saved[self.alternate] = state

    def restore(self) -> None:
        """Go back to the cursor that was remembered."""
        saved = self._saved.get(self.alternate)
        if saved is None:
            self.origin = False
            self.go(0, 0)
            return
        self.row = min(saved[0], self.rows - 1)
        self.column = min(saved[1], self.columns - 1)
        self.wrapping = saved[2] and self.column == self.columns - 1
        self.style = saved[3]
        self.charsets = saved[4].copy()
        self.shift = saved[5]
        self.origin = saved[6]

    def _sequence(self, token: str) -> None:
        """Do what a control sequence says."""
        if token[-1] == "m" and token[2] not in "<=>?":
            self._restyle(token)
            return
        known = _known.get(token)
        if known is None:
            if len(_known) >= _REMEMBERED:
                _known.clear()
            known = _known[token] = understand(token) if len(token) <= _LONGEST_SEQUENCE else (ignore, ())
        known[0](self, known[1])

    def _restyle(self, token: str) -> None:
        """Change how what follows looks; what was worked out once is remembered."""
        key = self._style, token
        known = self._restyled.get(key)
        if known is None:
            if len(token) <= _LONGEST_SEQUENCE:
                self.style = restyle(self._style, token[2:-1])
            if len(self._restyled) >= _REMEMBERED:
                self._restyled.clear()
            self._restyled[key] = self._style, self._pen, self.blank
        else:
            self._style, self._pen, self.blank = known

    def _name(self, token: str) -> None:
        """Take the title that a program gives."""
        kind, _, title = token[2:].partition(";")
        if kind in {"0", "2"}:
            self.title = title[:_LONGEST_TITLE].rstrip("\x07")


_known: "dict[str, tuple[Action, Numbers]]" = {}


def _check(rows: int, columns: int) -> None:
    if not (1 <= rows <= _LARGEST and 1 <= columns <= _LARGEST):
        raise InvalidArgument(f"a screen has 1 to {_LARGEST} rows and columns; got {rows} x {columns}")
