"""Output for a person's own terminal keeps its colours, and loses all else that a terminal obeys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_exec.terminal.safe import Safe


def shown(data: bytes, *, colours: bool = True) -> str:
    safe = Safe(colours=colours)
    return safe.feed(data) + safe.finish()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\n\ttext\r\n", "plain\n\ttext\r\n"),
        (b" 10%\r 20%\r", " 10%\r 20%\r"),
        (b"\x1b[1;32mgreen\x1b[0m", "\x1b[1;32mgreen\x1b[0m"),
        (b"\x1b[31mred", "\x1b[31mred\x1b[0m"),
        (b"\x1b]0;title\x07a\x1b]52;c;aGk=\x07b\x1b]8;;http://x\x1b\\c", "abc"),
        (b"\x1b[2J\x1b[H\x1b[?1049hx\x1b[6n\x1b[5i", "x"),
        (b"\x1bP+q544e\x1b\\x\x1bcy\x07\x00z", "xyz"),
        ("\x9b31mx\x9d0;t\x9c".encode(), "31mx0;t"),
        (b"\x1b[>4;1mx\x1b[?1m", "x"),
        (b"\xff\xfe", "��"),
    ],
)
def test_only_style_is_obeyed(data: bytes, text: str) -> None:
    assert shown(data) == text


def test_styles_go_where_there_are_no_colours() -> None:
    assert shown(b"\x1b[31mred\x1b[0m", colours=False) == "red"


@given(
    st.lists(
        st.sampled_from([b"\x1b", b"[", b"31", b"m", b"]0;", b"\x07", b"a", b"\n", "é".encode(), b"\x1b[2J"])
    )
)
def test_the_cut_into_pieces_does_not_matter(pieces: list[bytes]) -> None:
    safe = Safe()
    assert "".join(map(safe.feed, pieces)) + safe.finish() == shown(b"".join(pieces))
