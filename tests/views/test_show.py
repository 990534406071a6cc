"""Views of an output: what each shows, what it leaves out, and what it never does."""

import re
import tracemalloc

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.views.reader import PIECE, Source, of_bytes
from agent_exec.views.show import show
from agent_exec.views.wanted import ENOUGH, parse
from views.showing import invented, view

LINES = b"".join(b"step %d of the build took %d ms\n" % (n, n * 7 % 900) for n in range(5_000))
FAILURE = b"""FAIL: test_login (tests.Login)
Traceback (most recent call last):
  File "tests/login.py", line 3, in test_login
    assert answer == 200
AssertionError: 500 != 200
"""


def test_output_that_is_small_is_shown_as_it_is_after_one_read() -> None:
    reads = []

    def read(start: int, most: int) -> tuple[int, bytes]:
        reads.append((start, most))
        return start, data[start : start + most]

    data = (FAILURE * 20)[:ENOUGH]
    assert show(Source(read, 0, len(data)), limit=ENOUGH, exit_code=1).text == data.decode()
    assert len(reads) == 1


def test_alike_lines_are_folded_with_their_count_around_a_failure() -> None:
    data = LINES + FAILURE + LINES
    for exit_code in (0, 1, None):
        shown = view(data, exit_code=exit_code)
        assert FAILURE.decode().strip() in shown.text
        assert "in all 10000 like the one above" in shown.text
        assert len(shown.text) < 1500
        assert invented(shown, data) == []


def test_a_view_says_which_ranges_it_leaves_out_and_how_to_read_them() -> None:
    data = LINES + FAILURE + LINES
    shown = view(data)
    at = 0
    for start, end in shown.kept:
        if start > at + 1:
            assert f"bytes {at}-{start}" in shown.text
        at = end
    assert shown.omitted_bytes == len(data) - sum(end - start for start, end in shown.kept)
    gaps = [(len(LINES), data.find(b"FAIL"))]
    assert gaps
    assert "lines left out; read range=" in shown.text.splitlines()[-1]


def test_a_failure_on_the_first_line_is_shown_behind_many_passes() -> None:
    data = b"FAIL src/login.test.js\n" + b"".join(b"PASS src/test%d.js\n" % n for n in range(5_000))
    assert "FAIL src/login.test.js" in view(data, exit_code=0).text


def test_zero_failures_are_folded_and_one_failure_among_them_is_shown() -> None:
    fine = b"".join(b"Tests run: %d, Failures: 0, Errors: 0, in Suite\n" % n for n in range(3_000))
    data = fine + b"Tests run: 4, Failures: 2, Errors: 0, in Suite\n" + fine
    assert "Failures: 2" in view(data).text
    assert view(data).text.count("Failures: 0") < 20


