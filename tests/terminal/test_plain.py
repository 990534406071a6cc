"""Terminal output becomes text that reads as it looked in the end."""

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.terminal.plain import LONG, NOTE, WINDOW, Plain
from terminal.pieces import cut, long_stream, moving_stream, streams


def read(data: bytes, columns: int | None = None) -> str:
    plain = Plain(columns)
    return plain.feed(data) + plain.finish()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"one\ntwo", "one\ntwo"),
        (b"one\r\r\ntwo", "one\ntwo"),
        (b"a\tb  \r\n", "a\tb  \n"),
        (b"ding\x07\x00\x0e\x0f\x7f!\n", "ding!\n"),
        (b"a\fb\vc", "a\nb\nc"),
        (b"\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mrgb\x1b[m\n", "red rgb\n"),
        (b"\x1b]0;title\x07$ \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "$ link\n"),
        (b"\x1b(B\x1b)0\x1b=\x1b>\x1b[?25l\x1b[?2004hx\x1b[2 q\x1b[>4;1m\x1bPq#0~\x1b\\y", "xy"),
        (b"10%\r20%\r100%\r\ndone\r\n", "100%\ndone\n"),
        (b"a long line\rshort\r\n", "shortg line\n"),
        (b"a long line\r\x1b[Kshort\r\n", "short\n"),
        (b"a long line\r           \rshort\r\n", "short\n"),
        (b"working |\b/\b-\b done\n", "working  done\n"),
        (b"abc\b\b\bX\x1b[KY\n", "XY\n"),
        (b"$ lss\b \b -l\r\n", "$ ls -l\n"),
        (b"abcdef\x1b[3D\x1b[2PX\x1b[1@\n", "abcX\n"),
        (b"abcdef\x1b[4GX\x1b[2CY\n", "abcXefY\n"),
        (b"abcdef\x1b[3G\x1b[2X\n", "ab  ef\n"),
        (b"abcdef\x1b[3G\x1b[1Kx\x1b[2Ky\n", "   y\n"),
        (b"one\ntwo\nthree\n\x1b[2A\x1b[2KTWO\x1b[1B\rTHREE\n", "one\nTWO\nTHREE\n"),
        (b"a 1%\nb 1%\n\x1b[2A\x1b[Ja 9%\nb 9%\n\x1b[2F\x1b[0Ja done\n", "a done\n"),
        (b"a\nb\x1b7\x1b[24;1HStatus 10%\x1b8c\nd\n", "a\nbc\nd\n"),
        (b"x\x1b[5", "x"),
        (b"caf\xc3\xa9 \xff \xe2\x82", "caf\xe9 \ufffd \ufffd"),
        (b"tea \xc2\x9b31m", "tea 31m"),
        (b"\x1b[?1049h\x1b[2J\x1b[5;5Hvim\x1b[?1049lback\n", f"{NOTE}\nback\n"),
        (b"$ vim\r\n\x1b[?1049hx\r\n\x1b[?1049l\x1b[?47hy\x1b[?47l$ ", f"$ vim\n{NOTE}\n$ "),
        (b"one\n\x1b[H\x1b[2J\x1b[3Jtwo\n\x1b[H\x1b[Jthree\n", "one\ntwo\nthree\n"),
        (b"\x1b[H\x1b[2Jup 1\x1b[K\r\nb\x1b[K\r\n\x1b[J\x1b[Hup 2\x1b[K\r\nc\x1b[K\r\n\x1b[J", "up 2\nc\n"),
        (b"one\x1b]0;never ended\ntwo", "one\ntwo"),
    ],
)
def test_reads_as_it_looked(raw: bytes, text: str) -> None:
    assert read(raw) == text
    plain = Plain()
    for byte in raw:
        plain.feed(bytes([byte]))
        plain.peek()
    assert plain.finish() == text


def test_a_wrapped_line_is_one_line_to_an_editor() -> None:
    typed = b"$ " + b"x" * 18 + b" \ry" + b"\x1b[A\r$ Z\r\n\r\nok\r\n"
    assert read(typed, columns=20) == "$ Z" + "x" * 17 + "y\nok\n"
    bar = b"=" * 20 + b"\r" + b"#" * 20 + b"\r\n"
    assert read(bar, columns=20) == "#" * 20 + "\n"


