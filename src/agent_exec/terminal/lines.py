"""The last lines of a text, which carriage returns and cursor moves may still change."""

WINDOW = 50
"""How many lines can still be reached."""

LONG = 8 * 1024
"""A line twice as long is given out in pieces so long, without waiting for its end."""

NOTE = "[full-screen program]"


class Lines:
    """A window on the end of a text, and a cursor in it."""

    __slots__ = (
        "base",
        "column",
        "columns",
        "given",
        "hidden",
        "home",
        "lines",
        "page",
        "row",
        "saved",
        "start",
        "status",
    )

    def __init__(self, columns: int | None = None) -> None:
        self.columns = columns
        self.lines = [""]
        self.row = 0
        self.column = 0
        self.start = 0  # where the row of the screen begins that the cursor is on: a long line has several
        self.given: list[str] = []
        self.base = 0  # how many lines are above the window, counted as far as marks need it
        self.page: int | None = None  # the line that is the first of the screen, if a program told us
        self.saved: tuple[int, int] | None = None
        self.home = False  # at the first place of the page, on purpose
        self.hidden = False  # on the alternate screen
        self.status = False  # on a line that is kept apart from the text

    @property
    def at_end(self) -> bool:
        """True if text that comes now simply follows what is there."""
        return (
            self.row == len(self.lines) - 1
            and self.column == len(self.lines[-1])
            and not self.hidden
            and not self.status
        )

    def settled(self) -> str:
        """Return out what can change no more, once."""
        self.trim()
        if not self.given:
            return ""
        text = "".join(self.given)
        self.given.clear()
        return text

    def text(self) -> str:
        """Return the lines that were not given out yet."""
        lines = self.lines
        line = lines[self.row]
        if self.column != len(line):
            lines = lines.copy()
            lines[self.row] = line[: self.column].ljust(self.column) + line[self.column :].rstrip(" ")
        return "".join(self.given) + "\n".join(lines)

    def extend(self, text: str) -> None:
        """Add clean text at the end, where the cursor must be."""
        self.home = False
        place = len(text)
        for _ in range(WINDOW):
            place = text.rfind("\n", 0, place)
            if place < 0:
                break
        lines = self.lines
        if place >= 0:
            self.given.append("\n".join(lines))
            self.given.append(text[: place + 1])
            if self.page is not None or self.saved is not None:
                self.base += len(lines) + text.count("\n", 0, place)
            lines[:] = text[place + 1 :].split("\n")
            fresh = 0
        else:
            first, *more = text.split("\n")
            fresh = len(lines) - 1
            lines[-1] += first
            lines += more
        for row in range(len(lines) - 1, fresh - 1, -1):
            if len(lines[row]) >= 2 * LONG:
                self.row = row
                self.column = 0
                self._shorten()
                break
        self.place(len(lines) - 1, len(lines[-1]))

    def write(self, text: str) -> None:
        """Put text where the cursor is, over what is there."""
        column = self.column
        line = self.lines[self.row]
        self.column = end = column + len(text)
        if column < len(line):
            line = line[:column] + text + line[end:]
        elif column == len(line):
            line += text
        else:
            line = line.ljust(column) + text
        self.lines[self.row] = line
        self.home = False
        if self.columns:
            self.place(self.row, end)
        if len(line) >= 2 * LONG:
            self._shorten()

    def _shorten(self) -> None:
        """Give out the beginning of the line, with all above it: no move reaches it any more."""
        lines = self.lines
        row = self.row
        line = lines[row]
        size = (len(line) // LONG - 1) * LONG
        if row:
            self.given.append("\n".join(lines[:row]) + "\n")
            del lines[:row]
            self.base += row
        self.given.append(line[:size])
        lines[0] = line[size:]
        self.place(0, max(0, self.column - size))

    def trim(self) -> None:
        """Give out the lines above the window."""
        more = len(self.lines) - WINDOW
        if more > 0:
            self.given.append("\n".join(self.lines[:more]) + "\n")
            del self.lines[:more]
            self.base += more
            self.row = max(0, self.row - more)

    @property
    def top(self) -> int:
        """The first line that can be reached."""
        return max(0, len(self.lines) - WINDOW)

    def place(self, row: int, column: int) -> None:
        """Put the cursor somewhere; at the edge of the screen it stays on the row that it has filled."""
        self.row = row
        self.column = column
        width = self.columns
        self.start = (column - 1) // width * width if width and column else 0

    def leave(self) -> None:
        """Drop the blanks that overwriting left at the end of the line."""
        line = self.lines[self.row]
        if self.column < len(line) and line.endswith(" "):
            self.lines[self.row] = line[: self.column] + line[self.column :].rstrip(" ")

    def newline(self) -> None:
        """Go to the beginning of the next line."""
        self.status = False
        self.home = False
        self.leave()
        width = self.columns
        if width and self.start + width < len(self.lines[self.row]):
            self.start += width
            self.column = self.start
            return
        self.row += 1
        self.column = self.start = 0
        if self.row == len(self.lines):
            self.lines.append("")
            if self.row > 2 * WINDOW:
                self.trim()

    def to_start(self) -> None:
        """Go to the first column."""
        self.column = self.start
        self.leave()
