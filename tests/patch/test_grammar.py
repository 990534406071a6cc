"""The patch format; sections are of the reference of sessions."""

import pickle

import pytest

from agent_exec.patch.errors import MalformedPatch
from agent_exec.patch.grammar import AddFile, Chunk, DeleteFile, Patch, UpdateFile, parse
from patch.trees import wrapped

EVERYTHING = wrapped(
    "*** Environment ID: here",
    "*** Add File: new/a.txt",
    "+one",
    "+",
    "*** Delete File: old b.txt",
    "*** Update File: c.txt",
    "*** Move to: d.txt",
    "@@ def f():",
    " kept",
    "-gone",
    "+come",
    "@@",
    "-last",
    "*** End of File",
    "*** Update File: e.txt",
    "-x",
)
MEANT = Patch(
    (
        AddFile("new/a.txt", ("one", "")),
        DeleteFile("old b.txt"),
        UpdateFile(
            "c.txt",
            "d.txt",
            (
                Chunk("def f():", ((" ", "kept"), ("-", "gone"), ("+", "come"))),
                Chunk(None, (("-", "last"),), at_end=True),
            ),
        ),
        UpdateFile("e.txt", None, (Chunk(None, (("-", "x"),)),)),
    ),
    "here",
)


def chunks(*lines: str) -> tuple[Chunk, ...]:
    (hunk,) = parse(wrapped("*** Update File: f", *lines)).hunks
    assert isinstance(hunk, UpdateFile)
    return hunk.chunks


def test_every_part() -> None:
    """§2.10, the grammar."""
    assert parse(EVERYTHING) == MEANT
    assert parse(wrapped()) == Patch(())
    assert parse(wrapped("*** Add File: empty")) == Patch((AddFile("empty", ()),))
    first = MEANT.hunks[2]
    assert isinstance(first, UpdateFile)
    new = tuple(line for sign, line in first.chunks[0].edits if sign != "-")
    assert (first.chunks[0].old, new) == (("kept", "gone"), ("kept", "come"))


@pytest.mark.parametrize(
    "text",
    [
        EVERYTHING.replace("\n", "\r\n"),
        f"\n \n{EVERYTHING}\n\n",
        f"<<EOF\n{EVERYTHING}\nEOF",
        f"<<'EOF'\n{EVERYTHING}\nEOF\n",
        f'<<"EOF"\r\n{EVERYTHING}\n\nEOF\n',
        EVERYTHING.replace("*** Begin Patch", "  *** Begin Patch ").replace(
            "*** End Patch", "\t*** End Patch  "
        ),
        EVERYTHING.replace("*** Delete File: old b.txt", "  *** Delete File:   old b.txt  "),
        EVERYTHING.replace("*** Update File: c.txt", " *** Update File: c.txt\t"),
        EVERYTHING.replace("*** Move to: d.txt", "  *** Move to: d.txt "),
        EVERYTHING.replace("*** End of File", "*** End of File  "),
        EVERYTHING.replace("*** Update File: e.txt", "\n\t*** Update File: e.txt"),
        EVERYTHING.replace("@@\n", "@@ \n"),
        EVERYTHING.replace("\n*** Delete", "\n\n*** Delete"),
        EVERYTHING.replace("*** Environment ID: here", "  *** Environment ID:   here "),
    ],
)
def test_what_is_forgiven(text: str) -> None:
    """§2.10: wrapper, blanks around markers, CR, blank lines between hunks."""
    assert parse(text) == MEANT


def test_chunks_are_forgiven_too() -> None:
    """§2.10: the first chunk may omit @@; an empty line is an empty line of the file."""
    assert chunks(" a", "", "+b") == (Chunk(None, ((" ", "a"), (" ", ""), ("+", "b"))),)
    assert chunks("", "@@ x", "-a", "", "@@", "-b") == (
        Chunk("x", (("-", "a"), (" ", ""))),
        Chunk(None, (("-", "b"),)),
    )


def test_empty_lines_after_mere_additions_only_part_the_hunks() -> None:
    assert chunks("@@ x", "+a", "", "") == (Chunk("x", (("+", "a"),)),)
    assert chunks("@@ x", "", "+a", "") == (Chunk("x", ((" ", ""), ("+", "a"), (" ", ""))),)
    assert chunks("@@ x", "+a", " ") == (Chunk("x", (("+", "a"), (" ", ""))),)


def test_contexts_above_one_another_lead_step_by_step() -> None:
    assert chunks("@@ class A", "@@   def f", "-x") == (Chunk("class A", ()), Chunk("  def f", (("-", "x"),)))