def test_an_unknown_shape_is_shown_whole_or_by_its_two_ends() -> None:
    words = [b"alpha", b"omega", b"kappa", b"sigma", b"theta", b"lambda", b"zulu"]
    data = b"".join(
        b" ".join(words[(n // 7**k) % 7] for k in range(6)) + b" %s\n" % words[n % 7] for n in range(900)
    )
    assert view(data, exit_code=0).text == data.decode()
    shown = view(data, exit_code=0, limit=4_000)
    first, last = shown.kept
    assert first[0] == 0
    assert last[1] == len(data)
    assert invented(shown, data) == []


def test_a_diff_keeps_its_context_and_its_answer() -> None:
    hunk = (
        b"diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n context\n-old\n+new\n context\n"
    )
    data = b"".join(hunk.replace(b"x.py", b"%s.py" % name) for name in b"one two three four".split() * 12)
    assert view(data, exit_code=1).text == data.decode()


def test_errors_that_are_alike_are_shown_by_the_first_and_the_last() -> None:
    data = b"".join(
        b"2026-11-16 15:00:%02d ERROR request %d was refused\n" % (n % 60, n) for n in range(9_000)
    )
    text = view(data).text
    assert "request 0 " in text
    assert "request 8999 " in text
    assert len(text) < 4_000


def test_every_failing_id_is_shown_even_if_they_are_alike() -> None:
    ids = [f"FAILED tests/test_grid.py::test_cell[{n}] - assert 0" for n in range(300)]
    data = LINES + "\n".join(ids).encode()
    text = view(data).text
    assert [name for name in ids if name not in text] == []


def test_frames_of_libraries_are_left_out_of_a_traceback() -> None:
    library = b'  File "/venv/lib/python3.11/site-packages/lib/run.py", line 7, in call\n    return call()\n'
    own = b'  File "/srv/project/shop.py", line 9, in pay\n    raise Refused("no money")\n'
    data = LINES + b"Traceback (most recent call last):\n" + library * 30 + own + b"shop.Refused: no money\n"
    text = view(data).text
    assert 'shop.py", line 9' in text
    assert "shop.Refused: no money" in text
    assert text.count("site-packages") < 3


def test_a_progress_bar_is_folded() -> None:
    data = (
        b"".join(b"downloading %3d%% [%-50s]\r" % (n // 50, b"#" * (n // 100)) for n in range(5_000))
        + b"\ndone\n"
    )
    shown = view(data, exit_code=0)
    assert shown.text.splitlines()[0].startswith("downloading")
    assert "done" in shown.text
    assert len(shown.text) < 1_000


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("head", b"step 0 ", b""), ("tail", b"", b"step 4999 "), ("full", b"step 0 ", b"step 4999 ")],
)
def test_head_tail_and_full_show_the_ends_within_the_budget(asked: str, first: bytes, last: bytes) -> None:
    shown = view(LINES, parse(asked), limit=2_000)
    assert len(shown.text.encode()) <= 2_000
    assert invented(shown, LINES) == []
    for end in filter(None, (first, last)):
        assert end.decode() in shown.text
    assert sum(end - start for start, end in shown.kept) > 1_500


def test_errors_shows_failures_only() -> None:
    text = view(LINES + FAILURE + LINES, parse("errors")).text
    assert FAILURE.decode().strip() in text
    assert "step" not in text


def test_grep_shows_matching_lines_with_their_context_across_pieces() -> None:
    shown = view(LINES * 3, parse(r"grep=^step 4999 ,1"), limit=4_000)
    assert shown.text.count("step 4999 ") == 3
    assert shown.text.count("step 4998 ") == 3
    assert shown.text.count("step 0 ") == 2


def test_a_range_is_shown_by_its_offsets() -> None:
    at = LINES.index(b"step 77 ")
    assert view(LINES, parse(f"range={at}-{at + 7}")).text == "step 77"


@pytest.mark.parametrize(
    "asked", ["", "all", "grep=", "grep=(", "range=5", "range=9-3", "since=", "head=3", "grep=a,101"]
)
def test_a_view_that_is_none_is_refused_with_the_list_of_views(asked: str) -> None:
    with pytest.raises(
        InvalidArgument, match=r"use auto, full, head|invalid regular expression|at most 100 lines"
    ):
        parse(asked)


def test_the_budget_is_kept_for_any_bytes_and_any_limit() -> None:
    data = bytes(range(256)) * 40 + "é€😀".encode() * 500
    for limit in (0, 1, 50, 200, 1_000, 5_000, 20_000):
        for name in ("auto", "full", "head", "tail", "errors", "grep=a"):
            assert len(view(data, parse(name), limit=limit).text.encode()) <= limit


@pytest.mark.parametrize("shift", range(0, 12, 3))
def test_a_secret_is_masked_also_across_the_borders_of_pieces(shift: int) -> None:
    secret = b"hunter2-hunter2"
    data = bytearray(b"a quiet line without numbers\n" * (2 * PIECE // 29))
    data[PIECE - shift : PIECE - shift + len(secret)] = secret
    source = Source(of_bytes(bytes(data)), 0, len(data), [secret])
    masked = bytes(data).replace(secret, b"*" * len(secret))
    assert source.between(0, len(data)) == masked
    assert source.between(PIECE - shift + 3, PIECE + 40) == masked[PIECE - shift + 3 : PIECE + 40]
    pieces, at = [], 0
    while at < len(data):
        at, piece = source.piece(at, PIECE)
        pieces.append(piece)
        at += len(piece)
    assert b"".join(pieces) == masked


def test_overlapping_secrets_are_masked_whole() -> None:
    data = b"x abab ababa y"
    assert Source(of_bytes(data), 0, len(data), [b"aba", b"bab"]).between(0, len(data)) == b"x **** ***** y"


def test_output_that_is_gone_is_skipped() -> None:
    data = LINES + FAILURE + LINES
    gap = 1_000, len(LINES) - 1_000

    def read(start: int, most: int) -> tuple[int, bytes]:
        if gap[0] <= start < gap[1]:
            start = gap[1]
        end = min(start + most, gap[0]) if start < gap[0] else start + most
        return start, data[start:end]

    shown = show(Source(read, 0, len(data)), limit=4_000, exit_code=1)
    assert FAILURE.decode().strip() in shown.text


def test_a_view_of_a_long_log_takes_little_memory() -> None:
    block = LINES * 4
    size = 64 * len(block)

    def read(start: int, most: int) -> tuple[int, bytes]:
        at = start % len(block)
        return start, block[at : at + most][: size - start]

    tracemalloc.start()
    try:
        shown = show(Source(read, 0, size), limit=4_000, exit_code=0)
        assert tracemalloc.get_traced_memory()[1] < 16 * PIECE
    finally:
        tracemalloc.stop()
    assert shown.omitted_lines > 1_200_000


def test_an_expression_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_exec.views.show._PATIENCE", 0.2)
    with pytest.raises(InvalidArgument, match="took longer"):
        view(b"a" * 60 + b"!\n" + LINES, parse("grep=(a|aa)+$"), limit=4_000)


@pytest.mark.parametrize(
    "line",
    [
        "./gone: No such file or directory.",
        "cat: /etc/shadow: Permission denied",
        "scons: *** [shop.o] Source `shop.c' not found, needed by target `shop.o'.",
        'Global symbol "$price" requires explicit package name at shop.pl line 7.',
        '    (file "shop.tcl" line 4)',
        "tar: This does not look like a tar archive",
        "Could not read certificate from shop.pem",
        "Expecting property name enclosed in double quotes: line 1 column 13 (char 12)",
        "  shop.json::$.price: 'three' is not of type 'integer'",
        ">> Issue: [B404:blacklist] Consider possible security implications",
        "zsh:1: x: the price is empty",
    ],
)
def test_a_failure_among_lines_of_which_none_is_like_another_is_shown(line: str) -> None:
    words = "alpha omega kappa sigma theta lambda zulu".split()
    noise = [" ".join(words[(n // 7**k) % 7] for k in range(5)) for n in range(4_000)]
    data = "\n".join([*noise, line, *noise]).encode()
    assert line in view(data, limit=8_000).text


def test_a_count_of_alike_lines_is_exact_or_not_given_when_there_are_very_many_kinds() -> None:
    letters = "ghijklmnopqrstuvwxyz"
    names = (
        f"{letters[n % 20]}{letters[n // 20 % 20]}{letters[n // 400 % 20]}{letters[n // 8000]}"
        for n in range(30_000)
    )
    unlike = "".join(f"made {name}\n" for name in names).encode()
    alike = b"step 1 of the build took 1 ms\n"
    data = alike * 100 + unlike + FAILURE + alike * 150_000
    text = view(data).text
    assert FAILURE.decode().strip() in text
    claims = set(re.findall(r"in all (\d+) like", text))
    assert claims <= {str(100 + 150_000)}
