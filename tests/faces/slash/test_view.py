"""The output of a command: its last lines, whole, in order, safe to be shown, while it runs."""

import threading
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.faces.slash.feedback import LONGEST, cells, clipped, shown
from agent_exec.faces.slash.line import ShellCommandRequest
from agent_exec.faces.slash.view import (
    MAX_BYTES,
    MAX_LINES,
    OutputLine,
    Scroll,
    Search,
    ShellExecutionResult,
    ShellOutputView,
)
from agent_exec.model.errors import InvalidArgument
from faces.slash.typed import texts

REQUEST = ShellCommandRequest("make", ("-j", "a b"), "/work")


def filled(*chunks: bytes, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES) -> ShellOutputView:
    view = ShellOutputView(max_bytes, max_lines)
    for chunk in chunks:
        view.feed("stdout", chunk)
    return view


def numbered(count: int, **terms: int) -> ShellOutputView:
    return filled("".join(f"line {number}\n" for number in range(count)).encode(), **terms)


def test_s23_lines_of_both_streams_in_the_order_of_their_ends() -> None:
    view = ShellOutputView()
    view.feed("stdout", b"one\ntw")
    view.feed("stderr", b"bad\nwor")
    view.feed("stdout", b"o\n")
    assert view.snapshot().lines == (
        OutputLine(0, "stdout", "one"),
        OutputLine(1, "stderr", "bad"),
        OutputLine(2, "stdout", "two"),
        OutputLine(3, "stderr", "wor"),
    )
    view.finish(None)
    view.feed("stderr", b"late\n")
    assert texts(view) == ["one", "bad", "two", "wor", "late"]


def test_s27_the_oldest_line_is_dropped_first() -> None:
    assert texts(filled(b"aa\nbb\ncc\n", max_bytes=6)) == ["bb", "cc"]
    assert texts(filled(b"aa\nbb\ncc\n", max_bytes=5)) == ["cc"]
    assert texts(filled(b"aa\n", b"bb\n", b"cc", max_bytes=5)) == ["bb", "cc"]
    assert texts(filled(b"long enough\n", max_bytes=7)) == ["enough"]
    assert texts(filled(b"x\nlong enough\n", max_bytes=7)) == ["enough"]
    assert texts(filled(b"long enough", max_bytes=6)) == ["enough"]
    assert texts(filled(b"x\nlong", b" enough", max_bytes=6)) == ["enough"]


def test_s27_s28_the_limits_of_the_contract() -> None:
    view = ShellOutputView()
    assert (view.max_bytes, view.max_lines) == (2_097_152, 4_000)
    view = numbered(10_000)
    found = view.snapshot()
    assert (found.first, found.last, len(view)) == (6000, 10_000, 4000)
    assert (found.lines[0], found.lines[-1].text) == (OutputLine(6000, "stdout", "line 6000"), "line 9999")
    assert texts(numbered(10, max_lines=3)) == ["line 7", "line 8", "line 9"]
    for bad in (0, -1, True, 1.5, "2"):
        with pytest.raises(InvalidArgument):
            ShellOutputView(bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument):
            ShellOutputView(1, bad)  # type: ignore[arg-type]


def kept(chunks: list[tuple[bool, bytes]], max_bytes: int, max_lines: int) -> list[bytes]:
    """Say the same in the plainest way: all lines as they end, then those that did not."""
    lines: list[bytes] = []
    partial: dict[bool, bytes] = {}
    for stream, chunk in chunks:
        *whole, rest = (partial.get(stream, b"") + chunk).split(b"\n")
        lines += [line + b"\n" for line in whole]
        if whole:
            partial.pop(stream, None)  # the next one begins now
        if rest:
            partial[stream] = rest
    lines += [line + b"\n" for line in partial.values()]  # finished
    while len(lines) > 1 and (len(lines) > max_lines or sum(map(len, lines)) > max_bytes):
        lines.pop(0)
    return [line[-max_bytes:] for line in lines]


@given(
    st.lists(st.tuples(st.booleans(), st.text("ab\n").map(str.encode)), max_size=30),
    st.integers(2, 30),
    st.integers(1, 6),
    st.booleans(),
)
@settings(deadline=None)
def test_s27_s28_exactly_the_last_lines_of_any_output(
    chunks: list[tuple[bool, bytes]], max_bytes: int, max_lines: int, watched: bool
) -> None:
    view = ShellOutputView(max_bytes, max_lines)
    for stream, chunk in chunks:
        view.feed("stdout" if stream else "stderr", chunk)
        if watched:
            found = view.snapshot()
            assert len(found.lines) == found.last - found.first
            assert [line.number for line in found.lines] == list(range(found.first, found.last))
    view.finish(None)
    # Looking never shows more than is kept, and so may forget a line for one that was unfinished then.
    if not watched:
        assert [line.encode() for line in texts(view)] == [
            one[:-1] for one in kept(chunks, max_bytes, max_lines)
        ]
    assert len(view) <= max_lines


