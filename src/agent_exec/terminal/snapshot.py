"""A screen as text for a terminal: written to a fresh one of the same size, it makes that equal.

Both grids with their styles, the cursors that were saved, the modes, and a sequence that was only
begun. A character of which only some bytes have come is left out: output goes on with its first.
"""

from itertools import groupby

from agent_exec.terminal.grid import (
    BOLD,
    DEFAULT,
    DIM,
    FILLER,
    HIDDEN,
    ITALIC,
    REVERSE,
    RGB,
    STRUCK,
    UNDERLINE,
    Grid,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.terminal.grid import Style
    from agent_exec.terminal.screen import Saved, Screen

_FLAGS = {BOLD: "1", DIM: "2", ITALIC: "3", UNDERLINE: "4", REVERSE: "7", HIDDEN: "8", STRUCK: "9"}
_ON = {"application_keys": "\x1b[?1h", "bracketed_paste": "\x1b[?2004h", "newline_returns": "\x1b[20h"}


def redraw(screen: "Screen") -> str:
    """Return the text that makes a fresh terminal of this size equal to a screen."""
    return "".join(_parts(screen))


def _parts(screen: "Screen") -> "Iterator[str]":
    if screen.title:
        yield f"\x1b]2;{screen.title}\x07"
    yield from _tabs(screen)
    if screen.main is not None:
        yield from _cells(screen.main)
        yield from _save(screen, screen.main, screen.saved.get(False))
        yield "\x1b[0m\x1b[?1047h"
    elif True in screen.saved:
        yield "\x1b[?1047h"
        blank = Grid(screen.rows, screen.columns, DEFAULT)  # what is drawn there goes when it is left
        yield from _save(screen, blank, screen.saved[True])
        yield "\x1b[0m\x1b[?1047l"
    yield from _cells(screen.grid)
    yield from _save(screen, screen.grid, screen.saved.get(screen.alternate))
    yield from (text for name, text in _ON.items() if getattr(screen, name))
    yield from (f"\x1b[?{mode}h" for mode in screen.modes)
    if screen.cursor_style:
        yield f"\x1b[{screen.cursor_style} q"
    top, bottom = screen.top, screen.bottom
    if (top, bottom) != (0, screen.rows - 1):
        yield f"\x1b[{top + 1};{bottom + 1}r"
    if screen.origin:
        yield "\x1b[?6h"
    yield from _cursor(screen)
    if screen.inserting:
        yield "\x1b[4h"
    if not screen.autowrap:
        yield "\x1b[?7l"
    if not screen.cursor_shown:
        yield "\x1b[?25l"
    yield _style(screen.style)
    yield screen.parser.begun[0]


def _tabs(screen: "Screen") -> "Iterator[str]":
    stops = sorted(stop for stop in screen.tabs if stop < screen.columns)
    if stops != list(range(8, screen.columns, 8)):
        yield "\x1b[3g"
        yield from (f"\x1b[1;{stop + 1}H\x1bH" for stop in stops)


def _cells(grid: "Grid") -> "Iterator[str]":
    """Draw the rows of a grid that are not blank."""
    for row in range(grid.rows):
        text, styles = grid.text[row], grid.styles[row]
        end = grid.columns
        while end and text[end - 1] == " " and styles[end - 1] == DEFAULT:
            end -= 1
        if end:
            yield f"\x1b[{row + 1};1H"
        start = 0
        for style, run in groupby(styles[:end]):
            size = sum(1 for _ in run)
            yield _style(style) + "".join(text[start : start + size])
            start += size


def _save(screen: "Screen", grid: "Grid", saved: "Saved | None") -> "Iterator[str]":
    """Save the cursor that was saved, while the whole screen is the region and all modes are new."""
    if saved is None:
        return
    row, column, wrapping, style, charsets, shift, origin = saved
    row, column = min(row, screen.rows - 1), min(column, screen.columns - 1)
    yield "\x1b[?6h" if origin else ""
    yield f"\x1b[{row + 1};{column + 1}H"
    if wrapping and column == screen.columns - 1:
        yield from _rewrite(grid, row, column)
    yield from _designate(charsets)
    yield f"{_style(style)}{chr(14) if shift else ''}\x1b7\x0f\x1b(B\x1b)B"
    yield "\x1b[?6l" if origin else ""


def _cursor(screen: "Screen") -> "Iterator[str]":
    """Put the cursor where it is, with its character sets.

    If the character before it was printed last, that is how: a sequence may
    repeat it. It was printed in the present set, for a change of that makes a
    terminal forget it.
    """
    row, text = screen.row - (screen.top if screen.origin else 0), screen.grid.text[screen.row]
    before = screen.column if screen.wrapping else screen.column - 1
    if before >= 0 and text[before] == FILLER:
        before -= 1
    after = before + (2 if text[before + 1 : before + 2] == [FILLER] else 1)
    printed = before >= 0 and screen.last != "" and text[before].endswith(screen.last)
    printed = printed and (screen.wrapping or after == screen.column)
    sets = [*_designate(screen.charsets), "\x0e" if screen.shift else ""]
    yield from sets if printed else ()
    yield f"\x1b[{row + 1};{(before if printed or screen.wrapping else screen.column) + 1}H"
    if printed or screen.wrapping:
        yield from _rewrite(screen.grid, screen.row, before)
    yield from () if printed else sets


def _rewrite(grid: "Grid", row: int, column: int) -> "Iterator[str]":
    """Write a cell once more, or the wide character whose right half it is."""
    if grid.text[row][column] == FILLER:
        column -= 1
        yield "\b"
    yield _style(grid.styles[row][column]) + grid.text[row][column]


def _designate(charsets: list[str]) -> "Iterator[str]":
    for bracket, name in zip("()", charsets, strict=True):
        yield f"\x1b{bracket}{name}"


def _style(style: "Style") -> str:
    """Return the sequence that sets a style, whatever was set before."""
    foreground, background, flags = style
    fields = ["0", *(number for flag, number in _FLAGS.items() if flags & flag)]
    fields += _colour(foreground, 30, 38) + _colour(background, 40, 48)
    return f"\x1b[{';'.join(fields)}m"


def _colour(colour: int, basic: int, extended: int) -> list[str]:
    if colour < 0:
        return []
    if colour < 8:
        return [str(basic + colour)]
    if colour < 16:
        return [str(basic + 60 + colour - 8)]
    if colour < RGB:
        return [f"{extended};5;{colour}"]
    return [f"{extended};2;{colour >> 16 & 255};{colour >> 8 & 255};{colour & 255}"]
