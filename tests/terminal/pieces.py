"""What tests of this room share: bytes that terminals get, and ways to cut them."""

import random
from itertools import pairwise

from hypothesis import strategies as st

from agent_exec.terminal.grid import Grid
from agent_exec.terminal.screen import Screen

FRAGMENTS = [
    b"\r", b"\n", b"\r\n", b"\r\r\n", b"\b", b"\t", b"\x07", b"\x00", b"\v", b"\x0e", b"\x0f", b"\x18", b"\x7f",
    b"hello world", b"a", b"  ", b"12%", b"=" * 30, "größe".encode(), "日本".encode(), "e\u0301".encode(),
    "👩\u200d🚀".encode(), b"\xe2\x96", b"\xff", b"\xc2\x9b", b"\xc2",
    b"\x1b[31m", b"\x1b[0m", b"\x1b[38;5;120m", b"\x1b[48;2;1;2;3m", b"\x1b[7m", b"\x1b[K", b"\x1b[1K",
    b"\x1b[2K", b"\x1b[J", b"\x1b[1J", b"\x1b[2J", b"\x1b[H", b"\x1b[3;5H", b"\x1b[999;999H", b"\x1b[A",
    b"\x1b[3A", b"\x1b[B", b"\x1b[5C", b"\x1b[2D", b"\x1b[999C", b"\x1b[10G", b"\x1b[2P", b"\x1b[3@", b"\x1b[4X",
    b"\x1b[2L", b"\x1b[M", b"\x1b[S", b"\x1b[2T", b"\x1b[2;5r", b"\x1b[r", b"\x1b7", b"\x1b8", b"\x1b[s",
    b"\x1b[u", b"\x1bM", b"\x1bD", b"\x1bE", b"\x1bH", b"\x1b[g", b"\x1b[3g", b"\x1b[Z", b"\x1b[2I", b"\x1bc", b"\x1b#8",
    b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?47h", b"\x1b[?47l", b"\x1b[?25l", b"\x1b[?6h", b"\x1b[?6l",
    b"\x1b[?7l", b"\x1b[?7h", b"\x1b[4h", b"\x1b[4l", b"\x1b[!p", b"\x1b[6n", b"\x1b[c", b"\x1b[3b", b"\x1b(0", b"\x1b(B",
    b"\x1b)0", b"\x1b]0;a title\x07", b"\x1b]2;other\x1b\\", b"\x1bP+q544e\x1b\\", b"\x1b]", b"\x1b", b"\x1b[",
    b"\x1b[12", b"\x1b[" + b"1" * 90, b"\x1b[3;", b"\x1b_x", b"\x1bk", b"\x1b[ q", b"\x1b[1 A", b"\x1b[>c", b"q" * 700,
]  # fmt: skip

streams = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=6)), max_size=40).map(b"".join)


def cut(data: bytes, seed: int) -> list[bytes]:
    """Cut bytes at random places; the pieces together are all of it."""
    chance = random.Random(seed)
    places = sorted(chance.randint(0, len(data)) for _ in range(chance.randint(0, 12)))
    return [data[a:b] for a, b in pairwise([0, *places, len(data)])]


def long_stream(seed: int, fragments: int) -> bytes:
    """Return many fragments in random order, with plain lines among them."""
    chance = random.Random(seed)
    plain = [b"line %d\r\n" % number for number in range(20)]
    return b"".join(chance.choice(chance.choice((FRAGMENTS, plain))) for _ in range(fragments))


def moving_stream(seed: int, moves: int) -> bytes:
    """Return lines, some of them very long, with many moves that go far."""
    chance = random.Random(seed)
    found = []
    for _ in range(moves):
        far = chance.randint(1, 99)
        choices = (
            b"\n",
            b"\r\n",
            b"ab\r",
            b"\x1b[J",
            b"\x1b[2J",
            b"\x1b[H",
            b"\x1b7",
            b"\x1b8",
            b"\x1b[%dA" % far,
        )
        more = (b"\x1b[%d;%dH" % (far, chance.randint(1, 99)), b"x" * chance.randint(1, 9000))
        found.append(chance.choice(choices + more))
    return b"".join(found)


def state(screen: Screen) -> dict[str, object]:
    """Return all of a screen that has an effect on what is drawn, now or later, but for the last character."""

    def cells(grid: Grid | None) -> object:
        return None if grid is None else (grid.text, grid.styles)

    saved = {}
    for alternate, (row, column, wrapping, *rest) in screen.saved.items():
        if screen.alternate or not alternate:
            at = min(row, screen.rows - 1), min(column, screen.columns - 1)
            saved[alternate] = (*at, wrapping and at[1] == screen.columns - 1, *rest)
    names = (
        "rows columns cursor wrapping top bottom origin autowrap inserting charsets shift style title cursor_shown "
        "application_keys bracketed_paste newline_returns cursor_style alternate"
    )
    return {name: getattr(screen, name) for name in names.split()} | {
        "grid": cells(screen.grid),
        "main": cells(screen.main),
        "saved": saved,
        "modes": list(screen.modes),
        "tabs": {stop for stop in screen.tabs if stop < screen.columns},
        "begun": screen.parser.begun[0],
    }


def is_outside(screen: Screen) -> bool:
    """True if the cursor is where no sequence can put it: outside of the region that its origin is in."""
    return screen.origin and not screen.top <= screen.row <= screen.bottom
