"""Patches verified against a tree, and where they may write; sections are of the reference of sessions."""

import os
from pathlib import Path

import pytest

from agent_exec.patch.apply import Applied, apply_patch, plan, verify
from agent_exec.patch.errors import MalformedPatch, PatchError, UnfitPatch
from agent_exec.patch.grammar import parse
from patch.trees import contents, make, tree, wrapped


def update(path: str) -> tuple[str, ...]:
    return (f"*** Update File: {path}", "-a", "+b")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    return make(made, {"a.txt": "a\n", "sub/b.txt": "a\n", "c.txt": "c\n"})


def test_an_answer(root: Path) -> None:
    """§1.11 and §2.10: `A|M|D path`, in this order."""
    text = wrapped(
        "*** Delete File: c.txt",
        *update("a.txt"),
        *update("sub/b.txt"),
        "*** Add File: new/deep/x",
        "+1",
        "+2",
        "*** Add File: y",
    )
    assert apply_patch(text, cwd=str(root)) == Applied(
        ("new/deep/x", "y"),
        ("a.txt", "sub/b.txt"),
        ("c.txt",),
        "Success. Updated the following files:\nA new/deep/x\nA y\nM a.txt\nM sub/b.txt\nD c.txt\n",
    )
    assert contents(root) == {"a.txt": "b\n", "sub/b.txt": "b\n", "new/deep/x": "1\n2\n", "y": ""}


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("*** Update File: a.txt", " a"),
        ("*** Update File: a.txt", "-a", "+a"),
        ("*** Add File: a.txt", "+a"),
        ("*** Update File: a.txt", "*** Move to: ./a.txt", " a"),
    ],
)
def test_nothing_to_do(root: Path, lines: tuple[str, ...]) -> None:
    """§2.10: an empty patch, and one that changes nothing."""
    before = tree(root)
    assert apply_patch(wrapped(*lines), cwd=str(root)) == Applied((), (), (), "No files were modified.\n")
    assert tree(root) == before


def test_add_overwrites_and_keeps_the_mode(root: Path) -> None:
    """§2.10: Add overwrites existing."""
    (root / "a.txt").chmod(0o751)
    apply_patch(wrapped("*** Add File: a.txt", "+new"), cwd=str(root))
    assert tree(root)["a.txt"] == ("file", 0o751, b"new\n")


def test_a_new_file_has_the_mode_of_new_files(root: Path) -> None:
    before = os.umask(0o027)
    try:
        apply_patch(wrapped("*** Add File: n/x", "+new"), cwd=str(root))
    finally:
        os.umask(before)
    assert tree(root)["n/x"] == ("file", 0o640, b"new\n")
    assert tree(root)["n"][1] == 0o750


def test_move_overwrites_and_takes_its_mode_along(root: Path) -> None:
    """§2.10: Move overwrites destination."""
    (root / "a.txt").chmod(0o755)
    text = wrapped("*** Update File: a.txt", "*** Move to: c.txt", "-a", "+b")
    assert apply_patch(text, cwd=str(root)).text == "Success. Updated the following files:\nM c.txt\n"
    assert tree(root)["c.txt"] == ("file", 0o755, b"b\n")
    assert "a.txt" not in tree(root)


def test_a_mere_move(root: Path) -> None:
    apply_patch(wrapped("*** Update File: a.txt", "*** Move to: x/y"), cwd=str(root))
    assert contents(root) == {"x/y": "a\n", "sub/b.txt": "a\n", "c.txt": "c\n"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (update("missing"), "Failed to read missing: No such file or directory"),
        (update("no/such/folder"), "Failed to read no/such/folder: No such file or directory"),
        (update("sub"), "Failed to read sub: Is a directory"),
        (update("a.txt/x"), "Failed to read a.txt/x: Not a directory"),
        (("*** Delete File: missing",), "Failed to read missing: No such file or directory"),
        (("*** Delete File: sub",), "Failed to read sub: Is a directory"),
        (("*** Delete File: sub/",), "Failed to read sub/: Is a directory"),
        (("*** Delete File: .",), "Failed to read .: it is a directory"),
        (("*** Delete File: sub/..",), "Failed to read sub/..: it is a directory"),
        (("*** Delete File: /",), "Failed to read /: it is a directory"),
        (("*** Add File: sub", "+x"), "Failed to read sub: Is a directory"),
        (("*** Add File: /", "+x"), "Failed to read /: Is a directory"),
        (("*** Add File: a.txt/x", "+x"), "Failed to read a.txt/x: Not a directory"),
        (("*** Add File: fifo", "+x"), "Failed to read fifo: it is not a regular file"),
        (update("fifo"), "Failed to read fifo: it is not a regular file"),
        (("*** Update File: a.txt", "*** Move to: sub"), "Failed to read sub: Is a directory"),
        (("*** Update File: a.txt", "@@ x", "-a"), "Failed to find context 'x' in a.txt"),
        (("*** Update File: a.txt", "-x", "-y"), "Failed to find expected lines in a.txt:\nx\ny"),
        ((*update("a.txt"), *update("sub/../a.txt")), "multiple operations target sub/../a.txt"),
        ((*update("a.txt"), "*** Delete File: a.txt"), "multiple operations target a.txt"),
        (("*** Add File: n", "*** Add File: ./n"), "multiple operations target ./n"),
        (
            ("*** Update File: a.txt", "*** Move to: c.txt", *update("c.txt")),
            "multiple operations target c.txt",
        ),
        (
            ("*** Delete File: a.txt", "*** Update File: c.txt", "*** Move to: a.txt"),
            "multiple operations target a.txt",
        ),
        ((*update("a.txt"), *update("link.txt")), "multiple operations target link.txt"),
        (("*** Add File: " + "n" * 256, "+x"), f"Failed to read {'n' * 256}: File name too long"),
    ],
)
def test_what_cannot_be_verified(root: Path, lines: tuple[str, ...], message: str) -> None:
    """§2.10: verification errors; what came before in the patch has not happened."""
    os.mkfifo(root / "fifo")
    (root / "link.txt").symlink_to("a.txt")
    names = sorted(path.name for path in root.rglob("*"))
    with pytest.raises(UnfitPatch) as caught:
        apply_patch(wrapped("*** Add File: first", "+x", *lines), cwd=str(root))
    assert caught.value.message == f"apply_patch verification failed: {message}"
    assert sorted(path.name for path in root.rglob("*")) == names


