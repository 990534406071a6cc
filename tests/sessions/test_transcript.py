"""The transcript: what is new, and any range again, in memory and on the disk."""

import errno
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.sessions.transcript import IN_MEMORY, WINDOW, Transcript

steady = settings(deadline=None, derandomize=True, max_examples=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "server" / "1234"


def test_small_output_touches_no_disk(folder: Path) -> None:
    """Reference §1.10; issue 6, better 2."""
    transcript = Transcript(str(folder))
    transcript.write(b"x" * IN_MEMORY)
    assert transcript.read(0, IN_MEMORY) == (0, b"x" * IN_MEMORY)
    assert not folder.exists()
    transcript.close()
    assert not folder.parent.exists()


@steady
@given(st.lists(st.integers(0, 40_000), max_size=12), st.integers(0, 400_000), st.integers(1, 200_000))
def test_any_range_is_exact(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], start: int, most: int
) -> None:
    """Issue 6, better 2: read_output re-reads any range."""
    folder = tmp_path_factory.mktemp("transcript") / "1"
    transcript = Transcript(str(folder))
    whole = b""
    for at, size in enumerate(sizes):
        piece = bytes([at % 251]) * size
        transcript.write(piece)
        whole += piece
    begin = min(start, len(whole))
    assert transcript.read(start, most) == (begin, whole[begin : begin + most])
    assert transcript.read(-5, most) == (0, whole[:most])
    assert transcript.total == len(whole)
    transcript.close()
    assert not folder.exists()


def test_what_is_new_is_taken_once(folder: Path) -> None:
    """Issue 6, better 2: `output` is what is new."""
    transcript = Transcript(str(folder))
    transcript.write(b"one")
    assert transcript.waiting == 3
    assert transcript.peek() == (b"one", b"")
    first = transcript.take()
    assert (first.start, first.end, first.head, first.omitted, first.tail) == (0, 3, b"one", 0, b"")
    transcript.write(b"two")
    second = transcript.take()
    assert (second.start, second.end, second.head, second.omitted, second.tail) == (3, 6, b"two", 0, b"")
    assert transcript.take().head == b""
    assert transcript.read(0, 100) == (0, b"onetwo")


def test_a_flood_is_kept_by_its_ends(folder: Path) -> None:
    """Reference §1.10: 512 KiB of each end, the rest counted; and still there to be read."""
    transcript = Transcript(str(folder))
    transcript.write(b"start")
    for at in range(64):
        transcript.write(bytes([at]) * (1 << 16))
    taken = transcript.take()
    assert len(taken.head) == len(taken.tail) == WINDOW
    assert taken.omitted == taken.end - 2 * WINDOW
    assert taken.head.startswith(b"start")
    assert transcript.read(5 + 32 * (1 << 16), 3) == (5 + 32 * (1 << 16), b"\x20\x20\x20")
    transcript.close()


