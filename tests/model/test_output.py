"""Every keeping against the plain truth: keep everything, then cut."""

import random

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.lines import Lines
from agent_exec.model.output import Head, HeadTail, Keep, Tail


def chunks_of(data: bytes, source: random.Random) -> list[bytes]:
    """Cut data at random places, now and then into large and into single-byte chunks."""
    found = []
    while data:
        size = source.choice([1, 3, 50, 5000, 70_000])
        found.append(data[:size])
        data = data[size:]
    return found


def truth(keep: Keep, data: bytes) -> bytes:
    if isinstance(keep, Head):
        return data[: keep.limit]
    if isinstance(keep, Tail):
        return data[max(0, len(data) - keep.limit) :]
    if isinstance(keep, HeadTail):
        head, tail = keep._head.limit, keep._tail.limit
        return data if len(data) <= head + tail else data[:head] + data[max(0, len(data) - tail) :]
    assert isinstance(keep, Lines)
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    lines = [line for line in lines if line][-keep.lines :]
    while len(lines) > 1 and sum(map(len, lines)) > keep.size:
        lines.pop(0)
    kept = b"".join(lines)
    return kept[max(0, len(kept) - keep.size) :]


KEEPINGS: list[Keep] = [
    Head(0),
    Head(1),
    Head(10_000),
    Tail(0),
    Tail(1),
    Tail(10_000),
    Tail(100_000),
    HeadTail(0, 5),
    HeadTail(5, 0),
    HeadTail(10_000, 10_000),
    HeadTail(100, 100_000),
    Lines(1, 100),
    Lines(40, 1000),
    Lines(4000, 100_000),
    Lines(3, 1_000_000),
]


@pytest.mark.parametrize("keep", KEEPINGS, ids=lambda keep: f"{type(keep).__name__}-{KEEPINGS.index(keep)}")
@pytest.mark.parametrize("seed", range(6))
def test_a_keeping_keeps_exactly_what_it_says(keep: Keep, seed: int) -> None:
    source = random.Random(seed)
    size = source.choice([0, 1, 99, 20_000, 300_000])
    if seed % 2:
        data = b"".join(
            source.randbytes(source.randrange(60)).hex().encode() + b"\n" for _ in range(size // 60)
        )
    else:
        data = source.randbytes(size).replace(b"\n", b"-")
    if seed % 3 == 0:
        data += b"an unfinished line"
    fresh = keep.fresh()
    for chunk in chunks_of(data, source):
        fresh.feed(chunk)
    expected = truth(keep, data)
    assert fresh.observed == len(data)
    assert fresh.value() == expected
    assert fresh.kept == len(expected)
    assert fresh.overflowed == (len(data) > len(expected))
    if isinstance(fresh, Lines):
        assert fresh.newlines_observed == data.count(b"\n")


def test_head_and_tail_stay_apart() -> None:
    keep = HeadTail(3, 3)
    keep.feed(b"abcdefghij")
    assert keep.parts() == (b"abc", b"hij")
    assert keep.observed - keep.kept == 4


def test_a_line_too_long_by_itself_is_kept_by_its_end() -> None:
    keep = Lines(10, 5)
    keep.feed(b"short\n" + b"x" * 100 + b"end")
    assert keep.value() == b"xxend"


@pytest.mark.parametrize("wrong", [-1, 1.5, "1", True, None])
def test_a_limit_that_is_none_is_refused(wrong: int) -> None:
    for make in (Head, Tail, Lines, HeadTail):
        with pytest.raises(InvalidArgument, match="whole number"):
            make(wrong)


@pytest.mark.parametrize("size", [0, 3, 4, 9, 10, 30])
def test_both_ends_are_taken_and_begin_anew(size: int) -> None:
    keep = HeadTail(4, 5)
    for _ in range(2):
        data = bytes(range(65, 65 + size))
        for at in range(0, size, 3):
            keep.feed(data[at : at + 3])
        head, tail, observed = keep.take()
        assert (head, observed) == (data[:4], size)
        assert tail == data[4:][-5:]
        assert keep.parts() == (b"", b"")
        assert keep.observed == 0


def test_two_streams_are_kept_together_and_read_apart() -> None:
    """One limit for both; each stream's unfinished line is its own."""
    keep = Lines(3, 100)
    keep.feed(b"a\nb\nunfin")
    keep.feed(b"c\nd\n", "stderr")
    keep.feed(b"ished", "stdout")
    assert keep.of("stdout") == b"unfinished"
    assert keep.of("stderr") == b"c\nd\n"
    assert keep.bounds == (2, 5)
    assert keep.between(3, 5) == [("stderr", b"d"), ("stdout", b"unfinished")]