def test_markers_within_lines_of_a_file_are_lines() -> None:
    """A patch of a file that holds a patch."""
    marks = ("*** Begin Patch", "*** Update File: x", "*** End of File", "*** End Patch", "@@ y")
    wanted = tuple((sign, mark) for mark in marks for sign in "-+ ")
    assert chunks(*(sign + mark for sign, mark in wanted)) == (Chunk(None, wanted),)
    assert parse(wrapped("*** Add File: a", "+*** End Patch")) == Patch((AddFile("a", ("*** End Patch",)),))


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("", "invalid patch: The first line of the patch must be '*** Begin Patch'", 1),
        ("bad", "invalid patch: The first line of the patch must be '*** Begin Patch'", 1),
        ("\n*** Begin Patch", "invalid patch: The last line of the patch must be '*** End Patch'", 2),
        (f"{wrapped()}\nx", "invalid patch: The last line of the patch must be '*** End Patch'", 3),
        (
            f"<<EOF\n{wrapped()}\nEOX",
            "invalid patch: The first line of the patch must be '*** Begin Patch'",
            1,
        ),
        (
            "<<EOF\n*** Begin Patch\nEOF",
            "invalid patch: The first line of the patch must be '*** Begin Patch'",
            1,
        ),
        (wrapped("what"), "invalid hunk at line 2, 'what' is not a valid hunk header.", 2),
        (wrapped("*** Add File: "), "invalid hunk at line 2, '*** Add File:' is not a valid hunk header.", 2),
        (wrapped("*** Add File: a", "+x", "y"), "invalid hunk at line 4, 'y' is not a valid hunk header.", 4),
        (wrapped("*** Add File: a", "+x", "", "+y"), "invalid hunk at line 5, '+y' is not a valid hunk", 5),
        (wrapped("*** Delete File: a", "-x"), "invalid hunk at line 3, '-x' is not a valid hunk header.", 3),
        (wrapped("*** Delete File: a\0b"), "invalid hunk at line 2, no path can be 'a\\x00b'", 2),
        (wrapped("*** End Patch"), "invalid hunk at line 2, '*** End Patch' is not a valid hunk header.", 2),
        (wrapped("*** Update File: p"), "invalid hunk at line 2, Update file hunk for path 'p' is empty", 2),
        (
            wrapped("*** Update File: p", "*** Delete File: q"),
            "invalid hunk at line 2, Update file hunk for path 'p' is empty",
            2,
        ),
        (
            wrapped("*** Update File: p", "@@"),
            "invalid hunk at line 4, Update hunk does not contain any lines",
            4,
        ),
        (
            wrapped("*** Update File: p", "@@ x", ""),
            "invalid hunk at line 5, Update hunk does not contain",
            5,
        ),
        (
            wrapped("*** Update File: p", "@@ x", "*** End of File"),
            "invalid hunk at line 4, Update hunk does not contain any lines",
            4,
        ),
        (
            wrapped("*** Update File: p", "@@", "what"),
            "invalid hunk at line 4, Unexpected line found in update hunk: 'what'. Every line should start with",
            4,
        ),
        (
            wrapped("*** Update File: p", "what"),
            "invalid hunk at line 3, Unexpected line found in update hunk",
            3,
        ),
        (wrapped("*** Update File: p", "@@", "@@", "-x"), "invalid hunk at line 4, Unexpected line found", 4),
        (
            wrapped("*** Update File: p", "-x", "what"),
            "invalid hunk at line 4, Expected update hunk to start with a @@ context marker, got: 'what'",
            4,
        ),
        (
            wrapped("*** Update File: p", "-x", "*** End of File", "-y"),
            "invalid hunk at line 5, Expected update hunk to start with a @@ context marker, got: '-y'",
            5,
        ),
        (
            wrapped("*** Update File: p", "-x", "*** Move to: q"),
            "invalid hunk at line 4, '*** Move to: q' is not a valid hunk header.",
            4,
        ),
        (wrapped("*** Environment ID:"), "invalid hunk at line 2, Environment ID is empty", 2),
        (
            wrapped("*** Environment ID: a", "*** Environment ID: a"),
            "invalid hunk at line 3, Environment ID is given twice",
            3,
        ),
        (
            wrapped("*** Delete File: a", "*** Environment ID: a"),
            "invalid hunk at line 3, '*** Environment ID: a' is not a valid",
            3,
        ),
    ],
)
def test_what_is_no_patch(text: str, message: str, line: int) -> None:
    """§2.10, parse errors."""
    with pytest.raises(MalformedPatch) as caught:
        parse(text)
    assert caught.value.message.startswith(message)
    assert caught.value.details == {"line": line}
    assert caught.value.code == "patch_malformed"
    assert str(pickle.loads(pickle.dumps(caught.value))) == caught.value.message


def test_half_a_character_is_no_text() -> None:
    with pytest.raises(MalformedPatch, match="half a character"):
        parse(wrapped("*** Add File: a", "+\ud800"))


def test_a_file_may_only_get_another_name() -> None:
    patch = parse(wrapped("*** Update File: a", "*** Move to: b"))
    assert patch == Patch((UpdateFile("a", "b", ()),))
