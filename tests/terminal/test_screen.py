"""A screen shows what a terminal would."""

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.model.errors import InvalidArgument
from agent_exec.terminal.grid import BOLD, DEFAULT, REVERSE, RGB, UNDERLINE
from agent_exec.terminal.plain import Plain
from agent_exec.terminal.screen import Screen
from terminal.pieces import cut, long_stream, streams


def drawn(data: bytes, rows: int = 6, columns: int = 20) -> Screen:
    screen = Screen(rows, columns)
    screen.feed(data)
    return screen


def everything(screen: Screen) -> object:
    """Return all that can be seen of a screen."""
    rows = [screen.spans(row) for row in range(screen.rows)]
    return screen.text(), screen.cursor, screen.title, screen.alternate, screen.cursor_shown, rows


@pytest.mark.parametrize(
    ("raw", "text", "cursor"),
    [
        (b"one\r\ntwo", "one\ntwo", (1, 3)),
        (b"one\ntwo", "one\n   two", (1, 6)),
        (b"\x1b[20hone\ntwo", "one\ntwo", (1, 3)),
        (b"x" * 20, "x" * 20, (0, 19)),
        (b"x" * 21, "x" * 20 + "\nx", (1, 1)),
        (b"x" * 20 + b"\r\ny", "x" * 20 + "\ny", (1, 1)),
        (b"\x1b[?7l" + b"x" * 30 + b"y", "x" * 19 + "y", (0, 19)),
        (b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7", "2\n3\n4\n5\n6\n7", (5, 1)),
        (b"abc\x1b[2D\x1b[1CX", "abX", (0, 3)),
        (b"\x1b[3;4HX\x1b[AY\x1b[1BZ\x1b[GA", "\n    Y\nA  X Z", (2, 1)),
        (b"\x1b[3dX\x1b[2eY\x1b[3aZ", "\n\nX\n\n Y   Z", (4, 6)),
        (b"abc\x1b[1;2H\x1b[K", "a", (0, 1)),
        (b"abc\x1b[1;2H\x1b[1K", "  c", (0, 1)),
        (b"a\r\nb\r\nc\x1b[2;1H\x1b[J", "a", (1, 0)),
        (b"a\r\nb\r\nc\x1b[2;1H\x1b[1J", "\n\nc", (1, 0)),
        (b"a\r\nb\x1b[2Jx", "\n x", (1, 2)),
        (b"abcdef\x1b[1;2H\x1b[2P", "adef", (0, 1)),
        (b"abcdef\x1b[1;2H\x1b[2@", "a  bcdef", (0, 1)),
        (b"abcdef\x1b[1;2H\x1b[2X", "a  def", (0, 1)),
        (b"abc\x1b[1;2H\x1b[4hXY\x1b[4l", "aXYbc", (0, 3)),
        (b"a\r\nb\r\nc\x1b[2;1H\x1b[L", "a\n\nb\nc", (1, 0)),
        (b"a\r\nb\r\nc\x1b[2;1H\x1b[M", "a\nc", (1, 0)),
        (b"a\r\nb\r\nc\x1b[S", "b\nc", (2, 1)),
        (b"a\r\nb\r\nc\x1b[2T", "\n\na\nb\nc", (2, 1)),
        (b"a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\nx", "a\nc\nx\nd", (2, 1)),
        (b"a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[2;1H\x1bMx", "a\nx\nb\nd", (1, 1)),
        (b"\x1b[2;4r\x1b[?6hA\x1b[9;9HB\x1b[?6lC", "C\nA\n\n        B", (0, 1)),
        (b"\x1b[3;3H\x1b7\x1b[H\x1b8X\x1b[s\x1b[HY\x1b[uZ", "Y\n\n  XZ", (2, 4)),
        (b"a\tb\x1b[3g\tc", "a       b          c", (0, 19)),
        (b"\x1b[3g\x1b[5G\x1bH\r\tx\x1b[Zy\x1b[2Iz", "    y              z", (0, 19)),
        (b"\x1b(0lqk\x1b(Blqk\x1b)0\x0eqx\x0fq", "┌─┐lqk─│q", (0, 9)),
        (b"-\x1b[4b|", "-----|", (0, 6)),
        (b"x\x1bDy\x1bEz", "x\n y\nz", (2, 1)),
        (b"main\x1b[?1049h\x1b[Halt\x1b[?1049l!", "main!", (0, 5)),
        (b"main\x1b[?1049h\x1b[Halt", "alt", (0, 3)),
        (b"abc\x1bcd", "d", (0, 1)),
        (b"\x1b#8\x1b[2;2H\x1b[J", "E" * 20 + "\nE", (1, 1)),
        ("日本x".encode(), "日本x", (0, 5)),
        ("日本\x1b[1;2HX".encode(), " X本", (0, 2)),
        ("日本\x1b[1;3HX".encode(), "日X", (0, 3)),
        (("x" * 19 + "日").encode(), "x" * 19 + "\n日", (1, 2)),
        ("日本\x1b[1;2H\x1b[P".encode(), " 本", (0, 1)),
        (("x" * 18 + "日\x1b[1;1H\x1b[@").encode(), " " + "x" * 18, (0, 0)),
        ("e\u0301 \u0301👩\u200d🚀!".encode(), "e\u0301 \u0301👩\u200d🚀!", (0, 7)),
        (b"a\x1b[12;5", "a", (0, 1)),
        (b"a\x1bP1$r0m\x1b\\b\x1b_x\x1b\\c\x1b[>4;1md", "abcd", (0, 4)),
        (b"a\xffb\xc2\x85c", "a\ufffdbc", (0, 4)),
    ],
)
def test_what_is_seen(raw: bytes, text: str, cursor: tuple[int, int]) -> None:
    screen = drawn(raw)
    assert (screen.text(), screen.cursor) == (text, cursor)


def test_styles_are_kept_for_each_cell() -> None:
    screen = drawn(
        b"\x1b[1;4;31mA\x1b[22;24;39;7;48;5;200mB\x1b[0;38:2::1:2:3mC\x1b[38;2;9;9;9;1mD\x1b[mE\x1b[97;100mF"
    )
    assert screen.spans(0)[:6] == [
        (0, 1, "A", (1, -1, BOLD | UNDERLINE)),
        (1, 1, "B", (-1, 200, REVERSE)),
        (2, 1, "C", (RGB | 0x010203, -1, 0)),
        (3, 1, "D", (RGB | 0x090909, -1, BOLD)),
        (4, 1, "E", DEFAULT),
        (5, 1, "F", (15, 8, 0)),
    ]
    assert screen.spans(0)[6] == (6, 14, " " * 14, DEFAULT)
    screen.feed(b"\x1b[K")
    assert screen.spans(0)[6] == (6, 14, " " * 14, (-1, 8, 0))
    assert screen.spans(1) == [(0, 20, " " * 20, DEFAULT)]


def test_modes_and_title_are_reported() -> None:
    screen = drawn(b"\x1b[?1h\x1b[?2004h\x1b[?25l\x1b]2;over there\x1b\\\x1b]1;icon\x07")
    assert screen.application_keys
    assert screen.bracketed_paste
    assert not screen.cursor_shown
    assert screen.title == "over there"
    screen.feed(b"\x1b[?1l\x1b[?2004l\x1b[?25h\x1b]0;\x07")
    assert not any((screen.application_keys, screen.bracketed_paste, screen.title))
    assert screen.cursor_shown


def test_questions_are_answered_by_a_client_that_supports_them() -> None:
    said: list[bytes] = []
    screen = Screen(answer=said.append)
    screen.feed(b"\x1b[c\x1b[>c\x1b[5n\x1b[3;7H\x1b[6n\x1b[?15n")
    assert said == [b"\x1b[?6c", b"\x1b[>0;0;0c", b"\x1b[0n", b"\x1b[3;7R"]
    drawn(b"\x1b[6n")


def test_resizing_keeps_what_is_near_the_cursor() -> None:
    screen = drawn(b"1\r\n2\r\n3\r\n4 is a long line\r\n5")
    screen.resize(3, 6)
    assert (screen.text(), screen.cursor) == ("3\n4 is a\n5", (2, 1))
    screen.resize(5, 30)
    assert (screen.text(), screen.cursor) == ("3\n4 is a\n5", (2, 1))
    screen.feed(b"\x1b[?1049h\x1b[5;1Hbottom")
    screen.resize(2, 4)
    assert (screen.text(), screen.cursor) == ("\nbott", (1, 3))
    screen.feed(b"\x1b[?1049lx")
    assert (screen.text(), screen.cursor) == ("4 is\n5x", (1, 2))
    for rows, columns in ((0, 80), (24, 0), (10**6, 80)):
        with pytest.raises(InvalidArgument, match="rows and columns"):
            screen.resize(rows, columns)


def test_a_flood_of_lines_leaves_the_last_ones() -> None:
    for end in (b"", b"\x1b[1;1HX", b"tail"):
        data = b"".join(b"%d\r\n" % number for number in range(5000)) + end
        slowly = Screen(6, 20)
        slowly.feed(b"\x1b[4;1Hold\r\nold old old\x1b[2;5H")
        fast = Screen(6, 20)
        fast.feed(b"\x1b[4;1Hold\r\nold old old\x1b[2;5H")
        for start in range(0, len(data), 3):
            slowly.feed(data[start : start + 3])
        fast.feed(data)
        assert everything(fast) == everything(slowly)


@settings(max_examples=400, deadline=None)
@given(data=streams, seed=st.integers(0, 2**32))
def test_how_it_is_cut_does_not_matter(data: bytes, seed: int) -> None:
    whole = drawn(data)
    screen = Screen(6, 20)
    for piece in cut(data, seed):
        screen.feed(piece)
    assert everything(screen) == everything(whole)


@pytest.mark.parametrize("seed", range(8))
def test_any_order_of_anything_keeps_the_grid_whole(seed: int) -> None:
    chance = random.Random(seed)
    data = long_stream(seed, 4000) + chance.randbytes(20000)
    screen = Screen(5, 17)
    while data:
        size = chance.randint(1, 400)
        screen.feed(data[:size])
        data = data[size:]
        if chance.random() < 0.3:
            screen.resize(chance.randint(1, 30), chance.randint(1, 60))
        row, column = screen.cursor
        assert 0 <= row < screen.rows
        assert 0 <= column < screen.columns
        for number in range(screen.rows):
            assert sum(span[1] for span in screen.spans(number)) == screen.columns
        assert "\ud800" not in screen.text()


def test_colours_and_clusters_without_end_are_bounded() -> None:
    chance = random.Random(3)

    def flood() -> bytes:
        return b"".join(
            f"\x1b[38;2;{chance.randrange(256)};{chance.randrange(256)};{chance.randrange(256)}m"
            f"x{chr(chance.randint(0x300, 0x36F))}{chr(chance.randint(0x300, 0x36F))}".encode()
            for _ in range(2500)
        )

    screen = Screen()
    screen.feed(flood())
    tracemalloc.start()
    for _ in range(4):
        screen.feed(flood())
        screen.feed(b"\x1b]0;" + b"t" * 50000 + b"\x1b[" + b"1;" * 9999)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 8_000_000
    before = screen.spans(3)
    assert all(span[3][0] >= RGB for span in before)
    assert len(screen.spans(3)) == 80


@pytest.mark.parametrize("kind", [b"]0;", b"k", b"P", b"X", b"^", b"_"])
@pytest.mark.parametrize("end", [b"\x1b\\", b"\x07\x1b\\", b"\x18", b"\r\n", b""])
def test_a_screen_and_a_text_agree_where_a_string_ends(kind: bytes, end: bytes) -> None:
    """They have one grammar: what one shows, the other does not hide."""
    raw = b"above\r\n\x1b" + kind + b"title" + end + b"below"
    plain = Plain()
    given = plain.feed(raw)
    assert drawn(raw).text().rstrip() == (given + plain.finish()).rstrip()
