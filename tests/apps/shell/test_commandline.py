"""The command line: opened, typed on, completed, recalled, left."""

from pathlib import Path

import pytest
from textual import events

from agent_exec.apps.shell.app import ShellApp
from apps.shell.driving import MakeApp, Person, script, use


def test_a_slash_opens_it_and_escape_leaves_it(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        main = person.main
        await person.press("/")
        assert person.typed == "/"
        assert person.focus_is(main.line)
        assert person.candidates == ["/shell", "/jobs", "/sessions", "/help", "/quit"]
        await person.press("escape")
        assert not main.line.display
        assert not person.candidates
        assert person.focus_is(main.files)
        await person.press(":")
        assert person.typed == "/"
        await person.press("backspace")  # the lone slash
        assert not main.line.display
        await person.type("/s")
        await person.press("backspace")
        assert person.typed == "/"
        await person.press("ctrl+c")
        assert not main.line.display
        await person.press("/", "enter")
        assert not main.line.display

    use(app, story)


def test_tab_completes_commands(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.type("/se")
        assert person.candidates == ["/sessions"]
        await person.press("tab")
        assert person.typed == "/sessions"
        await person.press("escape")
        await person.type("/sh")
        await person.press("tab")
        assert person.typed == "/shell "
        assert "run a command in this folder" in person.screen

    use(app, story)


def test_arrows_choose_a_candidate_and_enter_takes_it(app: ShellApp, folder: Path) -> None:
    async def story(person: Person) -> None:
        await person.type("/shell cat ")
        assert person.candidates == ["docs/", "notes.txt", "src/"]
        await person.press("down", "down")
        assert person.main.candidates.chosen == 1
        await person.press("enter")
        assert person.typed == "/shell cat notes.txt "
        await person.press("down", "down", "up", "tab")
        assert person.typed == "/shell cat notes.txt docs/"
        assert person.candidates == ["docs/guide.md"]
        await person.press("down", "escape")
        assert person.main.candidates.chosen is None
        assert person.typed
        await person.press("down", "up")
        assert person.main.candidates.chosen is None
        await person.press("down", "shift+tab")
        assert person.main.candidates.chosen is None
        before = person.typed
        await person.press("ctrl+h")  # what some terminals send for Backspace
        assert person.typed == before[:-1]
        await person.press("escape")
        await person.press("/", "down", "down", "down", "down", "enter")  # /help has no arguments: it is done
        await person.until(lambda: "commands and keys" in person.screen)

    use(app, story)


def test_candidates_follow_the_cursor_in_the_line(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.type("/shell cat no xx")
        await person.press("left", "left", "left", "tab")
        assert person.typed == "/shell cat notes.txt xx"

    use(app, story)


def test_a_name_that_needs_it_is_quoted(app: ShellApp, folder: Path) -> None:
    (folder / "two words.txt").write_text("hello\n")

    async def story(person: Person) -> None:
        await person.type("/shell cat tw")
        await person.press("tab", "enter")
        await person.until(lambda: "exit=0" in person.told)
        assert "stdout=hello" in person.told

    use(app, story)


def test_history_goes_back_and_forth(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run("echo one")
        await person.run("echo two")
        await person.command("/shell a;b")  # what failed is remembered too
        await person.type("/dr")
        await person.press("ctrl+p")
        assert person.typed == "/shell a;b"
        assert not person.candidates
        await person.press("up")
        assert person.typed == "/shell echo two"
        await person.press("ctrl+p", "ctrl+p")
        assert person.typed == "/shell echo one"
        await person.press("down")
        assert person.typed == "/shell echo two"
        await person.press("ctrl+n", "ctrl+n")
        assert person.typed == "/dr"
        await person.press("escape", "/", "up", "up", "enter")
        await person.until(lambda: "stdout=two" in person.told)

    use(app, story)


def test_history_is_there_the_next_time(make_app: MakeApp, tmp_path: Path) -> None:
    file = tmp_path / "state" / "history"

    async def first(person: Person) -> None:
        await person.run("echo remembered")

    async def second(person: Person) -> None:
        await person.press("/", "ctrl+p")
        assert person.typed == "/shell echo remembered"

    use(make_app(history=str(file)), first)
    use(make_app(history=str(file)), second)


def test_a_history_that_cannot_be_kept_is_reported(make_app: MakeApp, tmp_path: Path) -> None:
    (tmp_path / "flat").write_text("no folder")

    async def story(person: Person) -> None:
        assert "the history is not kept" in person.told
        await person.run("echo one")
        await person.press("/", "up")
        assert person.typed == "/shell echo one"

    use(make_app(history=str(tmp_path / "flat" / "history")), story)


@pytest.mark.parametrize("text", ["a\x1b[2Jb", "one\ntwo", "nul\0"])
def test_a_paste_with_control_characters_is_refused(app: ShellApp, text: str) -> None:
    async def story(person: Person) -> None:
        await person.press("/")
        person.app.post_message(events.Paste(text))
        await person.until(lambda: "nothing was pasted" in person.told)
        assert person.typed == "/"

    use(app, story)


def test_a_paste_is_put_where_the_cursor_is(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.type("/shell ")
        person.app.post_message(events.Paste("echo\thi\n"))
        await person.until(lambda: person.typed == "/shell echo hi")

    use(app, story)


def test_no_key_overtakes_another(app: ShellApp, folder: Path) -> None:
    """A burst goes where someone who types slowly would have had it go."""

    async def story(person: Person) -> None:
        for line in ("/shell touch one", "/shell touch two"):
            for character in line:
                key = {"/": "slash", " ": "space"}.get(character, character)
                person.app.post_message(events.Key(key, character))
            person.app.post_message(events.Key("enter", "\r"))
        await person.until(lambda: (folder / "two").exists() and (folder / "one").exists())
        assert not person.main.files.hidden  # no letter went to the files

    use(app, story)


def test_unknown_commands_and_lines_without_a_slash_are_reported(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.command("/nothing")
        await person.until(lambda: person.told.startswith("unknown command: nothing"))
        assert person.status == "Error"
        await person.press("/", "backspace")
        await person.command("/shell")
        await person.until(lambda: "missing command" in person.told)

    use(app, story)


def test_help_sessions_and_quit(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.command("/help")
        await person.until(lambda: "/shell COMMAND" in person.screen)
        await person.press("escape")
        await person.until(lambda: person.app.screen is person.main)
        await person.press("?")
        await person.until(lambda: "/shell COMMAND" in person.screen)
        await person.press("q")
        await person.command("/sessions")
        await person.until(lambda: "A session is a command" in person.screen)
        await person.press("enter")
        await person.until(lambda: person.app.screen is person.main)
        await person.press("f2")
        assert not person.app.current_theme.dark
        await person.type("/quit")
        await person.pilot.press("enter")
        await person.until(lambda: person.app._exit)

    use(app, story)
    assert app.return_code == 0


def test_a_long_line_can_be_typed_in_a_folder_of_many_names(app: ShellApp, folder: Path) -> None:
    for number in range(300):
        (folder / "src" / f"file{number:03}").touch()
    script(folder, "count.sh", "echo $#\n")

    async def story(person: Person) -> None:
        await person.type("/shell ./count.sh src/fi")
        assert len(person.candidates) == 200
        assert "200+" in person.screen
        await person.press("tab")
        assert person.typed == "/shell ./count.sh src/file000 "
        await person.type("src/file01")
        assert len(person.candidates) == 10

    use(app, story)


def test_candidates_stay_above_the_line_when_bad_news_take_more_room(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        person.main.tell("bad news " * 30, "Error")
        await person.press("/")
        await person.until(lambda: "/quit" in person.screen)
        rows = [number for number, row in enumerate(person.rows) if row.startswith(("/", "╰╰", "│╰"))]
        assert person.rows[rows[-1]] == "/"
        assert rows[-1] < 21
        assert "Tab takes" in person.rows[rows[-1] - 1]

    use(app, story)
