"""What control sequences do to a screen: move the cursor, erase, insert, scroll, ask."""

from agent_exec.terminal.controls import modes, private_modes, tab, to_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.terminal.controls import Action, Numbers
    from agent_exec.terminal.emulator import Emulator

_MOST = 100_000
_FIELDS = 16


def understand(token: str) -> "tuple[Action, Numbers]":
    """Return what a control sequence asks for, and its numbers."""
    body = token[2:-1]
    prefix = body[:1] if body[:1] in set("<=>?") else ""
    fields = body[len(prefix) :].rstrip(" !\"#$%&'()*+,-./")
    key = prefix + body[len(prefix) + len(fields) :] + token[-1]
    numbers = tuple(min(int(f), _MOST) if f.isdecimal() else 0 for f in fields.split(";")[:_FIELDS])
    return SEQUENCES.get(key, ignore), numbers


def ignore(_screen: "Emulator", _numbers: "Numbers") -> None:
    """Do nothing."""


def _count(numbers: "Numbers") -> int:
    return max(numbers[0], 1)


def _second(numbers: "Numbers") -> int:
    return numbers[1] if len(numbers) > 1 else 0


def _move(screen: "Emulator", rows: int, columns: int) -> None:
    """Move the cursor; up and down it stays in the region if it is in it."""
    low = screen.top if screen.row >= screen.top else 0
    high = screen.bottom if screen.row <= screen.bottom else screen.rows - 1
    screen.row = min(max(screen.row + rows, low), high)
    screen.column = min(max(screen.column + columns, 0), screen.columns - 1)
    screen.wrapping = False


def _tab_back(screen: "Emulator", numbers: "Numbers") -> None:
    for _ in range(min(_count(numbers), screen.columns)):
        screen.column = max((stop for stop in screen.tabs if stop < screen.column), default=0)
    screen.wrapping = False


def _clear_tabs(screen: "Emulator", numbers: "Numbers") -> None:
    if numbers[0] == 0:
        screen.tabs.discard(screen.column)
    elif numbers[0] == 3:
        screen.tabs.clear()


def _to_column(screen: "Emulator", numbers: "Numbers") -> None:
    _move(screen, 0, _count(numbers) - 1 - screen.column)


def _to_row(screen: "Emulator", numbers: "Numbers") -> None:
    screen.go(_count(numbers) - 1, screen.column)


def _to(screen: "Emulator", numbers: "Numbers") -> None:
    screen.go(_count(numbers) - 1, max(_second(numbers), 1) - 1)


def _erase_screen(screen: "Emulator", numbers: "Numbers") -> None:
    grid = screen.grid
    if numbers[0] == 0:
        grid.blank(screen.row, screen.column, screen.columns, screen.blank)
        grid.blank_rows(screen.row + 1, screen.rows, screen.blank)
    elif numbers[0] == 1:
        grid.blank_rows(0, screen.row, screen.blank)
        grid.blank(screen.row, 0, screen.column + 1, screen.blank)
    elif numbers[0] == 2:
        grid.blank_rows(0, screen.rows, screen.blank)
    screen.wrapping = False


def _erase_line(screen: "Emulator", numbers: "Numbers") -> None:
    start = screen.column if numbers[0] == 0 else 0
    end = screen.column + 1 if numbers[0] == 1 else screen.columns
    if numbers[0] <= 2:
        screen.grid.blank(screen.row, start, end, screen.blank)
    screen.wrapping = False


def _erase_cells(screen: "Emulator", numbers: "Numbers") -> None:
    end = min(screen.column + _count(numbers), screen.columns)
    screen.grid.blank(screen.row, screen.column, end, screen.blank)
    screen.wrapping = False


def _insert_cells(screen: "Emulator", numbers: "Numbers") -> None:
    screen.grid.insert(screen.row, screen.column, _count(numbers), screen.blank)
    screen.wrapping = False


def _delete_cells(screen: "Emulator", numbers: "Numbers") -> None:
    screen.grid.delete(screen.row, screen.column, _count(numbers), screen.blank)
    screen.wrapping = False


def _insert_lines(screen: "Emulator", numbers: "Numbers") -> None:
    if screen.top <= screen.row <= screen.bottom:
        screen.grid.scroll_down(screen.row, screen.bottom, _count(numbers), screen.blank)
        to_start(screen)


def _delete_lines(screen: "Emulator", numbers: "Numbers") -> None:
    if screen.top <= screen.row <= screen.bottom:
        screen.grid.scroll_up(screen.row, screen.bottom, _count(numbers), screen.blank)
        to_start(screen)


def _scroll_up(screen: "Emulator", numbers: "Numbers") -> None:
    screen.grid.scroll_up(screen.top, screen.bottom, _count(numbers), screen.blank)


def _scroll_down(screen: "Emulator", numbers: "Numbers") -> None:
    if len(numbers) == 1:  # with more, it is about the mouse
        screen.grid.scroll_down(screen.top, screen.bottom, _count(numbers), screen.blank)


def _region(screen: "Emulator", numbers: "Numbers") -> None:
    bottom = min(_second(numbers) or screen.rows, screen.rows) - 1
    top = _count(numbers) - 1
    if top < bottom:
        screen.top = top
        screen.bottom = bottom
        screen.go(0, 0)


def _repeat(screen: "Emulator", numbers: "Numbers") -> None:
    if screen.last:
        screen.write(screen.last * min(_count(numbers), screen.rows * screen.columns))


def _identify(screen: "Emulator", numbers: "Numbers") -> None:
    if numbers[0] == 0:
        _say(screen, "\x1b[?6c")


def _identify_more(screen: "Emulator", numbers: "Numbers") -> None:
    if numbers[0] == 0:
        _say(screen, "\x1b[>0;0;0c")


def _status(screen: "Emulator", numbers: "Numbers") -> None:
    if numbers[0] == 5:
        _say(screen, "\x1b[0n")
    elif numbers[0] == 6:
        row = screen.row - (screen.top if screen.origin else 0)
        _say(screen, f"\x1b[{row + 1};{screen.column + 1}R")


def _say(screen: "Emulator", text: str) -> None:
    if screen.answer is not None:
        screen.answer(text.encode())


SEQUENCES: "dict[str, Action]" = {
    "@": _insert_cells,
    "A": lambda screen, numbers: _move(screen, -_count(numbers), 0),
    "B": lambda screen, numbers: _move(screen, _count(numbers), 0),
    "C": lambda screen, numbers: _move(screen, 0, _count(numbers)),
    "D": lambda screen, numbers: _move(screen, 0, -_count(numbers)),
    "E": lambda screen, numbers: _move(screen, _count(numbers), -screen.columns),
    "F": lambda screen, numbers: _move(screen, -_count(numbers), -screen.columns),
    "G": _to_column,
    "H": _to,
    "I": lambda screen, numbers: tab(screen, _count(numbers)),
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
    "a": lambda screen, numbers: _move(screen, 0, _count(numbers)),
    "b": _repeat,
    "c": _identify,
    ">c": _identify_more,
    "d": _to_row,
    "e": lambda screen, numbers: _move(screen, _count(numbers), 0),
    "f": _to,
    "g": _clear_tabs,
    "h": modes(True),
    "l": modes(False),
    "?h": private_modes(True),
    "?l": private_modes(False),
    "n": _status,
    "r": _region,
    "s": lambda screen, _: screen.save(),
    "u": lambda screen, _: screen.restore(),
    "!p": lambda screen, _: screen.soft_reset(),
}
