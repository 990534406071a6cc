"""Terminal output as readable text: colours dropped, progress bars as they were left, in one pass."""

from agent_exec.terminal.parser import Parser, patterns

WINDOW = 50
"""How many lines can still be reached."""

LONG = 8 * 1024
"""A line twice as long is given out in pieces so long, without waiting for its end."""

NOTE = "[full-screen program]"
_RARE = bytes(set(range(32)) - set(b"\b\t\n\r")) + b"\x7f\xc2"
"""Bytes without which a text has no sequences and no control characters but the four."""

_ENOUGH = 32 * 1024


class Plain:
    """The output for a terminal, as text that can be read.

    `feed` returns the lines that nothing can change any more, `peek` what comes after them so far,
    `finish` the rest. All that was returned and the peek make up the text at any moment. How the
    bytes are cut into pieces does not matter. Memory is bounded whatever comes.

    Sequences that move the cursor are followed within the last lines; the alternate screen is left
    out, with a note. With `columns`, long lines are taken to be wrapped there, as line editors
    expect; without, a line is as long as what is written to it.
    """

    __slots__ = ("_lines", "_parser", "_raw", "_size")

    def __init__(self, columns: int | None = None) -> None:
        self._lines = Lines(columns)
        self._parser: Parser | None = None  # made when something but plain ASCII comes
        self._raw: list[bytes] = []  # not looked at yet: much at once is faster than little
        self._size = 0

    def feed(self, data: bytes) -> str:
        """Take what was printed; return what is settled by now, possibly nothing."""
        self._raw.append(data)
        self._size += len(data)
        if self._size < _ENOUGH and not self._lines.given and len(self._lines.lines) <= 2 * WINDOW:
            return ""
        self._look()
        return self._lines.settled()

    def peek(self) -> str:
        """Return what is not settled yet: the last lines, with the unfinished one at their end."""
        self._look()
        return self._lines.text()

    def resize(self, columns: int | None) -> None:
        """Take what comes from now on to be wrapped elsewhere."""
        self._look()
        self._lines.columns = columns

    def finish(self) -> str:
        """Return all that is left, and begin anew."""
        self._look()
        if self._parser is not None and (rest := self._parser.finish()):
            self._follow(rest)
        text = self._lines.text()
        self._lines = Lines(self._lines.columns)
        return text

    def _look(self) -> None:
        """Work on what has come."""
        data = b"".join(self._raw)
        self._raw.clear()
        self._size = 0
        rare = len(data.translate(None, _RARE)) != len(data)
        if self._parser is None and not rare and data.isascii():
            text = data.decode()
        else:
            self._parser = self._parser or Parser()
            rare |= self._parser.pending
            text = self._parser.feed(data)
        if rare:
            if "\x1b" in text:
                text = patterns().quiet.sub("", text)
            if "\x1b" not in text:
                text = patterns().junk.sub("", text)
            text = text.replace("\v", "\n").replace("\f", "\n")
        while "\r\n" in text:
            text = text.replace("\r\n", "\n")
        if not text:
            return
        if self._lines.at_end and not ("\x1b" in text or "\r" in text or "\b" in text):
            self._lines.extend(text)
        else:
            self._follow(text)

    def _follow(self, text: str) -> None:
        from agent_exec.terminal.moves import follow

        follow(self._lines, patterns().tokens.split(text))


class Lines:
    """A window on the last lines of a text, and a cursor in it that may still change them."""

    def __init__(self, columns: int | None = None) -> None:
        self.columns = columns
        self.lines = [""]
        self.row = 0
        self.column = 0
        self.start = 0  # where the row of the screen begins that the cursor is on: a long line has several
        self.returned = False  # after a carriage return, which may yet turn out to end the line
        self.given: list[str] = []
        self.base = 0  # how many lines are above the window, counted as far as marks need it
        self.page: int | None = None  # the line that is the first of the screen, if a program set one
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
            and not (self.hidden or self.status or self.returned)
        )

    @property
    def top(self) -> int:
        """The first line that can be reached."""
        return max(0, len(self.lines) - WINDOW)

    def settled(self) -> str:
        """Return what can change no more, once."""
        self.trim()
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
            self.given += ["\n".join(lines), text[: place + 1]]
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
        line = self.lines[self.row]
        end = self.column + len(text)
        line = line[: self.column].ljust(self.column) + text + line[end:]
        self.lines[self.row] = line
        self.column = end
        self.home = False
        if self.columns:
            self.place(self.row, end)
        if len(line) >= 2 * LONG:
            self._shorten()

    def _shorten(self) -> None:
        """Give out the beginning of the line, with all above it: no move reaches it any more."""
        line = self.lines[self.row]
        size = (len(line) // LONG - 1) * LONG
        if self.row:
            self._give(self.row)
        self.given.append(line[:size])
        self.lines[0] = line[size:]
        self.place(0, max(0, self.column - size))

    def trim(self) -> None:
        """Give out the lines above the window."""
        if self.top:
            row = max(0, self.row - self.top)
            self._give(self.top)
            self.row = row

    def _give(self, count: int) -> None:
        self.given.append("\n".join(self.lines[:count]) + "\n")
        del self.lines[:count]
        self.base += count

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
        self.status = self.home = self.returned = False
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

    def catch_up(self) -> None:
        """Go to the first column, if a carriage return has turned out to mean that."""
        if self.returned:
            self.returned = False
            self.column = self.start
            self.leave()