def test_s27_s33_memory_is_flat_for_any_output() -> None:
    view = ShellOutputView()
    shapes = [b"x" * 79 + b"\n", b"\n", b"y" * 100, b"z" * 5000 + b"\n", b"\xff\x00\n"]
    tracemalloc.start()
    try:
        for shape in shapes:
            chunk = shape * (65536 // len(shape))
            for number in range(300):
                view.feed("stderr" if number % 7 == 0 else "stdout", chunk)
                if number % 50 == 0:
                    view.snapshot(view.bounds[1] - 50, 50)
            for _ in range(5000):
                view.feed("stdout", shape)
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


def test_a_viewer_sees_whole_lines_while_they_come() -> None:
    view = ShellOutputView()
    wrong: list[str] = []
    done = threading.Event()

    def look() -> None:
        last = 0
        while not done.is_set():
            found = view.snapshot()
            wrong.extend(line.text for line in found.lines if line.text != f"line {line.number}")
            if found.last < last:
                wrong.append("backwards")
            last = found.last

    viewer = threading.Thread(target=look)
    viewer.start()
    number = 0
    for _ in range(300):
        chunk = "".join(f"line {number + one}\n" for one in range(100))
        number += 100
        view.feed("stdout", chunk.encode())
    done.set()
    viewer.join()
    assert not wrong
    assert view.bounds == (26_000, 30_000)


def test_it_is_drawn_again_only_after_a_change() -> None:
    view = filled(b"a\n")
    version = view.version
    view.snapshot()
    assert (view.version, view.snapshot().version, len(view)) == (version, version, 1)
    view.feed("stdout", b"b")
    assert view.version == version + 1
    view.finish(None)
    assert view.version == version + 2
    view.start(REQUEST)
    assert view.version == version + 3


def test_s20_s29_s32_header_and_footer() -> None:
    view = filled(b"old\n")
    view.start(REQUEST)
    assert (view.header, view.footer, texts(view)) == (
        ("$ make -j 'a b'", "cwd: /work"),
        "status: running",
        [],
    )
    view.finish(ShellExecutionResult(None, "", "", 12, 0, "SIGTERM", "timeout"))
    assert view.footer.startswith("exit: -1 (timed out) duration: 12ms timestamp: 19")
    view.finish(None, "shell: no")
    assert view.footer == "shell: no"


def test_s15_s16_the_summary_is_one_line_that_can_be_shown() -> None:
    long = ShellExecutionResult(0, "あ" * 200, " \n\x1b[31mred\n\tx ", 5, 0)
    assert long.summary == f"shell: exit=0 5ms stdout={'あ' * 80}... stderr=␛[31mred\\n\\tx"
    assert ShellExecutionResult(3, "", "", 5, 0).summary == "shell: exit=3 5ms"
    assert ShellExecutionResult(None, "", "", 5, 0, "SIGSEGV").summary == "shell: exit=-1 5ms (SIGSEGV)"
    assert ShellExecutionResult(0, "", "", 5, 0).feedback.status == "Success"
    assert ShellExecutionResult(1, "", "", 5, 0).feedback.status == "Error"
    assert ShellExecutionResult(0, "", "", 5, 0, None, "timeout").feedback.status == "Error"


@pytest.mark.parametrize(
    ("given_", "seen"),
    [
        (b"plain", "plain"),
        ("日本語 é 👩‍👩‍👧", "日本語 é 👩‍👩‍👧"),
        (b"\x1b]0;title\x07\x1b[2J", "␛]0;title␇␛[2J"),
        (b"a\rb\x00\x7f", "a␍b␀␡"),
        ("\x9b31m\x85", "\\x9b31m\\x85"),
        (b"\xff\xc3", "\ufffd\ufffd"),
        ("\u202eevil\u2066\ufeff\u2028", "\\u202eevil\\u2066\\ufeff\\u2028"),
        ("\udcff\ud800", "\\xff\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("a\u3000b\xa0c\ue0b0", "a\u3000b\xa0c\ue0b0"),
        ("\tx", "        x"),
        ("日\tx", "日      x"),
        ("\x1b\tx", "␛       x"),
    ],
)
def test_what_is_shown_is_safe(given_: str | bytes, seen: str) -> None:
    assert shown(given_) == seen


@settings(deadline=None)
@given(st.one_of(st.text(alphabet=st.characters()), st.binary()))
def test_nothing_that_is_shown_moves_the_cursor(text: str | bytes) -> None:
    for character in shown(text):
        assert ord(character) >= 0x20
        assert not 0x7F <= ord(character) < 0xA0
        assert not 0xD800 <= ord(character) < 0xE000
        assert character not in "\u202a\u202b\u202c\u202d\u202e\u2028\u2029\u2066\u2067\u2068\u2069"


def test_a_long_line_says_how_long_it_is() -> None:
    assert shown("x" * LONGEST) == "x" * LONGEST
    assert shown(b"x" * (LONGEST + 5)) == "x" * LONGEST + "… (+5 characters)"
    assert shown("\x00" * 10, limit=2) == "␀␀… (+8 characters)"
    assert clipped("a\nb" * 100, 10) == "a\\nba\\nba\\..."
    assert texts(filled(b"y" * 3_000_000))[0].endswith("characters)")
    assert cells("日a") == 3


def test_many_characters_are_no_burden() -> None:
    assert len(shown("".join(map(chr, range(0xE0000, 0xE0FFF))))) > 4095


def test_a_return_before_the_end_of_a_line_is_part_of_the_end() -> None:
    assert texts(filled(b"dos\r\nunix\npro\rgress\r\n")) == ["dos", "unix", "pro␍gress"]


def test_s22_s23_keys_move_the_window() -> None:
    view = numbered(100)
    scroll = Scroll(view, 10)

    def top() -> tuple[int, int, bool]:
        return scroll.window().lines[0].number, scroll.scroll_offset, scroll.follow

    assert top() == (90, 90, True)
    scroll.move(-1)
    assert top() == (89, 89, False)
    scroll.page(-1)
    assert top() == (80, 80, False)
    scroll.home()
    assert top() == (0, 0, False)
    scroll.move(-5)
    assert top() == (0, 0, False)
    scroll.move(1)
    assert top() == (1, 1, False)
    scroll.page(99)
    assert top() == (90, 90, True)
    scroll.home()
    scroll.end()
    assert top() == (90, 90, True)
    scroll.sideways(2)
    assert scroll.column == 8
    scroll.sideways(-9)
    assert scroll.column == 0
    scroll.show(95)
    assert top() == (90, 90, True)  # it is seen already
    scroll.show(50)
    assert top() == (45, 45, False)
    scroll.show(2)
    assert top() == (0, 0, False)
    scroll.end()
    scroll.height = 200
    assert top() == (0, 0, True)


def test_s22_the_window_follows_the_end_or_stays_where_it_is() -> None:
    view = numbered(30, max_lines=20)
    scroll = Scroll(view, 5)
    assert scroll.top == 25
    view.feed("stdout", b"a\nb\n")
    assert (scroll.top, scroll.window().lines[-1].text) == (27, "b")
    scroll.move(-5)
    assert scroll.top == 22
    view.feed("stdout", b"c\n" * 5)
    assert (scroll.top, scroll.scroll_offset) == (22, 5)
    view.feed("stdout", b"d\n" * 10)
    assert (scroll.top, scroll.scroll_offset) == (27, 0)  # what it showed is gone
    view.start(REQUEST)
    assert (scroll.top, scroll.follow, scroll.window().lines) == (0, True, ())
    Scroll(ShellOutputView()).move(5)


def test_searching_goes_both_ways_and_around() -> None:
    view = filled(b"Alpha\nbeta\nALPHA beta\ngamma\n")
    search = Search("alpha")
    found = search.find(view, 1)
    assert found is not None
    assert (found.number, found.start, found.end, found.wrapped) == (2, 0, 5, False)
    found = search.find(view, 0)
    assert found is not None
    assert (found.number, found.wrapped) == (0, True)
    found = search.find(view, 0, backwards=True)
    assert found is not None
    assert (found.number, found.wrapped) == (2, True)
    search = Search("beta")
    found = search.find(view, 3, backwards=True)
    assert found is not None
    assert (found.number, found.start) == (2, 6)
    assert search.find(view, 0, backwards=True) == Search("beta").find(view, 1, backwards=True)
    view.start(REQUEST)
    assert search.find(view, 0) is None
    assert search.found is None


def test_what_is_looked_for_is_text() -> None:
    view = filled(b"a.b\naxb\nA.B\n")
    assert Search("a.b").spans("xa.b A.B axb") == [(1, 4), (5, 8)]
    assert Search("A.B").spans("a.b A.B") == [(4, 7)]
    found = Search("A.B").find(view, 0)
    assert found is not None
    assert found.number == 2
    assert Search("nowhere").find(view, 0) is None
    for text in ("(", "*", "a{99999999999}"):
        assert Search(text).spans(text) == [(0, len(text))]
    with pytest.raises(InvalidArgument):
        Search("")


def test_what_is_looked_for_is_what_is_shown() -> None:
    found = Search("␛[31m").find(filled(b"x\n\x1b[31mred\n"), 0)
    assert found is not None
    assert (found.number, found.start) == (1, 0)
