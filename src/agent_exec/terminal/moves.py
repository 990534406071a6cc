"""The sequences that move the cursor or erase, followed within the last lines of a text."""

from agent_exec.terminal.lines import LONG, NOTE, WINDOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.terminal.lines import Lines

_WIDEST = 512
"""Where moves to the right end, if nobody knows the width."""


def run(text: "Lines", tokens: list[str]) -> None:
    """Follow text and moves, which take turns in the list."""
    move = False
    for token in tokens:
        if text.hidden:
            if token[-1:] == "l" and token[0] == "\x1b":
                text.hidden = False
        elif not move:
            if token and not text.status:
                text.write(token)
        elif token == "\n":
            text.newline()
        elif token == "\r":
            text.to_start()
        elif token == "\b":
            text.column = max(text.start, text.column - 1)
        else:
            _move(text, token)
        move = not move


def _move(text: "Lines", token: str) -> None:
    kind = token[-1]
    if kind == "h":
        _hide(text)
    elif kind == "l":
        return
    elif kind in "78su":
        _mark(text, kind in "7s")
    elif text.status and kind not in "HfJc":
        return
    elif token[1] == "[":
        first, _, second = token[2:-1].partition(";")
        _ACTIONS[kind](text, int(first) if first.isdecimal() else 0, second)
    elif kind == "M":
        _up(text, 1, "")
    elif kind == "D":
        _down(text, 1, "")
    elif kind == "E":
        text.newline()
    else:
        _turn(text)


def _up(text: "Lines", count: int, _: str) -> None:
    text.leave()
    width = text.columns
    for _step in range(min(max(count, 1), WINDOW * 4)):
        if width and text.start:
            text.start -= width
            text.column -= width
        elif text.row > text.top:
            text.row -= 1
            size = len(text.lines[text.row])
            if width and size > width:
                text.start = (size - 1) // width * width
                text.column += text.start
        else:
            return


def _down(text: "Lines", count: int, _: str) -> None:
    text.leave()
    text.place(min(text.row + max(count, 1), len(text.lines) - 1), text.column)


def _down_to_first(text: "Lines", count: int, _: str) -> None:
    _down(text, count, "")
    text.place(text.row, 0)


def _up_to_first(text: "Lines", count: int, _: str) -> None:
    _up(text, count, "")
    text.column = text.start


def _right(text: "Lines", count: int, _: str) -> None:
    limit = text.start + (text.columns or _WIDEST)
    text.column = max(text.column, min(text.column + max(count, 1), limit - 1))


def _left(text: "Lines", count: int, _: str) -> None:
    text.column = max(text.start, text.column - max(count, 1))


def _to_column(text: "Lines", count: int, _: str) -> None:
    text.column = text.start + min(max(count, 1), text.columns or _WIDEST) - 1


def _to(text: "Lines", row: int, column: str) -> None:
    """Go to a place on the screen, whose first line is where the page begins."""
    if row > 1 and text.page is None and text.saved is not None:
        text.status = True  # there and back: a line at the edge of the screen
        return
    text.leave()
    text.status = False
    if text.page is None or text.page - text.base < text.top:
        _turn(text)
    page = text.top if text.page is None else max(text.top, text.page - text.base)
    text.place(page + min(max(row, 1), WINDOW) - 1, 0)
    text.lines += [""] * (text.row + 1 - len(text.lines))
    _to_column(text, int(column) if column.isdecimal() else 1, "")
    text.home = row <= 1 and text.column == 0


def _to_row(text: "Lines", row: int, _: str) -> None:
    _to(text, row, str(text.column - text.start + 1))


def _turn(text: "Lines") -> None:
    """Begin a page below all that is there, unless this one is blank."""
    text.status = False
    lines = text.lines
    if (
        text.page is None
        or not text.top <= text.page - text.base < len(lines)
        or any(lines[text.page - text.base :])
    ):
        if lines[-1]:
            lines.append("")
        text.page = text.base + len(lines) - 1
    text.place(text.page - text.base, 0)


def _erase_below(text: "Lines", part: int, _: str) -> None:
    if part == 2 or (part == 0 and text.home):
        _turn(text)
    elif part == 0:
        text.trim()
        text.lines[text.row] = text.lines[text.row][: text.column]
        del text.lines[text.row + 1 :]


def _erase_in_line(text: "Lines", part: int, _: str) -> None:
    start = text.start
    if part == 0:
        text.lines[text.row] = text.lines[text.row][: text.column]
    elif part == 1:
        _blank(text, start, text.column + 1)
    elif text.columns:
        _blank(text, start, start + text.columns)
    else:
        text.lines[text.row] = ""


def _erase_here(text: "Lines", count: int, _: str) -> None:
    _blank(text, text.column, text.column + min(max(count, 1), 2 * LONG))


def _blank(text: "Lines", start: int, end: int) -> None:
    line = text.lines[text.row]
    rest = line[end:]
    text.lines[text.row] = line[:start].ljust(end) + rest if rest else line[:start]


def _delete(text: "Lines", count: int, _: str) -> None:
    line = text.lines[text.row]
    text.lines[text.row] = line[: text.column] + line[text.column + max(count, 1) :]


def _insert(text: "Lines", count: int, _: str) -> None:
    line = text.lines[text.row]
    if text.column < len(line):
        blanks = " " * min(max(count, 1), text.columns or _WIDEST)
        text.lines[text.row] = line[: text.column] + blanks + line[text.column :]
        if len(line) >= LONG:
            text.lines[text.row] = text.lines[text.row][: 2 * LONG - 1]


def _mark(text: "Lines", save: bool) -> None:
    """Remember where the cursor is, or go back there."""
    if save:
        if not text.status:
            text.saved = text.base + text.row, text.column
    elif text.saved is not None:
        text.status = False
        row = min(max(text.saved[0] - text.base, text.top), len(text.lines) - 1)
        text.place(row, text.saved[1])
        text.saved = None


def _hide(text: "Lines") -> None:
    """Leave out what comes, with a note that something was there."""
    lines = text.lines
    if lines[-1]:
        lines.append("")
    if lines[-2:] != [NOTE, ""]:
        lines[-1:] = [NOTE, ""]
    text.place(len(lines) - 1, 0)
    text.status = False
    text.hidden = True


_ACTIONS: "dict[str, Callable[[Lines, int, str], None]]" = {
    "@": _insert,
    "A": _up,
    "B": _down,
    "C": _right,
    "D": _left,
    "E": _down_to_first,
    "F": _up_to_first,
    "G": _to_column,
    "H": _to,
    "J": _erase_below,
    "K": _erase_in_line,
    "P": _delete,
    "X": _erase_here,
    "`": _to_column,
    "d": _to_row,
    "f": _to,
}
