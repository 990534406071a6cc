"""Chunks applied to the text of a file; sections are of the reference of sessions."""

import pytest

from agent_exec.patch.errors import UnfitPatch
from agent_exec.patch.grammar import UpdateFile, parse
from agent_exec.patch.lines import rewritten
from patch.trees import wrapped


def applied(before: str | bytes, *lines: str) -> str:
    (hunk,) = parse(wrapped("*** Update File: f", *lines)).hunks
    assert isinstance(hunk, UpdateFile)
    data = before if isinstance(before, bytes) else before.encode()
    return rewritten(data, hunk.chunks, "f").decode("utf-8", "surrogateescape")


CASES = [
    # name, before, chunks, after
    ("replace", "a\nb\nc\n", "-b|+B", "a\nB\nc\n"),
    ("remove", "a\nb\nc\n", " a|-b", "a\nc\n"),
    ("insert", "a\nb\n", " a|+x| b", "a\nx\nb\n"),
    ("remove all", "a\n", "-a", ""),
    ("two places", "a\nb\nc\nd\n", "-a|+A|@@|-d|+D", "A\nb\nc\nD\n"),
    ("the second is looked for below the first", "a\nx\na\nx\n", "@@|-a|+1|@@|-a|+2", "1\nx\n2\nx\n"),
    ("below a context", "f\nx\ng\nx\n", "@@ g|-x|+y", "f\nx\ng\ny\n"),
    ("below a loose context", "f\nx\n  g  \nx\n", "@@ g|-x|+y", "f\nx\n  g  \ny\n"),
    ("context repeated as first line", "f\nx\ng\nx\n", "@@ g| g|-x|+y", "f\nx\ng\ny\n"),
    ("contexts step by step", "A\nf\nx\nB\nf\nx\n", "@@ B|@@ f|-x|+y", "A\nf\nx\nB\nf\ny\n"),
    ("at the end", "a\nb\na\nb\n", "@@|-a| b|*** End of File", "a\nb\nb\n"),
    ("add at the end", "a\nb\n", "+c", "a\nb\nc\n"),
    ("add at the end, said so", "a\nb\n", "@@ a|+c|*** End of File", "a\nb\nc\n"),
    ("add below a context", "a\nb\nc\n", "@@ a|+x|+y", "a\nx\ny\nb\nc\n"),
    ("add below two contexts", "a\nb\na\n", "@@ a|+x|@@ a|+y", "a\nx\nb\na\ny\n"),
    ("add at the end, then change above", "a\nb\n", "+c|@@|-a|+A", "A\nb\nc\n"),
    ("add to an empty file", "", "+a", "a\n"),
    ("an empty line that is not there", "a\n", " a|+b|", "a\nb\n"),
    ("an empty line that is not there, removed", "a\n", "-a|-|+b", "b\n"),
    ("an empty line that is not there, more below", "a\n", " a| |+b", "a\n\nb\n"),
    ("only an empty line that is not there", "a\n", "@@ a| |+b", "a\n\nb\n"),
    ("empty lines that are there", "a\n\nb\n", " a||-b|+c", "a\n\nc\n"),
    ("no newline at the end", "a\nb", "-a|+A", "A\nb\n"),
    ("no newline, last line changed", "a\nb", "-b|+B", "a\nB\n"),
    ("no newline, added below", "a", "+b", "a\nb\n"),
    (
        "loosely matched lines stay as they are",
        "  a  \nb\nit\u2019s\n",
        " a|-b|+B| it's",
        "  a  \nB\nit\u2019s\n",
    ),
    ("CRLF stays", "a\r\nb\r\nc\r\n", " a|-b|+B|+C", "a\r\nB\r\nC\r\nc\r\n"),
    ("CRLF, none at the end", "a\r\nb", "-b|+B|+C", "a\r\nB\r\nC\r\n"),
    ("CR stays", "a\rb\rc\r", " a|-b|+B|+C", "a\rB\rC\rc\r"),
    ("CR, none at the end", "a\rb", "-a|+A", "A\rb\r"),
    ("mixed: each stays", "a\nb\r\nc\nd\r\n", "-b|-c|+B|+C", "a\nB\r\nC\nd\r\n"),
    ("mixed: an added one is like the one above", "a\r\nb\n", " a|+x| b", "a\r\nx\r\nb\n"),
    ("mixed: the first line has none above", "a\r\nb\n", "+x| a", "x\r\na\r\nb\n"),
    ("mixed with CR", "a\rb\nc\n", "-b|+B", "a\rB\nc\n"),
    ("a CR within a line", "a\rb\nc\n", "-a\rb|+x", "x\nc\n"),
    ("a CR within a line that is not touched", "a\rb\nc\n", "-c|+C", "a\rb\nC\n"),
    ("CR CR LF", "a\r\r\nb\r\n", "-b|+B", "a\r\r\nB\r\n"),
    ("byte order mark", "\ufeffa\nb\n", "-a|+A", "\ufeffA\nb\n"),
    ("other separators are no ends of lines", "a\u2028b\x0cc\x85\nd\n", "-d|+D", "a\u2028b\x0cc\x85\nD\n"),
    ("nothing changes", "a\nb\n", " a| b", "a\nb\n"),
]


@pytest.mark.parametrize(("name", "before", "chunks", "after"), CASES, ids=[case[0] for case in CASES])
def test_application(name: str, before: str, chunks: str, after: str) -> None:
    """§2.10, application; endings are kept, and what is only added comes below its context (#30946)."""
    assert applied(before, *chunks.split("|")) == after


def test_bytes_that_are_no_text_stay() -> None:
    assert (
        applied(b"\xff\xfe\na\n\x80", "-a", "+\u00e4").encode("utf-8", "surrogateescape")
        == b"\xff\xfe\n\xc3\xa4\n\x80\n"
    )


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ("@@ nowhere|-a", "Failed to find context 'nowhere' in f"),
        ("-a|-x|+b", "Failed to find expected lines in f:\na\nx"),
        ("@@|-c|@@|-a", "Failed to find expected lines in f:\na"),
        ("@@ c|-b", "Failed to find expected lines in f:\nb"),
        ("-x|-", "Failed to find expected lines in f:\nx\n"),
    ],
)
def test_what_does_not_fit(chunks: str, message: str) -> None:
    """§2.10, failures."""
    for before in ("a\nb\nc\n", "a\rb\rc\r", "a\rb\nc\n" if "x" not in chunks else "a\n"):
        with pytest.raises(UnfitPatch) as caught:
            applied(before, *chunks.split("|"))
        assert caught.value.message == message
