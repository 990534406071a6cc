"""Where a patch may write, and how links are met; sections are of the reference of sessions."""

from pathlib import Path

import pytest

from agent_exec.patch.apply import apply_patch, plan
from agent_exec.patch.errors import PatchError, PatchRejected
from agent_exec.patch.grammar import parse
from patch.trees import contents, make, tree, wrapped


def update(path: str) -> tuple[str, ...]:
    return (f"*** Update File: {path}", "-a", "+b")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    made.mkdir()
    return make(made, {"a.txt": "a\n", "sub/b.txt": "a\n", "c.txt": "c\n"})


def test_a_folder_that_became_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    changes = plan(parse(wrapped("*** Add File: sub/x", "+x")), str(root), inside=[str(root)])
    (root / "sub").rename(root / "sub2")
    (tmp_path / "out").mkdir()
    (root / "sub").symlink_to(tmp_path / "out")
    with pytest.raises(PatchError, match="Failed to write file sub/x: Not a directory"):
        changes.commit()
    assert tree(tmp_path / "out") == {}


def test_links_within_are_followed(root: Path) -> None:
    """A file is written through its link; only the link itself is removed or moved."""
    (root / "l.txt").symlink_to("a.txt")
    (root / "lsub").symlink_to("sub")
    (root / "ldangling").symlink_to("sub/new")
    apply_patch(
        wrapped(*update("l.txt"), *update("lsub/b.txt"), "*** Add File: ldangling", "+x"), cwd=str(root)
    )
    assert (root / "l.txt").is_symlink()
    assert (root / "ldangling").is_symlink()
    assert contents(root)["a.txt"] == contents(root)["sub/b.txt"] == "b\n"
    assert contents(root)["sub/new"] == "x\n"
    apply_patch(wrapped("*** Delete File: l.txt", "*** Delete File: ldangling"), cwd=str(root))
    assert not {"l.txt", "ldangling"} & set(tree(root))
    assert {"a.txt", "sub/new"} <= set(tree(root))
    (root / "l.txt").symlink_to("a.txt")
    apply_patch(wrapped("*** Update File: l.txt", "*** Move to: m.txt", "-b", "+c"), cwd=str(root))
    assert (contents(root)["m.txt"], contents(root)["a.txt"]) == ("c\n", "b\n")
    assert "l.txt" not in tree(root)


@pytest.mark.parametrize(
    "lines",
    [
        update("lfile"),
        update("lfolder/f"),
        ("*** Add File: lfolder/new", "+x"),
        ("*** Add File: lmissing", "+x"),
        ("*** Add File: lfolder/../new", "+x"),
        ("*** Delete File: lfile",),
        ("*** Delete File: lfolder/f",),
        ("*** Update File: a.txt", "*** Move to: lfolder/x", "-a", "+b"),
        ("*** Update File: a.txt", "*** Move to: lchain/x", "-a", "+b"),
    ],
)
@pytest.mark.parametrize("inside", [None, ["."]])
def test_links_that_lead_out_are_refused(
    root: Path, tmp_path: Path, lines: tuple[str, ...], inside: list[str] | None
) -> None:
    """§2.10, safety."""
    out = tmp_path / "out"
    make(tmp_path, {"out/f": "a\n"})
    (root / "lfile").symlink_to(out / "f")
    (root / "lfolder").symlink_to("../out")
    (root / "lmissing").symlink_to(out / "new")
    (root / "lchain").symlink_to("lfolder")
    before = tree(tmp_path)
    with pytest.raises(
        PatchRejected, match=r"^patch rejected: writing outside of the project; .*a link on its way"
    ):
        apply_patch(wrapped("*** Add File: first", *lines), cwd=str(root), inside=inside)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("path", ["../x", "/x", "sub/../../x", "{tmp}/root2/x", "../root2/x"])
def test_outside_of_the_writable_folders(root: Path, tmp_path: Path, path: str) -> None:
    """§2.10, the safety gate; that a file is there or not is not told."""
    (tmp_path / "root2").mkdir()
    named = path.format(tmp=tmp_path)
    for lines in (("*** Add File: " + named, "+x"), ("*** Delete File: " + named,), update(named)):
        with pytest.raises(PatchRejected) as caught:
            apply_patch(wrapped(*lines), cwd=str(root), inside=["."])
        assert caught.value.message.startswith(f"patch rejected: writing outside of the project; {named}: ")
        assert caught.value.details["path"] == named
    with pytest.raises(PatchRejected, match="only nothing may be written"):
        apply_patch(wrapped(*update("a.txt")), cwd=str(root), inside=[])


