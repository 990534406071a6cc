"""Puts characters on a grid, each in its style, wide ones and clusters too."""

from agent_exec.terminal.cells import DEFAULT, FILLER, Grid, Table
from agent_exec.terminal.widths import special, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.terminal.cells import Style

_CLUSTERS = 0xD800, 2048  # half characters, which text never holds
_STYLES = 0, 16384
_LONGEST_CLUSTER = 8
_LINES = dict(
    zip(map(ord, "_`abcdefghijklmnopqrstuvwxyz{|}~"), " ◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True)
)


class Drawing:
    """A grid, a cursor, and how what is written comes to be there."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows = rows
        self.columns = columns
        self.clear()

    def clear(self) -> None:
        """Be blank, with the cursor at the first place."""
        self._styles = Table(*_STYLES)
        self._clusters = Table(*_CLUSTERS)
        self._restyled: dict[tuple[Style, str], tuple[Style, str, str]] = {}
        self.grid = Grid(self.rows, self.columns, self._code(DEFAULT))
        self._main: Grid | None = None  # the grid below, while a full-screen program has another
        self.row = 0
        self.column = 0
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
    def style(self) -> "Style":
        """What is written looks so."""
        return self._style

    @style.setter
    def style(self, style: "Style") -> None:
        self._style = style
        self._pen = self._code(style)
        self.blank = self._code((-1, style[1], 0))

    def write(self, text: str) -> None:
        """Put text where the cursor is."""
        if self.charsets[self.shift] == "0":
            text = text.translate(_LINES)
        if text.isascii() or special().search(text) is None:
            self._run(text)
        else:
            for part in special().split(text):
                size = width(part) if len(part) == 1 else 1
                if size == 0:
                    self._combine(part)
                elif size == 1 and part:
                    self._run(part)
                elif part:
                    self._wide(part)
        self.last = text[-1]

    def linefeed(self) -> None:
        """Go down a row, and scroll if there is none in the region."""
        self.wrapping = False
        if self.row == self.bottom:
            self.grid.scroll_once(self.top, self.bottom, self.blank)
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
            self.grid.put(self.row, self.column, part, self._pen)
            place += room
            if len(part) < room:
                self.column += len(part)
            else:
                self.column = self.columns - 1
                self.wrapping = self.autowrap
                if not self.autowrap and place < len(text):
                    self.grid.put(self.row, self.column, text[-1], self._pen)
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
        self.grid.put(self.row, self.column, character + FILLER, self._pen)
        self.wrapping = self.autowrap and self.column == self.columns - 2
        self.column = min(self.column + 2, self.columns - 1)

    def _combine(self, mark: str) -> None:
        """Add a character that takes no cell to the one before the cursor."""
        column = self.column if self.wrapping else self.column - 1
        line = self.grid.text[self.row]
        column -= column > 0 and line[column] == FILLER
        if column < 0:
            return
        cluster = self._readable(line[column]) + mark
        if len(cluster) > _LONGEST_CLUSTER:
            return
        code = self._clusters.code(cluster)
        if code is None:
            self._sweep()
            line = self.grid.text[self.row]
            code = self._clusters.code(cluster)
        if code is not None:
            self.grid.text[self.row] = line[:column] + code + line[column + 1 :]

    def _readable(self, line: str) -> str:
        line = line.replace(FILLER, "")
        if line.isascii() or max(line) < "\ud800":
            return line
        return "".join(self._clusters.value(c) if "\ud800" <= c <= "\udfff" else c for c in line)

    def _code(self, style: "Style") -> str:
        code = self._styles.code(style)
        if code is None:
            self._sweep()
            code = self._styles.code(style) or "\0"  # too colourful: the default style
        return code

    def _sweep(self) -> None:
        """Make room for styles and clusters: keep those that are on a screen."""
        grids = [grid for grid in (self.grid, self._main) if grid is not None]
        styles = {"\0", self._pen, self.blank}
        clusters: set[str] = set()
        for grid in grids:
            styles.update(*grid.styles)
            clusters.update(*grid.text)
        self._restyled.clear()
        new_styles = self._styles.keep(styles)
        new_clusters = self._clusters.keep({code for code in clusters if "\ud800" <= code <= "\udfff"})
        for grid in grids:
            grid.styles = [line.translate(new_styles) for line in grid.styles]
            grid.text = [line.translate(new_clusters) for line in grid.text]
        self._pen = new_styles[ord(self._pen)]
        self.blank = new_styles[ord(self.blank)]
