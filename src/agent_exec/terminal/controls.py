"""What the short controls of a terminal do to a screen, and its modes."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.terminal.emulator import Emulator

    Numbers = tuple[int, ...]
    Action = Callable[[Emulator, Numbers], None]
    Simple = Callable[[Emulator], None]


def to_start(screen: "Emulator") -> None:
    """Go to the first column."""
    screen.column = 0
    screen.wrapping = False


def _feed_line(screen: "Emulator") -> None:
    screen.linefeed()
    if screen.newline_returns:
        screen.column = 0


def _next_line(screen: "Emulator") -> None:
    screen.linefeed()
    screen.column = 0


def _reverse_line(screen: "Emulator") -> None:
    screen.wrapping = False
    if screen.row == screen.top:
        screen.grid.scroll_down(screen.top, screen.bottom, 1, screen.blank)
    elif screen.row > 0:
        screen.row -= 1


def tab(screen: "Emulator", count: int = 1) -> None:
    """Go to the next stop, or so many of them."""
    column = screen.column
    for _ in range(min(count, screen.columns)):
        column += 1
        while column < screen.columns - 1 and column not in screen.tabs:
            column += 1
    screen.column = min(column, screen.columns - 1)
    screen.wrapping = False


def _mark_tab(screen: "Emulator") -> None:
    screen.tabs.add(screen.column)


def _back(screen: "Emulator") -> None:
    screen.column = max(screen.column - 1, 0)
    screen.wrapping = False


def _align(screen: "Emulator") -> None:
    for row in range(screen.rows):
        screen.grid.put(row, 0, "E" * screen.columns, screen.blank)
    screen.go(0, 0)


def _shift(number: int) -> "Simple":
    def shift(screen: "Emulator") -> None:
        screen.shift = number

    return shift


def _charset(number: int, name: str) -> "Simple":
    def choose(screen: "Emulator") -> None:
        screen.charsets[number] = name

    return choose


def modes(on: bool) -> "Action":
    """Return what switches modes on or off."""

    def change(screen: "Emulator", numbers: "Numbers") -> None:
        for number in numbers:
            if number == 4:
                screen.inserting = on
            elif number == 20:
                screen.newline_returns = on

    return change


def private_modes(on: bool) -> "Action":
    """Return what switches the modes of this kind of terminal on or off."""

    def change(screen: "Emulator", numbers: "Numbers") -> None:
        for number in numbers:
            name = _SWITCHES.get(number)
            if name is not None:
                setattr(screen, name, on)
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


_SWITCHES = {1: "application_keys", 7: "autowrap", 25: "cursor_shown", 2004: "bracketed_paste"}

CODES: "dict[str, Simple]" = {
    "\b": _back,
    "\t": tab,
    "\n": _feed_line,
    "\v": _feed_line,
    "\f": _feed_line,
    "\r": to_start,
    "\x0e": _shift(1),
    "\x0f": _shift(0),
}

ESCAPES: "dict[str, Simple]" = {
    "#8": _align,
    "7": lambda screen: screen.save(),
    "8": lambda screen: screen.restore(),
    "D": lambda screen: screen.linefeed(),
    "E": _next_line,
    "H": _mark_tab,
    "M": _reverse_line,
    "c": lambda screen: screen.reset(),
}
for _name in "012AB":
    ESCAPES["(" + _name] = _charset(0, _name)
    ESCAPES[")" + _name] = _charset(1, _name)
