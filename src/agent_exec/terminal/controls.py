"""What controls and sequences do to a screen: move the cursor, erase, insert, scroll, ask, set modes."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.terminal.screen import Screen

    Numbers = tuple[int, ...]
    Action = Callable[[Screen, Numbers], None]
    Simple = Callable[[Screen], None]

_KEPT = {5, 9, 12, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016}
"""Modes of colours, keypad, focus and mouse: they change nothing here, and a viewer's terminal wants them."""
_SWITCHES = {1: "application_keys", 7: "autowrap", 25: "cursor_shown", 2004: "bracketed_paste"}


def _count(numbers: "Numbers") -> int:
    return max(numbers[0], 1)


def _second(numbers: "Numbers") -> int:
    return numbers[1] if len(numbers) > 1 else 0


def _to_start(screen: "Screen") -> None:
    screen.column = 0
    screen.wrapping = False


def _back(screen: "Screen") -> None:
    screen.column = max(screen.column - 1, 0)
    screen.wrapping = False


def _feed_line(screen: "Screen") -> None:
    screen.linefeed()
    if screen.newline_returns:
        screen.column = 0


def _next_line(screen: "Screen") -> None:
    screen.linefeed()
    screen.column = 0


def _reverse_line(screen: "Screen") -> None:
    screen.wrapping = False
    if screen.row == screen.top:
        screen.grid.scroll(screen.top, screen.bottom, -1, screen.blank)
    elif screen.row > 0:
        screen.row -= 1


def _align(screen: "Screen") -> None:
    for row in range(screen.rows):
        screen.grid.put(row, 0, "E" * screen.columns, screen.blank)
    screen.go(0, 0)


def _shift(number: int) -> "Simple":
    return lambda screen: setattr(screen, "shift", number)


def _charset(number: int, name: str) -> "Simple":
    return lambda screen: screen.charsets.__setitem__(number, name)


def _move(rows: int, columns: int) -> "Action":
    """Return what moves the cursor so often; up and down it stays in the region if it is in it."""

    def move(screen: "Screen", numbers: "Numbers") -> None:
        low = screen.top if screen.row >= screen.top else 0
        high = screen.bottom if screen.row <= screen.bottom else screen.rows - 1
        screen.row = min(max(screen.row + rows * _count(numbers), low), high)
        screen.column = min(max(screen.column + columns * _count(numbers), 0), screen.columns - 1)
        screen.wrapping = False

    return move


def _to_first(rows: int) -> "Action":
    """Return what moves the cursor to the beginning of another line."""
    move = _move(rows, 0)

    def to_first(screen: "Screen", numbers: "Numbers") -> None:
        move(screen, numbers)
        screen.column = 0

    return to_first


def _tab(screen: "Screen", numbers: "Numbers" = (1,)) -> None:
    column = screen.column
    for _ in range(min(_count(numbers), screen.columns)):
        column += 1
        while column < screen.columns - 1 and column not in screen.tabs:
            column += 1
    screen.column = min(column, screen.columns - 1)
    screen.wrapping = False


def _tab_back(screen: "Screen", numbers: "Numbers") -> None:
    for _ in range(min(_count(numbers), screen.columns)):
        screen.column = max((stop for stop in screen.tabs if stop < screen.column), default=0)
    screen.wrapping = False


def _mark_tab(screen: "Screen") -> None:
    screen.tabs.add(screen.column)


def _clear_tabs(screen: "Screen", numbers: "Numbers") -> None:
    if numbers[0] == 0:
        screen.tabs.discard(screen.column)
    elif numbers[0] == 3:
        screen.tabs.clear()


def _to_column(screen: "Screen", numbers: "Numbers") -> None:
    screen.column = min(_count(numbers), screen.columns) - 1
    screen.wrapping = False


def _to_row(screen: "Screen", numbers: "Numbers") -> None:
    screen.go(_count(numbers) - 1, screen.column)


def _to(screen: "Screen", numbers: "Numbers") -> None:
    screen.go(_count(numbers) - 1, max(_second(numbers), 1) - 1)


def _erase_screen(screen: "Screen", numbers: "Numbers") -> None:
    part = numbers[0]
    if part < 2:
        _erase_line(screen, numbers)
    if part <= 2:
        first, end = ((screen.row + 1, screen.rows), (0, screen.row), (0, screen.rows))[part]
        screen.grid.blank_rows(first, end, screen.blank)
    screen.wrapping = False


def _erase_line(screen: "Screen", numbers: "Numbers") -> None:
    start = screen.column if numbers[0] == 0 else 0
    end = screen.column + 1 if numbers[0] == 1 else screen.columns
    if numbers[0] <= 2:
        screen.grid.blank(screen.row, start, end, screen.blank)
    screen.wrapping = False


def _erase_cells(screen: "Screen", numbers: "Numbers") -> None:
    end = min(screen.column + _count(numbers), screen.columns)
    screen.grid.blank(screen.row, screen.column, end, screen.blank)
    screen.wrapping = False


def _insert_cells(screen: "Screen", numbers: "Numbers") -> None:
    screen.grid.insert(screen.row, screen.column, _count(numbers), screen.blank)
    screen.wrapping = False


