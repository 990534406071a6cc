"""What the panes show of folders and files, whatever is in them."""

import os
from pathlib import Path

from agent_exec.faces.slash.files import Entry, Listing, Preview, listing, preview


def test_a_folder_is_listed_folders_first(folder: Path) -> None:
    for name in ("b.txt", "A.txt", ".hidden", "c.txt"):
        (folder / name).touch()
    (folder / "zoo").mkdir()
    (folder / "Bar").mkdir()
    (folder / "link").symlink_to("zoo")
    (folder / "gone").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    found = listing(str(folder))
    assert [(one.name, one.kind, one.is_link) for one in found.entries] == [
        ("Bar", "directory", False),
        ("link", "directory", True),
        ("zoo", "directory", False),
        ("A.txt", "file", False),
        ("b.txt", "file", False),
        ("c.txt", "file", False),
        ("gone", "broken", True),
        ("loop", "broken", True),
        ("pipe", "other", False),
    ]
    assert ".hidden" in [one.name for one in listing(str(folder), hidden=True).entries]
    assert not found.more


def test_names_are_safe_to_be_shown_and_still_name_the_file(folder: Path) -> None:
    for name in (b"\x1b[2J", b"a\nb", b"\xff", "\u202e".encode()):
        (folder / os.fsdecode(name)).touch()
    for one in listing(str(folder)).entries:
        assert one.shown.isprintable()
        assert (folder / one.name).exists()
    assert Entry("a", "file").replace(name="\x00").shown == "␀"


def test_huge_folders_are_bounded(folder: Path) -> None:
    for number in range(30):
        (folder / str(number)).touch()
    found = listing(str(folder), most=10)
    assert (len(found.entries), found.more) == (10, True)
    for number in range(30):
        (folder / f".{number}").touch()
    found = listing(str(folder), most=2)
    assert (len(found.entries) <= 2, found.more) == (True, True)


def test_a_folder_that_is_gone_is_reported(folder: Path) -> None:
    gone = str(folder / "gone\x1b")
    assert listing(gone) == Listing(gone, problem=f"{folder}/gone␛: No such file or directory")
    assert listing("a\0b").problem.endswith("this is not a path")
    (folder / "file").touch()
    assert "Not a directory" in listing(str(folder / "file")).problem


def test_the_beginning_of_a_file_is_shown(folder: Path) -> None:
    file = folder / "file"
    file.write_bytes("one\r\n\ttwo\n\x1b[31m日本\n".encode())
    assert preview(str(file)) == Preview("text", ("one", "        two", "␛[31m日本"))
    file.write_text("x\n" * 1000)
    assert preview(str(file), max_lines=2) == Preview("text", ("x", "x"), more=True)
    assert preview(str(file), max_bytes=3) == Preview("text", ("x", "x"), more=True)
    file.write_bytes("日本".encode())
    assert preview(str(file), max_bytes=4).kind == "text"  # cut in the middle of a character
    file.write_text("")
    assert preview(str(file)) == Preview("text")


def test_what_is_no_text_is_reported(folder: Path) -> None:
    (folder / "nul").write_bytes(b"text\0")
    assert preview(str(folder / "nul")) == Preview("binary", ("binary, 5 bytes",))
    (folder / "noise").write_bytes(b"\xff\xfe" * 1000)
    assert preview(str(folder / "noise")).kind == "binary"
    os.mkfifo(folder / "pipe")
    assert preview(str(folder / "pipe")).kind == "message"
    assert preview(str(folder / "gone")) == Preview("message", ("gone: No such file or directory",))
    assert preview("a\0b").kind == "message"
    (folder / "twice").write_bytes(b"x" * 10)
    (folder / "twice").chmod(0o000)
    assert preview(str(folder / "twice")).kind in ("text", "message")  # who is root may read it
    assert preview("/proc/self/status").lines[0].startswith("Name:")
    assert preview("/proc/self/mem").kind == "message"
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "sub" / "file").touch()
    assert preview(str(folder / "sub")) == Preview("directory", ("deep/", "file"))