def test_what_cannot_be_read_is_no_patch(root: Path) -> None:
    """§2.10: parse errors have the prefix too, and keep their details."""
    with pytest.raises(MalformedPatch, match=r"^apply_patch verification failed: invalid patch: ") as caught:
        apply_patch("what", cwd=str(root))
    assert caught.value.details == {"line": 1}


def test_there_must_be_a_folder(root: Path) -> None:
    """A `cd` that fails runs nothing after it; so nothing is made where there is no folder."""
    for cwd in ("missing", "a.txt"):
        with pytest.raises(UnfitPatch, match="there is no such directory"):
            apply_patch(wrapped("*** Add File: x"), cwd=str(root / cwd))
    assert "missing" not in tree(root)


def test_verified_now_and_applied_later(root: Path) -> None:
    changes = verify(wrapped(*update("a.txt"), "*** Delete File: c.txt"), cwd=str(root))
    assert changes.paths == (str(root / "a.txt"), str(root / "c.txt"))
    assert contents(root)["a.txt"] == "a\n"
    assert changes.commit() == ()
    assert "c.txt" not in contents(root)
    with pytest.raises(UnfitPatch, match=r"a\.txt was changed by another program"):
        changes.commit()


@pytest.mark.parametrize("what", ["written", "gone", "another", "came", "a link"])
def test_a_file_changed_meanwhile_is_not_overwritten(root: Path, what: str) -> None:
    changes = plan(
        parse(wrapped(*update("a.txt"), "*** Add File: n/x", "+x", "*** Delete File: c.txt")), str(root)
    )
    match what:
        case "written":
            (root / "a.txt").write_text("longer\n")
        case "gone":
            (root / "c.txt").unlink()
        case "another":
            (root / "c.txt").rename(root / "a.txt")
        case "came":
            make(root, {"n/x": "mine"})
        case _:
            (root / "a.txt").unlink()
            (root / "a.txt").symlink_to("c.txt")
    before = tree(root)
    with pytest.raises(PatchError):
        changes.commit()
    assert tree(root) == before


def test_one_file_under_two_names_becomes_two(root: Path) -> None:
    """A file is replaced, not written over: whoever shares it by a hard link keeps what he had."""
    os.link(root / "a.txt", root / "twin")
    apply_patch(wrapped(*update("a.txt")), cwd=str(root))
    assert (contents(root)["a.txt"], contents(root)["twin"]) == ("b\n", "a\n")


def test_names_of_every_kind(root: Path) -> None:
    names = [
        "with blank",
        "\u00e4\u4e2d",
        "bytes\udcff",
        "-dash",
        "quote'\"",
        "back\\slash",
        "n" * 255,
        ".hidden",
    ]
    apply_patch(wrapped(*(line for name in names for line in (f"*** Add File: {name}", "+a"))), cwd=str(root))
    apply_patch(wrapped(*(line for name in names for line in update(name))), cwd=str(root))
    assert {name: (root / name).read_text() for name in names} == dict.fromkeys(names, "b\n")


def test_many_files(root: Path) -> None:
    names = [f"m{number % 7}/f{number}" for number in range(120)]
    apply_patch(wrapped(*(line for name in names for line in (f"*** Add File: {name}", "+a"))), cwd=str(root))
    apply_patch(wrapped(*(line for name in names for line in update(name))), cwd=str(root))
    assert {contents(root)[name] for name in names} == {"b\n"}
