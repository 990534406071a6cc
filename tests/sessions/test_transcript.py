"""The transcript: what is new, and any range again, in memory and on the disk."""

import os
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


def test_without_a_disk(tmp_path: Path) -> None:
    """Issue 6, better 2: what cannot be kept is lost to later readers, and new output is not."""
    (tmp_path / "file").touch()
    transcript = Transcript(str(tmp_path / "file" / "1"))
    transcript.write(b"x" * IN_MEMORY)
    transcript.write(b"more")
    assert transcript.take().end == IN_MEMORY + 4
    start, data = transcript.read(0, 10)
    assert (start <= IN_MEMORY + 4, data) == (True, b"")
    transcript.close()
