"""What may come next on the command line, and what Tab makes of it."""

import os
from pathlib import Path

import pytest

from agent_exec.faces.slash import files
from agent_exec.faces.slash.core import SlashCore
from agent_exec.faces.slash.files import SlashCandidates, candidates
from faces.slash.typed import run, split, texts


@pytest.fixture
def tree(folder: Path) -> Path:
    for name in (
        "build.sh",
        "diary.txt",
        "my file.txt",
        "it's.txt",
        "both'\".txt",
        "日本.txt",
        ".hidden",
        "-dash",
    ):
        (folder / name).touch()
    (folder / "dir" / "deep").mkdir(parents=True)
    (folder / "dir" / "inner.txt").touch()
    (folder / "my dir").mkdir()
    (folder / "my dir" / "a b").touch()
    return folder


def offered(line: str, folder: Path, cursor: int | None = None) -> list[str]:
    return [one.text for one in candidates(line, str(folder), cursor).items]


def tabbed(line: str, folder: Path, index: int = 0, cursor: int | None = None) -> str:
    return candidates(line, str(folder), cursor).accept(line, index)[0]


def test_s21_s39_only_the_last_word_is_completed(tree: Path) -> None:
    assert offered("/shell ./build.sh ./di", tree) == ["./diary.txt", "./dir/"]
    assert tabbed("/shell ./build.sh ./di", tree) == "/shell ./build.sh ./diary.txt "
    assert tabbed("/shell ./build.sh ./di", tree, 1) == "/shell ./build.sh ./dir/"
    assert offered("/shell ./bu", tree) == ["./build.sh"]
    assert candidates("/shell ./build.sh ./di", str(tree)).start == len("/shell ./build.sh ")


def test_s39_completing_keeps_the_output(core: SlashCore, tree: Path) -> None:
    run(core, "/shell echo kept", tree)
    version = core.view.version
    assert tabbed("/shell cat ./di", tree) == "/shell cat ./diary.txt "
    assert (texts(core.view), core.view.version) == (["kept"], version)


def test_s21_a_space_after_a_file_a_slash_after_a_folder(tree: Path) -> None:
    assert tabbed("/shell cat dir/", tree) == "/shell cat dir/deep/"
    assert tabbed("/shell cat dir/i", tree) == "/shell cat dir/inner.txt "
    assert tabbed("/shell cat --opt=di", tree) == "/shell cat --opt=diary.txt "
    assert tabbed("/shell cat nothing", tree) == "/shell cat nothing"


def test_s21_a_blank_at_the_end_begins_a_word(tree: Path) -> None:
    names = [
        "-dash",
        "both'\".txt",
        "build.sh",
        "diary.txt",
        "dir/",
        "it's.txt",
        "my dir/",
        "my file.txt",
        "日本.txt",
    ]
    assert offered("/shell cat ", tree) == names
    assert offered("/shell ", tree) == names
    assert offered("/shell cat .", tree) == [".hidden"]
    assert offered("/shell cat ./.h", tree) == ["./.hidden"]


@pytest.mark.parametrize("typed", ["my", "'my", '"my', "'my f", '"my f', "m'y f'"])
def test_s21_names_are_quoted_where_they_need_it(tree: Path, typed: str) -> None:
    line = f"/shell cat {typed}"
    index = [one.kind for one in candidates(line, str(tree)).items].index("file")
    assert tabbed(line, tree, index) == "/shell cat 'my file.txt' "


def test_s21_what_is_put_into_the_line_is_the_name(tree: Path) -> None:
    for one in candidates("/shell ", str(tree)).items:
        assert split(one.insert) == [one.text]
    line = tabbed("/shell cat my", tree)
    assert line == "/shell cat 'my dir/'"
    assert tabbed(line, tree) == "/shell cat 'my dir/a b' "
    assert tabbed(line + "a", tree) == "/shell cat 'my dir/a b' "


def test_s21_in_the_middle_of_a_line(tree: Path) -> None:
    line = "/shell cat ./dia ./dir/"
    found = candidates(line, str(tree), len("/shell cat ./dia"))
    assert found.accept(line) == ("/shell cat ./diary.txt ./dir/", len("/shell cat ./diary.txt "))
    assert offered("/shell cat", tree, cursor=3) == ["/shell"]
    assert offered(line, tree, cursor=-5) == []
    assert offered("/shell ./dia", tree, cursor=999) == ["./diary.txt"]


@pytest.mark.parametrize(
    "typed",
    ["../", "/etc/", "/", "~/", "$HOME/", "out/", "dir/../../", "missing/", "diary.txt/", "x\0/", "n" * 5000],
)
def test_s21_nothing_outside_and_nothing_that_is_not_there(tree: Path, typed: str) -> None:
    (tree / "out").symlink_to("/etc")
    assert offered(f"/shell cat {typed}", tree) == []


def test_s21_what_could_not_be_run_is_not_offered(folder: Path) -> None:
    for name in (b"a;b", b"a\nb", b"a\x1b[31m", b"a$(x)", b"a\xff", "a\u202e".encode(), b"afine"):
        (folder / os.fsdecode(name)).touch()
    (folder / "alink").symlink_to("/etc/passwd")
    (folder / "aloop").symlink_to("aloop")
    (folder / "agone").symlink_to("nowhere")
    assert offered("/shell cat a", folder) == ["afine", "agone"]


def test_s21_a_folder_that_is_gone_or_closed(folder: Path) -> None:
    assert offered("/shell x", folder / "gone") == []
    (folder / "closed").mkdir()
    (folder / "closed").chmod(0)
    assert offered("/shell closed/", folder) == []
    (folder / "closed").chmod(0o700)


def test_s21_huge_folders_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(300):
        (folder / f"f{number:03}").touch()
    found = candidates("/shell f", str(folder))
    assert (len(found.items), found.more, found.items[0].text) == (200, True, "f000")
    assert not candidates("/shell f29", str(folder)).more
    monkeypatch.setattr(files, "LOOKED_AT", 5)
    found = candidates("/shell f", str(folder))
    assert (len(found.items), found.more) == (5, True)


def test_s19_commands_are_candidates_too(folder: Path) -> None:
    assert offered("/", folder) == ["/shell", "/jobs", "/sessions", "/help", "/quit"]
    assert offered("/s", folder) == ["/shell", "/sessions"]
    assert tabbed("/s", folder) == "/shell "
    assert tabbed("/q", folder) == "/quit"
    assert tabbed("/x", folder) == "/x"
    assert offered("", folder) == offered("ls", folder) == offered("/jobs x", folder) == []
    assert SlashCandidates(0, 3).accept("/xy") == ("/xy", 3)
