"""The first characters of a stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_exec.faces.oneshot.exec_command import WIDEST, cut
from agent_exec.model.output import Head

PIECES = [
    b"a",
    "é".encode(),
    "€".encode(),
    "😀".encode(),
    b"\xff",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\x80",
    b"\xed\xa0\x80",
]


def kept(stream: bytes, characters: int) -> tuple[str, bool]:
    head = Head(WIDEST * characters)
    for place in range(0, len(stream), 7):
        head.feed(stream[place : place + 7])
    return cut(head.value(), head.observed, characters)


@given(
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=5), max_size=40).map(b"".join), st.integers(1, 30)
)
def test_e43_it_is_as_if_the_whole_stream_had_been_read(stream: bytes, characters: int) -> None:
    """E43: characters are counted, the first are kept, and the flag is exact, whatever the bytes."""
    whole = stream.decode("utf-8", "replace")
    assert kept(stream, characters) == (whole[:characters], len(whole) > characters)


@pytest.mark.parametrize("piece", PIECES, ids=repr)
@pytest.mark.parametrize("shift", range(5))
def test_e43_a_character_that_lies_across_the_cut(piece: bytes, shift: int) -> None:
    for count in (249, 250, 251, 999, 1000, 1001, 1002):
        stream = b"x" * shift + piece * count
        whole = stream.decode("utf-8", "replace")
        assert kept(stream, 1000) == (whole[:1000], len(whole) > 1000)


def test_e49_no_more_is_kept_than_could_be_asked_for() -> None:
    head = Head(WIDEST * 1000)
    for _ in range(100):
        head.feed(b"x" * 100_000)
    assert head.kept == 4000
    assert cut(head.value(), head.observed, 1000) == ("x" * 1000, True)
