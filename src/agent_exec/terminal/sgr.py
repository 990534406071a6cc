"""The styles of cells, as the sequences for colours change them."""

from agent_exec.terminal.cells import (
    BOLD,
    DEFAULT,
    DIM,
    HIDDEN,
    ITALIC,
    REVERSE,
    RGB,
    STRUCK,
    UNDERLINE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.terminal.cells import Style

_SET = {1: BOLD, 2: DIM, 3: ITALIC, 4: UNDERLINE, 7: REVERSE, 8: HIDDEN, 9: STRUCK, 21: UNDERLINE}
_CLEAR = {22: BOLD | DIM, 23: ITALIC, 24: UNDERLINE, 27: REVERSE, 28: HIDDEN, 29: STRUCK}


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
        elif number in _SET:
            flags |= _SET[number]
        elif number in _CLEAR:
            flags &= ~_CLEAR[number]
        elif 30 <= number <= 37:
            foreground = number - 30
        elif 90 <= number <= 97:
            foreground = number - 82
        elif 40 <= number <= 47:
            background = number - 40
        elif 100 <= number <= 107:
            background = number - 92
        elif number in {38, 48, 58}:
            if not parts:
                kind = next(fields, "")
                parts = [kind, *(next(fields, "") for _ in range({"5": 1, "2": 3}.get(kind, 0)))]
            colour = _colour(parts)
            if number == 38:
                foreground = foreground if colour is None else colour
            elif number == 48:
                background = background if colour is None else colour
        elif number == 39:
            foreground = -1
        elif number == 49:
            background = -1
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