def test_only_settled_lines_are_given_out() -> None:
    plain = Plain()
    assert plain.feed(b"one\ntwo\x1b[K") == ""
    assert plain.peek() == "one\ntwo"
    assert plain.peek() == "one\ntwo"
    given = plain.feed(b"\r\n".join(b"%d" % n for n in range(20000)))
    assert given.startswith("one\ntwo0\n1\n")
    assert given.endswith("\n")
    rest = plain.peek()
    assert rest.endswith("19998\n19999")
    assert plain.feed(b"\x1b[999A\rX\x1b[999B") == ""
    assert plain.peek().splitlines()[0].startswith("X")
    end = plain.finish()
    assert end.splitlines()[0] == f"X{rest.splitlines()[0][1:]}"
    assert len(end.splitlines()) == WINDOW
    assert plain.feed(b"new") + plain.finish() == "new"


def test_a_prompt_is_seen_with_its_blank() -> None:
    plain = Plain()
    plain.feed(b"\x1b[?2004h$ x\b \b")
    assert plain.peek() == "$ "


@settings(max_examples=400, deadline=None)
@given(data=streams, seed=st.integers(0, 2**32), columns=st.sampled_from([None, 10, 80]))
def test_how_it_is_cut_does_not_matter(data: bytes, seed: int, columns: int | None) -> None:
    whole = Plain(columns)
    expected = whole.feed(data) + whole.finish()
    plain = Plain(columns)
    given = ""
    for piece in cut(data, seed):
        given += plain.feed(piece)
        if seed % 8:
            plain.peek()
    assert given + plain.finish() == expected
    assert not set(expected) & {"\x1b", "\r", "\b", "\0"}


@pytest.mark.parametrize("seed", range(12))
def test_how_it_is_cut_does_not_matter_when_it_is_long(seed: int) -> None:
    data = long_stream(seed, 3000).replace(b"\x1b[?1049h", b"") + b"z" * (3 * LONG) + b"\rA\n" + b"w\n" * 60
    expected = read(data)
    plain = Plain()
    chance = random.Random(seed)
    given = ""
    while data:
        size = chance.choice((1, 7, 100, 5000))
        given += plain.feed(data[:size])
        if chance.random() < 0.5:
            plain.peek()
        data = data[size:]
    assert given + plain.finish() == expected


@pytest.mark.parametrize("seed", range(30))
def test_how_it_is_cut_does_not_matter_when_it_moves_far(seed: int) -> None:
    data = moving_stream(seed, 200)
    columns = (None, 10, 80)[seed % 3]
    plain = Plain(columns)
    given = ""
    for piece in cut(data, seed):
        given += plain.feed(piece)
        plain.peek()
    assert given + plain.finish() == read(data, columns)


def test_a_page_that_has_left_the_window_is_not_gone_back_to() -> None:
    pieces = [b"H\x1b[57Hx", b"\x1b[2J\x1b[60H\n\x1b[H2"]
    plain = Plain()
    given = plain.feed(pieces[0]) + plain.peek()[:0] + plain.feed(pieces[1])
    assert given + plain.finish() == read(b"".join(pieces))


def test_clean_text_is_as_it_was() -> None:
    text = "".join(f"{n}: größer {'x' * (n % 300)}\n" for n in range(3000))
    assert read(text.replace("\n", "\r\n").encode()) == text


def test_memory_is_bounded_for_any_input() -> None:
    chance = random.Random(7)
    floods = [
        b"x" * 65536,
        b"\x1b]0;" + b"t" * 65536,
        b"\x1b[" + b"1;" * 32768,
        b"\x1b[999;999HX\x1b[500C" * 3000,
        b"\x1b[999CY\x1b[999@" * 4000,
        b"\n" * 65536,
        b"\x1b[?1049h" + b"z" * 65536,
        chance.randbytes(65536),
    ]
    for flood in floods:
        plain = Plain()
        plain.feed(flood)
        tracemalloc.start()
        for _ in range(8):
            plain.feed(flood)
            plain.peek()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 2_000_000


def test_a_long_talk_in_small_pieces_is_given_out() -> None:
    """What was looked at after each piece must not be held for ever."""
    plain = Plain(80)
    given = ""
    for number in range(5000):
        given += plain.feed(b"line %d\r\n" % number)
        assert len(plain.peek()) < 10_000
    assert given + plain.finish() == "".join(f"line {number}\n" for number in range(5000))
