"""Promise 3: streams apart, byte-exact, in order; text decodes right wherever it is split."""

import hashlib

import pytest

import agent_exec
from agent_exec import Text
from support import python

MIB = 1 << 20


def test_streams_are_apart_and_exact() -> None:
    out = agent_exec.run(["sh", "-c", "printf 'a\\0b'; printf 'c\\377' >&2; printf d"])
    assert (out.stdout, out.stderr) == (b"a\0bd", b"c\xff")
    assert (out.stdout_observed, out.stderr_observed) == (4, 2)


def test_both_streams_flooded_at_once() -> None:
    code = """
import os, threading
def flood(fd, byte):
    for i in range(512):
        os.write(fd, bytes([byte]) * 65536)
other = threading.Thread(target=flood, args=(2, 66))
other.start(); flood(1, 65); other.join()
"""
    out = agent_exec.run(python(code), keep=agent_exec.Tail(10))
    assert out.stdout_observed == out.stderr_observed == 512 * 65536
    assert (out.stdout, out.stderr) == (b"A" * 10, b"B" * 10)


def test_sixteen_mebibytes_arrive_byte_for_byte_through_on_output() -> None:
    code = """
import os, random
source = random.Random(7)
for _ in range(256):
    os.write(1, source.randbytes(65536))
"""
    digest = hashlib.sha256()
    out = agent_exec.run(python(code), on_output=lambda _, chunk: digest.update(chunk))
    import random

    source = random.Random(7)
    expected = hashlib.sha256(b"".join(source.randbytes(65536) for _ in range(256)))
    assert digest.digest() == expected.digest()
    assert out.stdout_observed == 256 * 65536
    assert len(out.stdout) == MIB, "the default keeping is a head of one MiB"


def test_on_output_says_which_stream() -> None:
    seen: dict[str, bytes] = {"stdout": b"", "stderr": b""}

    def note(stream: str, chunk: bytes) -> None:
        seen[stream] += chunk

    agent_exec.run(["sh", "-c", "echo out; echo err >&2"], on_output=note)
    assert seen == {"stdout": b"out\n", "stderr": b"err\n"}


def test_what_is_written_last_is_not_lost() -> None:
    """Exit and output race; the output must win, every time."""
    for _ in range(100):
        out = agent_exec.run(["sh", "-c", "printf 'last words'; printf 'and these' >&2; kill -9 $$"])
        assert (out.stdout, out.stderr, out.signal) == (b"last words", b"and these", "SIGKILL")


def test_a_full_pipe_at_exit_is_not_lost() -> None:
    for size in (65536, 65535, 4096 * 15 + 1):
        out = agent_exec.run(python(f"import os; os.write(1, b'z' * {size})"))
        assert out.stdout == b"z" * size


@pytest.mark.parametrize(
    "keep", [agent_exec.Head(5), agent_exec.Tail(5), agent_exec.HeadTail(2, 3), agent_exec.Lines(1)]
)
def test_a_keeping_is_fresh_for_each_stream_and_run(keep: agent_exec.Head) -> None:
    first = agent_exec.run(["sh", "-c", "printf 123456789"], keep=keep)
    second = agent_exec.run(["sh", "-c", "printf 123456789; printf abc >&2"], keep=keep)
    assert first.stdout == second.stdout
    assert (second.stderr, second.stderr_observed) == (b"abc", 3)


def test_overflow_stops_the_run_when_asked_to() -> None:
    limits = agent_exec.Limits(overflow="stop")
    with agent_exec.Engine() as engine:
        out = engine.start(agent_exec.Command(["yes"], keep=agent_exec.Head(1000), limits=limits)).outcome()
        assert out.cause == "overflow"
        assert out.stdout == b"y\n" * 500
        fits = engine.start(
            agent_exec.Command(["printf", "12345"], keep=agent_exec.Head(5), limits=limits)
        ).outcome()
        assert (fits.cause, fits.stdout) == (None, b"12345")


@pytest.mark.parametrize("sample", ["naïve", "日本語", "😀 ok", "é" * 50])
def test_text_split_anywhere_decodes_right(sample: str) -> None:
    data = sample.encode()
    for cut in range(len(data) + 1):
        text = Text()
        assert text.feed(data[:cut]) + text.feed(data[cut:]) + text.finish() == sample


def test_a_bad_byte_is_one_replacement() -> None:
    text = Text()
    assert text.feed(b"a\xffb\xfec") + text.finish() == "a\ufffdb\ufffdc"
    cut_off = Text()
    assert cut_off.feed("日".encode()[:2]) + cut_off.finish() == "\ufffd"
    assert agent_exec.run(["printf", r"a\377b"]).stdout_text == "a\ufffdb"


def test_text_arrives_whole_from_a_child_that_writes_byte_by_byte() -> None:
    code = """
import os
for byte in "日本語😀".encode():
    os.write(1, bytes([byte]))
"""
    text = Text()
    seen: list[str] = []
    agent_exec.run(python(code), on_output=lambda _, chunk: seen.append(text.feed(chunk)))
    assert "".join(seen) + text.finish() == "日本語😀"
