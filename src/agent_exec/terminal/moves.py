"""The sequences that move the cursor or erase, followed within the last lines of a text."""

from agent_exec.terminal.parser import sequence
from agent_exec.terminal.plain import LONG, NOTE, WINDOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.terminal.plain import Lines

    Numbers = tuple[int, ...]
    Action = Callable[[Lines, Numbers], None]

_WIDEST = 512
"""Where moves to the right end, if the width is not known."""

_ALTERNATE = {47, 1047, 1049}
_IN_STATUS = {"H", "f", "J", "s", "u", "c", "7", "8"}
"""What is heeded while a program is on a line that is kept apart."""


def follow(text: "Lines", tokens: list[str]) -> None:
    """Follow text and controls, which take turns in the list."""
    for place, token in enumerate(tokens):
        if place % 2 and token[0] == "\x1b":
            _sequence(text, token)
        elif text.hidden or not token:
            continue
        elif token == "\n":
            text.newline()
        elif token == "\r":
            text.returned = True
        elif token == "\b":
            text.catch_up()
            text.column = max(text.start, text.column - 1)
        elif not place % 2 or token == "\t":
            text.catch_up()
            if not text.status:
                text.write(token)


def _sequence(text: "Lines", token: str) -> None:
    key, numbers = sequence(token) if token[1:2] == "[" else (token[1:], (0,))
    if key in ("?h", "?l"):
        if not _ALTERNATE.isdisjoint(numbers):
            if key == "?h" and not text.hidden:
                _hide(text)
            text.hidden = key == "?h"
        return
    action = (_ACTIONS if token[1:2] == "[" else _ESCAPES).get(key)
    if action is None or text.hidden:
        return
    text.catch_up()
    if not text.status or key in _IN_STATUS:
        action(text, numbers)


def _count(numbers: "Numbers") -> int:
    return max(numbers[0], 1)


def _up(text: "Lines", numbers: "Numbers") -> None:
    text.leave()
    width = text.columns
    for _step in range(min(_count(numbers), WINDOW * 4)):
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


def _down(text: "Lines", numbers: "Numbers") -> None:
    text.leave()
    text.place(min(text.row + _count(numbers), len(text.lines) - 1), text.column)


def _down_to_first(text: "Lines", numbers: "Numbers") -> None:
    _down(text, numbers)
    text.place(text.row, 0)


def _up_to_first(text: "Lines", numbers: "Numbers") -> None:
    _up(text, numbers)
    text.column = text.start


def _right(text: "Lines", numbers: "Numbers") -> None:
    limit = text.start + (text.columns or _WIDEST)
    text.column = max(text.column, min(text.column + _count(numbers), limit - 1))


def _left(text: "Lines", numbers: "Numbers") -> None:
    text.column = max(text.start, text.column - _count(numbers))


def _to_column(text: "Lines", numbers: "Numbers") -> None:
    text.column = text.start + min(_count(numbers), text.columns or _WIDEST) - 1


def _to(text: "Lines", numbers: "Numbers") -> None:
    """Go to a place on the screen, whose first line is where the page begins."""
    row = numbers[0]
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
    _to_column(text, numbers[1:2] or (1,))
    text.home = row <= 1 and text.column == 0


def _to_row(text: "Lines", numbers: "Numbers") -> None:
    _to(text, (numbers[0], text.column - text.start + 1))


def _turn(text: "Lines", _: "Numbers" = ()) -> None:
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


def _erase_below(text: "Lines", numbers: "Numbers") -> None:
    part = numbers[0]
    if part == 2 or (part == 0 and text.home):
        _turn(text)
    elif part == 0:
        text.trim()
        text.lines[text.row] = text.lines[text.row][: text.column]
        del text.lines[text.row + 1 :]


def _erase_in_line(text: "Lines", numbers: "Numbers") -> None:
    if numbers[0] == 0:
        text.lines[text.row] = text.lines[text.row][: text.column]
    elif numbers[0] == 1:
        _blank(text, text.start, text.column + 1)
    elif text.columns:
        _blank(text, text.start, text.start + text.columns)
    else:
        text.lines[text.row] = ""


def _erase_here(text: "Lines", numbers: "Numbers") -> None:
    _blank(text, text.column, text.column + min(_count(numbers), 2 * LONG))


def _blank(text: "Lines", start: int, end: int) -> None:
    line = text.lines[text.row]
    rest = line[end:]
    text.lines[text.row] = line[:start].ljust(end) + rest if rest else line[:start]


def _delete(text: "Lines", numbers: "Numbers") -> None:
    line = text.lines[text.row]
    text.lines[text.row] = line[: text.column] + line[text.column + _count(numbers) :]


def _insert(text: "Lines", numbers: "Numbers") -> None:
    line = text.lines[text.row]
    if text.column < len(line):
        blanks = " " * min(_count(numbers), text.columns or _WIDEST)
        text.lines[text.row] = line[: text.column] + blanks + line[text.column :]
        if len(line) >= LONG:
            text.lines[text.row] = text.lines[text.row][: 2 * LONG - 1]


def _save(text: "Lines", _: "Numbers") -> None:
    if not text.status:
        text.saved = text.base + text.row, text.column


def _restore(text: "Lines", _: "Numbers") -> None:
    if text.saved is not None:
        text.status = False
        row = min(max(text.saved[0] - text.base, text.top), len(text.lines) - 1)
        text.place(row, text.saved[1])
        text.saved = None


def _hide(text: "Lines") -> None:
    """Leave a note that something is left out from now on."""
    text.catch_up()
    lines = text.lines
    if lines[-1]:
        lines.append("")
    if lines[-2:] != [NOTE, ""]:
        lines[-1:] = [NOTE, ""]
    text.place(len(lines) - 1, 0)
    text.status = False


_ACTIONS: "dict[str, Action]" = {
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
    "s": _save,
    "u": _restore,
}
_ESCAPES: "dict[str, Action]" = {
    "7": _save,
    "8": _restore,
    "D": _down,
    "E": lambda text, _: text.newline(),
    "M": _up,
    "c": _turn,
}
