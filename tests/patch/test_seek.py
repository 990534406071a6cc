"""Lines are found by four passes; sections are of the reference of sessions."""

import pytest

from agent_exec.patch.lines import Seeker, fold

CASES = [
    # name, lines, wanted, start, at_end, found
    ("exact", "a b c", "b c", 0, False, 1),
    ("the first of two", "a b a b", "a b", 0, False, 0),
    ("from the start on", "a b a b", "a b", 1, False, 2),
    ("not before the start", "a b", "a", 1, False, None),
    ("nowhere", "a b", "c", 0, False, None),
    ("only the beginning is there", "a b", "b c", 0, False, None),
    ("longer than the file", "a", "a b", 0, False, None),
    ("an empty file", "", "a", 0, False, None),
    ("the whole file", "a b", "a b", 0, False, 0),
    ("a false start", "a a b", "a b", 0, False, 1),
    ("blanks at the end", "a~~ b", "a b~", 0, False, 0),
    ("blanks at both ends", "~~a~ ~b", "a b", 0, False, 0),
    ("exact later beats loose before", "~a x a", "a", 0, False, 2),
    ("end-loose later beats both-loose before", "~a x a~", "a", 0, False, 2),
    ("blanks within count", "a~b", "a~~b", 0, False, None),
    ("at the end", "a b a b", "a b", 0, True, 2),
    ("at the end, loosely, rather than exact before", "a b ~a b~", "a b", 0, True, 2),
    ("said to be at the end and is not", "a b c", "a b", 0, True, 0),
    ("at the end, which is before the start", "a b", "a b", 1, True, None),
    ("dashes", "a\u2010\u2011\u2012\u2013\u2014\u2015\u2212b", "a-------b", 0, False, 0),
    ("single quotes", "\u2018a\u2019\u201a\u201b", "'a'''", 0, False, 0),
    ("double quotes", "\u201ca\u201d\u201e\u201f", '"a"""', 0, False, 0),
    ("spaces", "a\u00a0b\u2003c\u202fd\u3000e\u205f", "a~b~c~d~e", 0, False, 0),
    ("the patch has them", "it's~a-b", "it\u2019s\u00a0a\u2013b", 0, False, 0),
    ("an ellipsis", "a\u2026", "a...", 0, False, 0),
    ("folding comes last", "a\u2013b a-b", "a-b", 0, False, 1),
    ("letters are not folded", "caf\u00e9", "cafe", 0, False, None),
]


def lines(text: str) -> list[str]:
    return [word.replace("~", " ") for word in text.split(" ")] if text else []


@pytest.mark.parametrize(
    ("name", "have", "wanted", "start", "at_end", "found"), CASES, ids=[case[0] for case in CASES]
)
def test_matching(name: str, have: str, wanted: str, start: int, at_end: bool, found: int | None) -> None:
    """§2.10, application: exact, rstrip, strip, folded; the end first when it is meant."""
    seeker = Seeker(lines(have))
    assert seeker.find(lines(wanted), start, at_end) == found
    assert seeker.find(lines(wanted), start, at_end) == found


def test_nothing_is_found_where_one_is() -> None:
    assert Seeker(["a"]).find([], 1) == 1


def test_folding() -> None:
    assert fold("\ufeff\u00a0\u201cx\u201d \u2013 y ") == '"x" - y'


def test_many_lines_that_almost_fit_take_no_time() -> None:
    seeker = Seeker(["x"] * 20_000 + ["y"])
    assert seeker.find(["x"] * 100 + ["y"]) == 19_900
    assert seeker.find(["x"] * 100 + ["z"]) is None