def test_several_writable_folders(root: Path, tmp_path: Path) -> None:
    (tmp_path / "root2").mkdir()
    (tmp_path / "alias").symlink_to("root2")
    text = wrapped(*update("a.txt"), f"*** Add File: {tmp_path}/root2/x", "+x", "*** Add File: ../alias/y")
    apply_patch(text, cwd=str(root), inside=[".", str(tmp_path / "alias")])
    assert contents(tmp_path / "root2") == {"x": "x\n", "y": ""}


def test_without_writable_folders_any_path_will_do(root: Path, tmp_path: Path) -> None:
    apply_patch(wrapped("*** Add File: ../x", f"*** Add File: {tmp_path}/y"), cwd=str(root))
    assert {"x", "y"} <= set(contents(tmp_path))


@pytest.mark.parametrize(
    "path", [".git/config", ".GIT/hooks/x", ".git", "sub/../.git/x", "gitlink/x", "p.txt", "plink"]
)
def test_protected_paths(root: Path, path: str) -> None:
    make(root, {".git/config": "a\n", "real.txt": "a\n"})
    (root / "gitlink").symlink_to(".git")
    (root / "p.txt").symlink_to("real.txt")
    (root / "plink").symlink_to("p.txt")
    before = tree(root)
    for lines in (("*** Add File: " + path, "+x"), ("*** Delete File: " + path,), update(path)):
        with pytest.raises(PatchRejected, match="it is protected"):
            apply_patch(wrapped(*lines), cwd=str(root), inside=["."], protected=[".git", "p.txt"])
    assert tree(root) == before
    apply_patch(wrapped("*** Add File: .gitignore", "+x"), cwd=str(root), inside=["."], protected=[".git"])


@pytest.mark.parametrize(
    "path",
    [
        *(".git", ".git/config", "sub/.git", "sub/.git/config", "sub/deep/.git/hooks/pre-commit"),
        *("sub/.GIT/config", "sub/.Git/x", "new/.git/x", "sub/x/../.git/config", "nested/.git/config"),
        *("sub/.git./x", "sub/.git /x", "sub/.git::$INDEX_ALLOCATION/x", "sub/git~1/x", "sub/.g\u200cit/x"),
        *("linked/config", "sub/linked/config"),
    ],
)
@pytest.mark.parametrize("inside", [None, ["."]])
def test_no_repository_is_written_or_made(root: Path, path: str, inside: list[str] | None) -> None:
    """§4.1: a nested .git is protected as the workspace's own, there or not; with walls or without."""
    make(root, {"nested/.git/config": "a\n", "nested/.git/HEAD": "a\n"})
    (root / "linked").symlink_to("nested/.git")
    (root / "sub" / "linked").symlink_to("../nested/.git")
    before = tree(root)
    for lines in (
        (f"*** Add File: {path}", "+x"),
        ("*** Update File: a.txt", f"*** Move to: {path}", "-a", "+b"),
        update(path),
        (f"*** Delete File: {path}",),
        ("*** Add File: fine", "+x", f"*** Add File: {path}", "+x"),
    ):
        with pytest.raises(PatchRejected, match="protected"):
            apply_patch(wrapped(*lines), cwd=str(root), inside=inside)
    assert tree(root) == before


def test_a_folder_in_a_repositorys_own_is_no_place_for_patches(root: Path) -> None:
    """§4.1: also when the patch starts there."""
    make(root, {"nested/.git/config": "a\n"})
    with pytest.raises(PatchRejected, match="protected"):
        apply_patch(wrapped(*update("config")), cwd=str(root / "nested" / ".git"))


def test_names_that_only_resemble_a_repositorys(root: Path) -> None:
    """§4.1: what git does not obey is written as ever."""
    names = [".gitignore", ".github/x", "sub/.gitmodules", "x.git/y", "sub/git/x", ".git2/x", "é.git"]
    apply_patch(wrapped(*(line for name in names for line in (f"*** Add File: {name}", "+x"))), cwd=str(root))
    assert set(names) <= set(contents(root))
