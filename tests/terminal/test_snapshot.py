"""A snapshot makes a fresh terminal equal to the one it was taken of, now and for all that follows."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent_exec.terminal.screen import Screen
from agent_exec.terminal.snapshot import redraw
from terminal.pieces import is_outside, state, streams

resizes = st.none() | st.tuples(st.integers(1, 12), st.integers(1, 30))


def redrawn(screen: Screen) -> Screen:
    fresh = Screen(screen.rows, screen.columns)
    fresh.feed(redraw(screen).encode())
    return fresh


@settings(max_examples=150)
@given(
    st.lists(st.tuples(streams, resizes), min_size=1, max_size=4),
    streams,
    st.integers(1, 8),
    st.integers(1, 24),
)
def test_a_snapshot_equals_the_screen_after_any_stream(
    parts: list[tuple[bytes, tuple[int, int] | None]], more: bytes, rows: int, columns: int
) -> None:
    screen = Screen(rows, columns)
    for data, size in parts:
        screen.feed(data)
        if size is not None:
            screen.resize(*size)
    assume(not is_outside(screen))
    fresh = redrawn(screen)
    assert state(fresh) == state(screen)
    if fresh.last != screen.last:  # it was printed elsewhere; only a sequence that repeats it would tell
        assert fresh.last == ""
        screen.last = ""
    held = screen.parser.begun[1]
    everything = b"".join(data for data, _ in parts)
    screen.feed(more)
    fresh.feed((everything[-held:] if held else b"") + more)
    assert state(fresh) == state(screen)


def test_a_snapshot_has_the_modes_of_a_full_screen_program() -> None:
    screen = Screen(4, 10)
    screen.feed(
        b"$ vim\x1b7\r\n\x1b[?1049h\x1b[?1h\x1b=\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?25l\x1b[2 q\x1b]2;x\x07"
    )
    screen.feed(b"\x1b[1;31m\x1b[2;3rtext\x1b[?1002l\x1b[?1000h")
    fresh = redrawn(screen)
    assert state(fresh) == state(screen)
    assert list(fresh.modes) == [66, 1006, 1000]
    assert fresh.cursor_style == 2
    for one in (fresh, screen):
        one.feed(b"\x1b[?1049l\x1b[?25h\x1b>\x1b[?1006l!")
    assert state(fresh) == state(screen)
    assert fresh.text() == screen.text()


def test_the_last_character_can_still_be_repeated() -> None:
    screen = Screen(2, 20)
    screen.feed(b"\x1b(0q")
    for one in (fresh := redrawn(screen), screen):
        one.feed(b"\x1b[4b")
    assert fresh.text() == screen.text() == "─────"
