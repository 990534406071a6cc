"""Output within a budget of tokens."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.faces.session.answer import cut_middle, shown, size_of, token_count
from agent_exec.sessions.transcript import joined, omission

steady = settings(deadline=None, derandomize=True, max_examples=200)
texts = st.text(
    st.characters(exclude_characters="…", exclude_categories=["Cs"]) | st.sampled_from("a\né€😀"), max_size=80
)


@pytest.mark.parametrize(
    ("size", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (10**9 + 1, 250_000_001)]
)
def test_tokens_are_a_quarter_of_bytes(size: int, tokens: int) -> None:
    """Reference §1.10: ceil(bytes / 4)."""
    assert token_count(size) == tokens


@pytest.mark.parametrize(
    ("text", "tokens", "cut"),
    [
        ("", 0, ""),
        ("abcd", 1, "abcd"),
        ("abcde", 1, "ab…1 tokens truncated…de"),
        ("abcdefghi", 1, "ab…2 tokens truncated…hi"),
        ("abc", 0, "…1 tokens truncated…"),
        ("abcdefghijkl", 2, "abcd…1 tokens truncated…ijkl"),
        ("aé" * 4, 1, "a…2 tokens truncated…é"),
        ("😀😀😀", 1, "…2 tokens truncated…"),
        ("😀😀😀", 2, "😀…1 tokens truncated…😀"),
    ],
)
def test_the_middle_is_cut(text: str, tokens: int, cut: str) -> None:
    """Reference §1.10: left = budget / 2, right = rest, on character boundaries, exact marker."""
    assert cut_middle(text, tokens) == cut


@steady
@given(texts, st.integers(0, 20))
def test_a_cut_keeps_both_ends(text: str, tokens: int) -> None:
    """Reference §1.10: the budget holds, and at most a character is lost on each side."""
    cut = cut_middle(text, tokens)
    size, budget = len(text.encode()), tokens * 4
    if size <= budget:
        assert cut == text
        return
    left, marker, right = cut.split("…")
    assert marker == f"{-(-(size - budget) // 4)} tokens truncated"
    assert text.startswith(left)
    assert text.endswith(right)
    assert budget // 2 - 3 <= len(left.encode()) <= budget // 2
    assert budget - budget // 2 - 3 <= len(right.encode()) <= budget - budget // 2


@pytest.mark.parametrize(
    ("head", "tail", "omitted", "whole"),
    [
        ("ab", "cd", 0, "abcd"),
        ("ab", "cd", 5, "ab\n... 5 bytes omitted ...\ncd"),
        ("ab\n", "cd", 1, "ab\n... 1 bytes omitted ...\ncd"),
        ("", "cd", 1, "... 1 bytes omitted ...\ncd"),
    ],
)
def test_a_line_stands_for_what_is_missing(head: str, tail: str, omitted: int, whole: str) -> None:
    """Reference §1.10: `... <N> bytes omitted ...` on its own line between head and tail."""
    assert joined(head, tail, omitted) == whole


def test_what_fits_is_shown_as_it_is() -> None:
    """Reference §1.10."""
    assert shown("abcd", 1) == "abcd"
    assert shown("", 0) == ""
    assert shown("ab\n... 9 bytes omitted ...\n", 100, original_tokens=99, omitted=9).startswith("ab\n...")


def test_what_does_not_fit_has_a_warning() -> None:
    """Reference §1.10: the prefix when truncated."""
    assert shown("one\ntwo\nthree\n", 2) == (
        "Warning: truncated output (original token count: 4)\nTotal output lines: 3\n\n"
        "one\n…2 tokens truncated…ree\n"
    )
    assert shown("abcde", 0, original_tokens=77) == (
        "Warning: truncated output (original token count: 77)\nTotal output lines: 1\n\n…2 tokens truncated…"
    )


def test_the_omission_takes_the_place_of_the_lines() -> None:
    """Reference §1.10: when the collection cap also fired, unless the marker is visible already."""
    text = joined("a" * 40, "b" * 40, 1000)
    assert shown(text, 4, original_tokens=270, omitted=1000) == (
        "Warning: truncated output (original token count: 270)\n... 1000 bytes omitted ...\n\n"
        "aaaaaaaa…23 tokens truncated…bbbbbbbb"
    )
    visible = joined("a", "b" * 400, 1000)
    assert shown(visible, 25, original_tokens=351, omitted=1000) == (
        "Warning: truncated output (original token count: 351)\n\n" + cut_middle(visible, 25)
    )
    assert omission(1000) in cut_middle(visible, 25)


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)])
def test_lines_are_counted(text: str, lines: int) -> None:
    """Reference §1.10: `Total output lines: L`."""
    padded = text + "x" * 80
    counted = lines + (text == "" or text.endswith("\n"))
    assert f"\nTotal output lines: {counted}\n" in shown(padded, 1)
    assert f"\nTotal output lines: {lines + 80}\n" in shown("x\n" * 80 + text, 1)


def test_half_characters_do_no_harm() -> None:
    """Reference §1.10: lossy UTF-8 has none; a caller's text may."""
    assert size_of("\ud800") == 3
    assert cut_middle("\ud800" * 9, 2).startswith("\ud800…")