def test_the_quota_drops_the_middle(folder: Path) -> None:
    """Issue 6, better 2: bounded as job logs are; what is gone is left out, and offsets stay true."""
    quota = 1 << 18
    transcript = Transcript(str(folder), quota)
    whole = b"".join(b"%015d\n" % at for at in range(1 << 16))
    for at in range(0, len(whole), 10_000):
        transcript.write(whole[at : at + 10_000])
    transcript.end()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= quota
    assert transcript.read(0, 16) == (0, whole[:16])
    assert transcript.read(len(whole) - 16, 16) == (len(whole) - 16, whole[-16:])
    begin, data = transcript.read(len(whole) // 2, 64)
    assert begin > len(whole) // 2
    assert data == whole[begin : begin + 64]
    transcript.close()


def test_no_descriptor_is_held_after_the_end(folder: Path) -> None:
    """Issue 6, better 2: those that ended can be read, and hold nothing."""
    transcript = Transcript(str(folder))
    before = len(os.listdir("/proc/self/fd"))
    transcript.write(b"x" * (2 * IN_MEMORY))
    assert len(os.listdir("/proc/self/fd")) == before + 1
    transcript.end()
    transcript.end()
    assert len(os.listdir("/proc/self/fd")) == before
    assert transcript.read(IN_MEMORY, 3) == (IN_MEMORY, b"xxx")
    transcript.close()
    transcript.close()


def everything(transcript: Transcript, whole: bytes) -> None:
    """What is kept reads as it was written, and the rest is told to be gone: nothing is missing untold."""
    at, kept = 0, []
    while at < transcript.total:
        begin, data = transcript.read(at, 10_000)
        assert data or begin == transcript.total
        assert data == whole[begin : begin + len(data)]
        kept.append((begin, begin + len(data)))
        at = begin + len(data)
    edges = [(0, 0), *kept, (transcript.total, transcript.total)]
    missing = [(one[1], other[0]) for one, other in pairwise(edges) if one[1] < other[0]]
    assert transcript.gaps() == missing


def test_what_the_quota_has_dropped_is_reported(folder: Path) -> None:
    transcript = Transcript(str(folder), 1 << 18)
    whole = os.urandom(1 << 20)
    for at in range(0, len(whole), 10_000):
        transcript.write(whole[at : at + 10_000])
        if at % 130_000 == 0:
            everything(transcript, whole)
    everything(transcript, whole)
    assert transcript.gaps()
    assert transcript.read(len(whole) - 16, 16)[1] == whole[-16:]
    transcript.close()


def test_without_a_disk(tmp_path: Path) -> None:
    """Issue 6, better 2: both ends are kept in memory, and what is gone is told."""
    (tmp_path / "file").touch()
    transcript = Transcript(str(tmp_path / "file" / "1"))
    whole = os.urandom(3 * WINDOW)
    transcript.write(whole[:IN_MEMORY])
    transcript.write(whole[IN_MEMORY : IN_MEMORY + 4])
    assert transcript.take().end == IN_MEMORY + 4
    assert transcript.gaps() == []
    for at in range(IN_MEMORY + 4, len(whole), 10_000):
        transcript.write(whole[at : at + 10_000])
    everything(transcript, whole)
    assert transcript.gaps() == [(IN_MEMORY, 2 * WINDOW)]
    transcript.close()


def test_a_disk_that_is_full_for_a_while(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = Transcript(str(folder))
    whole = os.urandom(4 * WINDOW)
    write, full = os.write, False

    def writing(fd: int, data: bytes) -> int:
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    monkeypatch.setattr(os, "write", writing)
    for at in range(0, len(whole), 10_000):
        full = WINDOW // 2 < at < 2 * WINDOW
        transcript.write(whole[at : at + 10_000])
    everything(transcript, whole)
    assert len(transcript.gaps()) == 1
    assert transcript.read(0, 16) == (0, whole[:16])
    transcript.close()


@pytest.mark.parametrize("character", ["é", "日", "😀"])
def test_a_character_is_not_taken_in_two_halves(folder: Path, character: str) -> None:
    transcript = Transcript(str(folder))
    data = character.encode()
    for cut in range(1, len(data)):
        transcript.write(b"a" + data[:cut])
        first = transcript.take(final=False)
        assert (first.head, first.end) == (b"a", transcript.total - cut)
        assert transcript.waiting == 0, "nothing new that could be shown"
        assert transcript.take(final=False).head == b""
        transcript.write(data[cut:])
        second = transcript.take(final=False)
        assert (second.head, second.start, second.end) == (data, first.end, transcript.total)
    transcript.write(data[:1])
    assert transcript.take(final=False).head == b""
    assert transcript.take().head == data[:1], "at the end it is what it is"


def test_a_character_across_the_middle_of_what_is_kept(folder: Path) -> None:
    transcript = Transcript(str(folder))
    transcript.write(b"a" * (WINDOW - 1) + "日".encode()[:2])
    taken = transcript.take(final=False)
    assert (len(taken.head), taken.tail, taken.omitted) == (WINDOW - 1, b"", 0)
    transcript.write("日".encode()[2:])
    assert transcript.take(final=False).head == "日".encode()
    transcript.write(b"a" * (3 * WINDOW) + b"\xf0\x9f")
    taken = transcript.take(final=False)
    assert (len(taken.tail), taken.tail[-1:], taken.omitted) == (WINDOW - 2, b"a", WINDOW + 2)
    transcript.close()
