"""The cells of a screen: each row is a text and, beside it, a text of style codes."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Style = tuple[int, int, int]
    """Foreground, background, flags. A colour is -1 (the default), 0 to 255, or RGB above `RGB`."""

BOLD, DIM, ITALIC, UNDERLINE, REVERSE, HIDDEN, STRUCK = 1, 2, 4, 8, 16, 32, 64
RGB = 1 << 24
DEFAULT: "Style" = (-1, -1, 0)
FILLER = "\0"
"""The right half of a wide character."""


class Table:
    """Values that are written as one character each, as many as there is room for."""

    __slots__ = ("_codes", "_first", "_size", "_values")

    def __init__(self, first: int, size: int) -> None:
        self._first = first
        self._size = size
        self._values: list[Any] = []
        self._codes: dict[Any, str] = {}

    def code(self, value: "Any") -> str | None:
        """Return the character for a value; None if there is no room for it."""
        code = self._codes.get(value)
        if code is None and len(self._values) < self._size:
            code = self._codes[value] = chr(self._first + len(self._values))
            self._values.append(value)
        return code

    def value(self, code: str) -> "Any":
        """Return the value that a character stands for."""
        return self._values[ord(code) - self._first]

    def keep(self, used: set[str]) -> dict[int, str]:
        """Forget all values but these; return their new characters."""
        values = [self.value(code) for code in sorted(used)]
        self._values.clear()
        self._codes.clear()
        return {ord(old): str(self.code(value)) for old, value in zip(sorted(used), values, strict=True)}


class Grid:
    """The rows of a screen; every one is exactly as long as the screen is wide."""

    __slots__ = ("columns", "rows", "styles", "text")

    def __init__(self, rows: int, columns: int, style: str) -> None:
        self.rows = rows
        self.columns = columns
        self.text = [" " * columns] * rows
        self.styles = [style * columns] * rows

    def put(self, row: int, column: int, text: str, style: str) -> None:
        """Write text that fits; of a wide character that is cut in half nothing stays."""
        line = self.text[row]
        end = column + len(text)
        if line[column] == FILLER or (end < self.columns and line[end] == FILLER):
            line = self._mend(line, column, end)
        self.text[row] = line[:column] + text + line[end:]
        line = self.styles[row]
        self.styles[row] = line[:column] + style * len(text) + line[end:]

    def _mend(self, line: str, column: int, end: int) -> str:
        if line[column] == FILLER:
            line = line[: column - 1] + " " + line[column:]
        if end < self.columns and line[end] == FILLER:
            line = line[:end] + " " + line[end + 1 :]
        return line

    def blank(self, row: int, start: int, end: int, style: str) -> None:
        """Erase cells."""
        if start < end:
            self.put(row, start, " " * (end - start), style)

    def blank_rows(self, first: int, end: int, style: str) -> None:
        """Erase rows."""
        for row in range(first, end):
            self.text[row] = " " * self.columns
            self.styles[row] = style * self.columns

    def insert(self, row: int, column: int, count: int, style: str) -> None:
        """Make room for cells; those at the end are pushed out."""
        count = min(count, self.columns - column)
        line = self._mend(self.text[row], column, column)
        self.text[row] = _shorten(line[:column] + " " * count + line[column:], self.columns)
        line = self.styles[row]
        self.styles[row] = (line[:column] + style * count + line[column:])[: self.columns]

    def delete(self, row: int, column: int, count: int, style: str) -> None:
        """Take cells out; blank ones come in at the end."""
        count = min(count, self.columns - column)
        line = self._mend(self.text[row], column, column + count)
        self.text[row] = line[:column] + line[column + count :] + " " * count
        line = self.styles[row]
        self.styles[row] = line[:column] + line[column + count :] + style * count

    def scroll_once(self, top: int, bottom: int, style: str) -> None:
        """Scroll a region up by one row."""
        del self.text[top], self.styles[top]
        self.text.insert(bottom, " " * self.columns)
        self.styles.insert(bottom, style * self.columns)

    def scroll_up(self, top: int, bottom: int, count: int, style: str) -> None:
        """Take rows out at the top of a region; blank ones come in at its bottom."""
        count = min(count, bottom - top + 1)
        for lines, blank in ((self.text, " "), (self.styles, style)):
            del lines[top : top + count]
            lines[bottom + 1 - count : bottom + 1 - count] = [blank * self.columns] * count

    def scroll_down(self, top: int, bottom: int, count: int, style: str) -> None:
        """Take rows out at the bottom of a region; blank ones come in at its top."""
        count = min(count, bottom - top + 1)
        for lines, blank in ((self.text, " "), (self.styles, style)):
            del lines[bottom + 1 - count : bottom + 1]
            lines[top:top] = [blank * self.columns] * count

    def resize(self, rows: int, columns: int, above: int, style: str) -> None:
        """Take on another size; so many rows go at the top, the rest comes and goes at the bottom."""

        def fit(lines: list[str], blank: str) -> list[str]:
            kept = [line.ljust(columns, blank) for line in lines[above : above + rows]]
            return kept + [blank * columns] * (rows - len(kept))

        self.text = [_shorten(line, columns) for line in fit(self.text, " ")]
        self.styles = [line[:columns] for line in fit(self.styles, style)]
        self.rows = rows
        self.columns = columns


def _shorten(line: str, columns: int) -> str:
    if len(line) > columns and line[columns] == FILLER:
        return line[: columns - 1] + " "
    return line[:columns]
