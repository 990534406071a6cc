"""The output view: opened, looked through as with less, searched, closed."""

import time
from pathlib import Path

import pytest
from textual import events

from agent_exec.apps.shell.app import ShellApp
from apps.shell.driving import LARGE, MakeApp, Person, script, use

SEQ = "seq 1 200"


def test_ctrl_o_says_that_there_is_nothing_yet(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.press("ctrl+o")
        assert person.output_is("closed")
        assert "no output yet" in person.told

    use(app, story)


def test_output_is_seen_beside_the_files_until_the_cursor_moves(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run("echo hello")
        assert person.output_is("beside")
        assert person.focus_is(person.main.files)
        await person.until(lambda: "$ echo hello" in person.screen)
        await person.press("down")
        assert person.output_is("closed")
        assert person.main.preview.display
        await person.press("ctrl+o", "ctrl+o")
        assert person.output_is("closed")
        await person.run("echo again")
        await person.press("escape")
        assert person.output_is("closed")
        await person.run("echo again")
        await person.press("tab")
        assert person.output_is("open")

    use(app, story)


def test_less_like_keys(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run(SEQ)
        await person.press("ctrl+o")
        lines = person.main.pane.lines
        height = lines.scroll.height
        assert person.output[-1] == "200"
        assert lines.scroll.follow
        await person.press("up")
        assert person.output[-1] == "199"
        assert not lines.scroll.follow
        await person.press("pageup")
        assert person.output[-1] == str(199 - height + 1)
        await person.press("home")
        assert person.output[0] == "1"
        await person.press("down", "j")
        assert person.output[0] == "3"
        await person.press("k")
        assert person.output[0] == "2"
        await person.press("pagedown", "space")
        assert person.output[0] == str(2 + 2 * (height - 1))
        await person.press("b")
        assert person.output[0] == str(2 + height - 1)
        await person.press("end")
        assert person.output[-1] == "200"
        await person.press("g")
        assert person.output[0] == "1"
        await person.press("G")
        assert lines.scroll.follow
        await person.press("F")
        assert not lines.scroll.follow
        await person.press("f")
        assert lines.scroll.follow
        assert "of 200 · follows" in person.screen

    use(app, story)


def test_the_wheel_scrolls(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run(SEQ)
        await person.press("ctrl+o")
        lines = person.main.pane.lines
        await person.pilot._post_mouse_events([events.MouseScrollUp], lines, button=0)
        await person.until(lambda: person.output[-1] == "197")
        await person.pilot._post_mouse_events([events.MouseScrollDown], lines, button=0)
        await person.until(lambda: person.output[-1] == "200")

    use(app, story)


def test_sideways(app: ShellApp, folder: Path) -> None:
    (folder / "wide.txt").write_text("0123456789" * 30 + "\n" + "日本語" * 40 + "\n")

    async def story(person: Person) -> None:
        await person.run("cat wide.txt")
        await person.press("ctrl+o", "right", "right")
        assert person.main.pane.lines.scroll.column == 8
        assert "│8901234567" in person.screen
        assert "column 9" in person.screen
        await person.press("left", "left", "left")
        assert "│0123456789" in person.screen

    use(app, story)


def test_search_finds_the_next_and_the_one_before(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run(SEQ)
        await person.press("ctrl+o", "n")
        await person.until(lambda: "nothing is looked for" in person.told)
        await person.press("home", "/")
        await person.type("50")
        await person.press("enter")
        lines = person.main.pane.lines
        search = lines.search
        assert search is not None
        assert search.found is not None
        assert search.found.number == 49
        assert "50" in person.output
        await person.press("n")
        assert search.found.number == 149
        await person.press("n")
        assert search.found.number == 49
        await person.until(lambda: "from the other end" in person.told)
        await person.press("N")
        assert search.found.number == 149
        await person.press("/")
        await person.type("nowhere")
        await person.press("enter")
        await person.until(lambda: "not found: nowhere" in person.told)
        assert person.status == "Warn"
        await person.press("/", "x", "escape")  # given up
        assert person.output_is("open")
        assert person.focus_is(lines)

    use(app, story)


def test_a_find_far_to_the_right_is_brought_into_sight(app: ShellApp, folder: Path) -> None:
    (folder / "wide.txt").write_text("x" * 300 + "needle\n")

    async def story(person: Person) -> None:
        await person.run("cat wide.txt")
        await person.press("ctrl+o", "/")
        await person.type("needle")
        await person.press("enter")
        assert "needle" in person.screen

    use(app, story)


@pytest.mark.parametrize("key", ["ctrl+o", "escape", "q"])
def test_each_of_the_keys_closes_it(app: ShellApp, key: str) -> None:
    async def story(person: Person) -> None:
        await person.run("echo hello")
        await person.press("ctrl+o")
        assert person.output_is("open")
        await person.press(key)
        assert person.output_is("closed")
        assert person.focus_is(person.main.files)

    use(app, story)


def test_it_has_the_whole_width_of_a_small_screen_and_a_part_of_a_large_one(make_app: MakeApp) -> None:
    async def small(person: Person) -> None:
        await person.run("echo hello")
        await person.press("ctrl+o")
        assert not person.main.files.display
        await person.press("w")
        assert person.main.files.display
        assert person.output_is("open")

    async def large(person: Person) -> None:
        await person.run("echo hello")
        await person.press("ctrl+o")
        assert person.main.files.display
        await person.press("w")
        assert not person.main.files.display

    use(make_app(), small)
    use(make_app(), large, LARGE)


def test_a_command_can_be_typed_while_it_is_open(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run("echo one")
        await person.press("ctrl+o", ":")
        await person.type("shell echo two")
        await person.press("enter")
        await person.until(lambda: "stdout=two" in person.told)
        assert person.output_is("open")
        assert person.focus_is(person.main.pane.lines)
        await person.until(lambda: person.output == ["two"])

    use(app, story)


def test_stderr_has_another_colour(app: ShellApp, folder: Path) -> None:
    script(folder, "both.sh", "echo good\nsleep 0.2\necho bad >&2\n")

    async def story(person: Person) -> None:
        await person.run("./both.sh")
        await person.press("ctrl+o")
        lines = person.main.pane.lines
        good, bad = (lines.render_line(row) for row in (2, 3))
        assert (good.text.strip(), bad.text.strip()) == ("good", "bad")
        colours = [next(iter(strip)).style for strip in (good, bad)]
        assert colours[0] is not None
        assert colours[1] is not None
        assert colours[0].color != colours[1].color

    use(app, story)


def test_no_color_marks_stderr_and_sets_no_colour(
    make_app: MakeApp, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(folder, "both.sh", "echo good\nsleep 0.2\necho bad >&2\nexit 3\n")
    monkeypatch.setenv("NO_COLOR", "1")

    async def story(person: Person) -> None:
        await person.run("./both.sh")
        await person.press("ctrl+o")
        assert "  good" in person.screen
        assert "E bad" in person.screen
        await person.press("f2")  # no theme brings colours back
        for strip in person.app.screen._compositor.render_strips():
            drawn = strip
            for one in person.app.get_line_filters():
                drawn = drawn.apply_filter(one, person.app.screen.background_colors[1])
            for segment in drawn:
                style = segment.style
                assert style is None or style.color is None or style.color.is_default, segment
                assert style is None or style.bgcolor is None or style.bgcolor.is_default, segment

    use(make_app(), story)


def test_binary_and_hostile_output_breaks_nothing(app: ShellApp, folder: Path) -> None:
    (folder / "hostile").write_bytes(
        b"\x1b[2J\x1b[31m\x1b]0;title\x07\x00\x01\xff\xfe\n"
        + bytes(range(256)) * 20
        + "\u202e\u200b日本".encode()
    )

    async def story(person: Person) -> None:
        await person.run("cat hostile")
        await person.press("ctrl+o", "right", "pagedown", "home")
        assert "␛[2J" in person.screen
        assert "\x1b" not in person.screen
        assert len(person.rows) == 24

    use(app, story)


def test_a_flood_is_followed_and_keys_answer(app: ShellApp, folder: Path) -> None:
    script(folder, "flood.sh", "yes 'a line of some length, as many have' | head -c 20000000\n")

    async def story(person: Person) -> None:
        await person.press("/")
        await person.type("shell ./flood.sh")
        await person.press("enter", "ctrl+o")
        longest = 0.0
        lines = person.main.pane.lines
        await person.until(lambda: person.output_is("open") or person.app.core.view.result is not None)
        while person.app.core.view.result is None:
            before = time.perf_counter()
            await person.press("up")
            longest = max(longest, time.perf_counter() - before)
        assert longest < 2  # far more than it takes: the bench measures, this only sees that it answers
        assert len(lines.view) == 4000
        await person.press("G")
        assert "first " in person.screen
        assert "dropped" in person.screen

    use(app, story)


def test_nothing_is_drawn_as_long_as_nothing_changes(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run("echo hello")
        await person.press("ctrl+o")
        lines = person.main.pane.lines
        await person.until(lambda: person.output == ["hello"])
        frames = lines.frames
        await person.pilot.pause(0.5)
        assert lines.frames == frames
        await person.press("ctrl+o")
        person.app.core.view.feed("stdout", b"more\n")
        await person.pilot.pause(0.2)
        assert lines.frames == frames  # nobody looks

    use(app, story)
