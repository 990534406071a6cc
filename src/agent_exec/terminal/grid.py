"""The cells of a screen: each a character with its marks and a style, which sequences change."""

from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    Style = tuple[int, int, int]
    """Foreground, background, flags. A colour is -1 (the default), 0 to 255, or RGB above `RGB`."""

BOLD, DIM, ITALIC, UNDERLINE, REVERSE, HIDDEN, STRUCK = 1, 2, 4, 8, 16, 32, 64
RGB = 1 << 24
DEFAULT: "Style" = (-1, -1, 0)
FILLER = ""
"""The right half of a wide character."""

_SET = {1: BOLD, 2: DIM, 3: ITALIC, 4: UNDERLINE, 7: REVERSE, 8: HIDDEN, 9: STRUCK, 21: UNDERLINE}
_CLEAR = {22: BOLD | DIM, 23: ITALIC, 24: UNDERLINE, 27: REVERSE, 28: HIDDEN, 29: STRUCK}
_FOREGROUND = {39: -1} | {30 + n: n for n in range(8)} | {90 + n: 8 + n for n in range(8)}
_BACKGROUND = {10 + number: colour for number, colour in _FOREGROUND.items()}


class Grid:
    """The rows of a screen; every one is exactly as long as the screen is wide."""

    def __init__(self, rows: int, columns: int, style: "Style") -> None:
        self.rows = rows
        self.columns = columns
        self.text = [[" "] * columns for _ in range(rows)]
        self.styles = [[style] * columns for _ in range(rows)]

    def put(self, row: int, column: int, text: "str | list[str]", style: "Style") -> None:
        """Write cells that fit; of a wide character that is cut in half nothing stays."""
        end = column + len(text)
        self._mend(row, column, end)
        self.text[row][column:end] = text
        self.styles[row][column:end] = [style] * len(text)

    def _mend(self, row: int, *edges: int) -> None:
        """Blank the wide characters that edges go through."""
        line = self.text[row]
        for edge in edges:
            if edge < self.columns and line[edge] == FILLER:
                line[edge - 1 : edge + 1] = "  "

    def blank(self, row: int, start: int, end: int, style: "Style") -> None:
        """Erase cells."""
        if start < end:
            self.put(row, start, " " * (end - start), style)

    def blank_rows(self, first: int, end: int, style: "Style") -> None:
        """Erase rows."""
        for row in range(first, end):
            self.text[row] = [" "] * self.columns
            self.styles[row] = [style] * self.columns

    def insert(self, row: int, column: int, count: int, style: "Style") -> None:
        """Make room for cells; those at the end are pushed out."""
        count = min(count, self.columns - column)
        self._mend(row, column, self.columns - count)
        del self.text[row][self.columns - count :], self.styles[row][self.columns - count :]
        self.text[row][column:column] = " " * count
        self.styles[row][column:column] = [style] * count

    def delete(self, row: int, column: int, count: int, style: "Style") -> None:
        """Take cells out; blank ones come in at the end."""
        count = min(count, self.columns - column)
        self._mend(row, column, column + count)
        del self.text[row][column : column + count], self.styles[row][column : column + count]
        self.text[row] += " " * count
        self.styles[row] += [style] * count

    def scroll(self, top: int, bottom: int, count: int, style: "Style") -> None:
        """Move the rows of a region up, or down if the count is negative; blank ones come in."""
        size = min(abs(count), bottom - top + 1)
        out, into = (top, bottom + 1 - size) if count > 0 else (bottom + 1 - size, top)
        del self.text[out : out + size], self.styles[out : out + size]
        self.text[into:into] = [[" "] * self.columns for _ in range(size)]
        self.styles[into:into] = [[style] * self.columns for _ in range(size)]

    def resize(self, rows: int, columns: int, above: int) -> None:
        """Take on another size; so many rows go at the top, the rest comes and goes at the bottom."""
        for row in range(self.rows):
            self._mend(row, columns)
        old = zip(self.text[above : above + rows], self.styles[above : above + rows], strict=True)
        self.rows, self.columns = rows, columns
        self.text = [[" "] * columns for _ in range(rows)]
        self.styles = [[DEFAULT] * columns for _ in range(rows)]
        for row, (text, styles) in enumerate(old):
            self.text[row][: len(text)] = text[:columns]
            self.styles[row][: len(styles)] = styles[:columns]


@lru_cache(2048)
def restyle(style: "Style", parameters: str) -> "Style":
    """Return the style that follows from another by the parameters of a sequence."""
    foreground, background, flags = style
    fields = iter(parameters.split(";"))
    for field in fields:
        head, *parts = field.split(":")
        number = int(head) if head.isdecimal() else 0
        if number == 0:
            foreground, background, flags = DEFAULT
        elif number == 4 and parts[:1] == ["0"]:
            flags &= ~UNDERLINE
        elif number in {38, 48, 58}:
            if not parts:
                kind = next(fields, "")
                parts = [kind, *(next(fields, "") for _ in range({"5": 1, "2": 3}.get(kind, 0)))]
            colour = _colour(parts)
            if number == 38:
                foreground = foreground if colour is None else colour
            elif number == 48:
                background = background if colour is None else colour
        flags = (flags | _SET.get(number, 0)) & ~_CLEAR.get(number, 0)
        foreground = _FOREGROUND.get(number, foreground)
        background = _BACKGROUND.get(number, background)
    return foreground, background, flags


def _colour(parts: list[str]) -> int | None:
    """Return the colour that an extended form names; None if it names none."""
    numbers = [int(part) if part.isdecimal() else 0 for part in parts]
    if numbers[:1] == [5] and len(numbers) > 1:
        return min(numbers[1], 255)
    if numbers[:1] == [2] and len(numbers) > 3:
        red, green, blue = (min(number, 255) for number in numbers[-3:])
        return RGB | red << 16 | green << 8 | blue
    return None