def _delete_cells(screen: "Screen", numbers: "Numbers") -> None:
    screen.grid.delete(screen.row, screen.column, _count(numbers), screen.blank)
    screen.wrapping = False


def _delete_lines(screen: "Screen", numbers: "Numbers", direction: int = 1) -> None:
    if screen.top <= screen.row <= screen.bottom:
        screen.grid.scroll(screen.row, screen.bottom, direction * _count(numbers), screen.blank)
        _to_start(screen)


def _insert_lines(screen: "Screen", numbers: "Numbers") -> None:
    _delete_lines(screen, numbers, -1)


def _scroll_up(screen: "Screen", numbers: "Numbers") -> None:
    screen.grid.scroll(screen.top, screen.bottom, _count(numbers), screen.blank)


def _scroll_down(screen: "Screen", numbers: "Numbers") -> None:
    if len(numbers) == 1:  # with more, it is about the mouse
        screen.grid.scroll(screen.top, screen.bottom, -_count(numbers), screen.blank)


def _region(screen: "Screen", numbers: "Numbers") -> None:
    bottom = min(_second(numbers) or screen.rows, screen.rows) - 1
    top = _count(numbers) - 1
    if top < bottom:
        screen.top = top
        screen.bottom = bottom
        screen.go(0, 0)


def _repeat(screen: "Screen", numbers: "Numbers") -> None:
    if screen.last:
        screen.write(screen.last * min(_count(numbers), screen.rows * screen.columns))


def _identify(answer: str) -> "Action":
    return lambda screen, numbers: None if numbers[0] else _say(screen, answer)


def _status(screen: "Screen", numbers: "Numbers") -> None:
    if numbers[0] == 5:
        _say(screen, "\x1b[0n")
    elif numbers[0] == 6:
        row = screen.row - (screen.top if screen.origin else 0)
        _say(screen, f"\x1b[{row + 1};{screen.column + 1}R")


def _say(screen: "Screen", text: str) -> None:
    if screen.answer is not None:
        screen.answer(text.encode())


def _keypad(on: bool) -> "Simple":
    change = _private_modes(on)
    return lambda screen: change(screen, (66,))


def _cursor_style(screen: "Screen", numbers: "Numbers") -> None:
    screen.cursor_style = numbers[0] if numbers[0] <= 6 else 0


def _modes(on: bool) -> "Action":
    def change(screen: "Screen", numbers: "Numbers") -> None:
        for number in numbers:
            if number == 4:
                screen.inserting = on
            elif number == 20:
                screen.newline_returns = on

    return change


def _private_modes(on: bool) -> "Action":
    def change(screen: "Screen", numbers: "Numbers") -> None:
        for number in numbers:
            if number in _SWITCHES:
                setattr(screen, _SWITCHES[number], on)
            elif number in _KEPT:
                screen.modes.pop(number, None)
                if on:
                    screen.modes[number] = None
            elif number == 6:
                screen.origin = on
                screen.go(0, 0)
            elif number in {47, 1047}:
                screen.switch(on)
            elif number == 1048:
                (screen.save if on else screen.restore)()
            elif number == 1049 and on != screen.alternate:
                if on:
                    screen.save()
                screen.switch(on)
                if not on:
                    screen.restore()

    return change


CODES: "dict[str, Simple]" = {
    "\b": _back,
    "\t": _tab,
    "\n": _feed_line,
    "\v": _feed_line,
    "\f": _feed_line,
    "\r": _to_start,
    "\x0e": _shift(1),
    "\x0f": _shift(0),
}
ESCAPES: "dict[str, Simple]" = {
    "#8": _align,
    "=": _keypad(True),
    ">": _keypad(False),
    "7": lambda screen: screen.save(),
    "8": lambda screen: screen.restore(),
    "D": lambda screen: screen.linefeed(),
    "E": _next_line,
    "H": _mark_tab,
    "M": _reverse_line,
    "c": lambda screen: screen.reset(),
    **{"(" + name: _charset(0, name) for name in "012AB"},
    **{")" + name: _charset(1, name) for name in "012AB"},
}
SEQUENCES: "dict[str, Action]" = {
    "@": _insert_cells,
    "A": _move(-1, 0),
    "B": _move(1, 0),
    "C": _move(0, 1),
    "D": _move(0, -1),
    "E": _to_first(1),
    "F": _to_first(-1),
    "G": _to_column,
    "H": _to,
    "I": _tab,
    "J": _erase_screen,
    "K": _erase_line,
    "L": _insert_lines,
    "M": _delete_lines,
    "P": _delete_cells,
    "S": _scroll_up,
    "T": _scroll_down,
    "X": _erase_cells,
    "Z": _tab_back,
    "`": _to_column,
    "a": _move(0, 1),
    "b": _repeat,
    "c": _identify("\x1b[?6c"),
    ">c": _identify("\x1b[>0;0;0c"),
    "d": _to_row,
    "e": _move(1, 0),
    "f": _to,
    "g": _clear_tabs,
    "h": _modes(True),
    "l": _modes(False),
    "?h": _private_modes(True),
    "?l": _private_modes(False),
    "n": _status,
    "r": _region,
    "s": lambda screen, _: screen.save(),
    "u": lambda screen, _: screen.restore(),
    " q": _cursor_style,
    "!p": lambda screen, _: screen.soft_reset(),
}
