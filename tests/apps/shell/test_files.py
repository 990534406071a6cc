"""Files, preview and tabs: every key, and folders that are not what they seem."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from agent_exec.apps.shell import background_read as aside
from agent_exec.apps.shell.app import ShellApp
from agent_exec.apps.shell.panes import commandline, filepane, previewpane
from agent_exec.faces.slash.files import Listing, Preview, SlashCandidates, candidates, listing, preview
from apps.shell.driving import MakeApp, Person, use


def names(person: Person) -> list[str]:
    return [entry.name for entry in person.main.files.listing.entries]


def test_arrows_walk_and_the_preview_goes_along(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        files = person.main.files
        assert names(person) == ["docs", "src", "notes.txt"]
        assert person.previews(
            "guide.md",
        )
        await person.press("down", "down")
        assert files.chosen_path.endswith("notes.txt")
        assert person.previews("first line", "second line")
        await person.press("up", "up", "up")
        assert files.cursor == 0
        await person.press("end")
        assert files.cursor == 2
        await person.press("home")
        assert files.cursor == 0
        await person.press("pagedown")
        assert files.cursor == 2
        await person.press("pageup")
        assert files.cursor == 0

    use(app, story)


def test_enter_walks_in_and_backspace_out(app: ShellApp, folder: Path) -> None:
    async def story(person: Person) -> None:
        files = person.main.files
        await person.press("enter")
        assert files.path == str(folder / "docs")
        assert person.main.bar.folder == files.path
        assert person.main.tabs.tab.path == files.path
        await person.press("backspace")
        assert files.path == str(folder)
        assert files.entry is not None
        assert files.entry.name == "docs"
        await person.press("down", "right")
        assert files.path == str(folder / "src")
        assert "(empty)" in person.screen
        await person.press("left", "left")
        assert files.path == str(folder.parent)
        assert files.entry is not None
        assert files.entry.name == "project"

    use(app, story)


def test_enter_on_a_file_looks_into_it(app: ShellApp, folder: Path) -> None:
    (folder / "long.txt").write_text("".join(f"line {number} {'x' * 100}\n" for number in range(100)))

    async def story(person: Person) -> None:
        preview = person.main.preview
        await person.press("down", "down", "enter")
        assert person.focus_is(preview)
        await person.press("down")
        assert preview.top == 1
        await person.press("pagedown", "right")
        assert preview.top > 10
        assert preview.column == 4
        await person.press("end")
        assert "line 99" in person.screen or preview.column
        await person.press("left", "up", "pageup", "home")
        assert preview.top == preview.column == 0
        await person.press("escape")
        assert person.focus_is(person.main.files)

    use(app, story)


def test_hidden_names_come_and_go(app: ShellApp, folder: Path) -> None:
    (folder / ".secret").touch()

    async def story(person: Person) -> None:
        assert ".secret" not in names(person)
        await person.press(".")
        assert ".secret" in names(person)
        await person.press("h")
        assert ".secret" not in names(person)

    use(app, story)


def test_what_is_new_is_seen(app: ShellApp, folder: Path) -> None:
    async def story(person: Person) -> None:
        await person.press("end")
        (folder / "a-new-file").touch()
        await person.press("r")
        assert "a-new-file" in names(person)
        (folder / "one-more").touch()
        await person.press("f5")
        assert "one-more" in names(person)
        assert person.main.files.chosen_path.endswith("notes.txt")
        (folder / "another").touch()
        await person.until(lambda: "another" in names(person))  # it looks by itself

    use(app, story)


def test_a_folder_that_vanishes_is_reported_and_left(app: ShellApp, folder: Path) -> None:
    async def story(person: Person) -> None:
        await person.press("enter")
        shutil.rmtree(folder)
        await person.press("r")
        assert "No such file" in person.screen
        await person.command("/shell true")
        await person.until(lambda: person.status == "Error")
        assert "no working dir" in person.told
        await person.press("left")
        assert person.main.files.path == str(folder.parent)

    use(app, story)


def test_names_that_would_break_a_screen_are_shown_as_pictures(app: ShellApp, folder: Path) -> None:
    for name in ("bad\x1b[31mname", "[red]markup", "日本語のとても長い名前のファイルです.txt", "two\nlines"):
        (folder / name).write_text("\x1b]0;title\x07\x1b[2Jgone\n")
    os.symlink("nowhere", folder / "broken")
    os.mkfifo(folder / "pipe")
    with open(os.fsencode(folder) + b"/\xff\xfe", "w") as file:
        file.write("x")

    async def story(person: Person) -> None:
        assert "bad␛[31mname" in person.screen
        assert "[red]markup" in person.screen
        assert "two␊lines" in person.screen
        for _ in names(person):
            await person.press("down")
            assert "\x1b" not in person.screen
            assert len(person.rows) == 24
        await person.press("enter")

    use(app, story)


def test_tabs_open_switch_and_close(app: ShellApp, folder: Path) -> None:
    async def story(person: Person) -> None:
        tabs, files = person.main.tabs, person.main.files
        await person.press("t")  # the folder under the cursor
        assert [tab.path for tab in tabs.tabs] == [str(folder), str(folder / "docs")]
        assert files.path == str(folder / "docs")
        assert " 1 project   2 docs" in person.rows[0]
        await person.press("1", "down", "down")
        assert files.path == str(folder)
        await person.press("t")
        assert [tab.path for tab in tabs.tabs] == [str(folder), str(folder), str(folder / "docs")]
        await person.press("]")
        assert tabs.number == 2
        await person.press("]")
        assert tabs.number == 0
        assert files.chosen_path.endswith("notes.txt")  # as it was left
        await person.press("[", "x")
        assert len(tabs.tabs) == 2
        await person.press("x")
        assert len(tabs.tabs) == 1
        await person.press("x")
        assert "last tab stays" in person.told
        for _ in range(9):
            await person.press("t")
        assert len(tabs.tabs) == 9
        assert "close one" in person.told
        await person.press("9", "8")
        assert tabs.number == 7

    use(app, story)


def test_tab_goes_from_pane_to_pane(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        main = person.main
        assert person.focus_is(main.files)
        await person.press("tab")
        assert person.focus_is(main.preview)
        await person.press("tab")
        assert person.focus_is(main.files)

    use(app, story)


def test_the_mouse_works(make_app: MakeApp, folder: Path) -> None:
    async def story(person: Person) -> None:
        files = person.main.files
        await person.pilot.click(files, offset=(3, 2))
        await person.until(lambda: files.cursor == 1)
        await person.pilot.click(files, offset=(3, 1), times=2)
        await person.until(lambda: files.path == str(folder / "docs"))
        await person.press("t")
        await person.pilot.click(person.main.tabs, offset=(2, 0))
        await person.until(lambda: person.main.tabs.number == 0)

    use(make_app(), story)


def test_any_size_will_do(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run("echo hello")
        for size in ((20, 6), (49, 10), (200, 60), (1, 1), (10, 3), (80, 24)):
            await person.pilot.resize_terminal(*size)
            await person.press("ctrl+o")
            await person.press("ctrl+o")
        assert "notes.txt" in person.screen

    use(app, story)


def test_a_disk_that_does_not_answer_blocks_nothing(
    app: ShellApp, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(aside, "PATIENCE", 0.1)
    stuck = str(folder / "src")

    def slow(path: str, **terms: bool) -> Listing:
        if path == stuck:
            answers.wait(30)
        return listing(path, **terms)

    def slow_too(path: str) -> Preview:
        if path == stuck:
            answers.wait(30)
        return preview(path)

    monkeypatch.setattr(filepane, "listing", slow)
    monkeypatch.setattr(previewpane, "preview", slow_too)

    async def story(person: Person) -> None:
        (folder / "src" / "late").touch()
        await person.press("down")
        await person.until(lambda: person.previews("reading …"))
        await person.press("down")
        await person.press("up", "enter")
        assert person.main.files.path == stuck
        assert "reading …" in person.screen
        await person.press("f1")
        await person.until(lambda: "commands and keys" in person.screen)
        await person.press("escape")
        await person.press("?")
        await person.until(lambda: "/shell COMMAND" in person.screen)
        await person.press("escape")
        answers.set()
        await person.until(lambda: names(person) == ["late"])
        await person.press("left", "home")
        await person.until(lambda: person.previews("guide.md"))

    try:
        use(app, story)
    finally:
        answers.set()


def test_candidates_of_a_disk_that_does_not_answer_come_later(
    app: ShellApp, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(aside, "PATIENCE", 0.1)

    def slow(line: str, working_dir: str, cursor: int | None = None) -> SlashCandidates:
        if line.startswith("/shell cat "):
            answers.wait(30)
        return candidates(line, working_dir, cursor)

    monkeypatch.setattr(commandline, "candidates", slow)

    async def story(person: Person) -> None:
        await person.type("/shell cat n")
        assert person.typed == "/shell cat n"
        assert "reading …" in person.screen
        await person.press("tab")
        assert person.typed == "/shell cat n"
        answers.set()
        await person.until(lambda: person.candidates == ["notes.txt"])
        await person.press("tab")
        assert person.typed == "/shell cat notes.txt "

    try:
        use(app, story)
    finally:
        answers.set()
