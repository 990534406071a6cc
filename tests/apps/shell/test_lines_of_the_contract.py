"""The lines of the contract that are about the interface, by their numbers."""

import re
import time
from pathlib import Path

from agent_exec.apps.shell.app import ShellApp
from agent_exec.apps.shell.panes.bars import ICONS
from apps.shell.driving import MakeApp, Person, script, use


def test_each_line_about_the_interface_has_a_test() -> None:
    names = re.findall(r"def (test_s\w+)", Path(__file__).read_text())
    found = {int(number) for name in names for number in re.findall(r"(?<=_s)\d+(?=_)", name)}
    assert {19, 20, 21, 22, 23, 24, 25, 26, 31, 32, 38, 39} <= found


def test_s19_bad_news_stay_on_the_bottom_bar(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.command("/shell ls ..")
        await person.until(lambda: person.status == "Error")
        told, bar = person.told, person.main.bar.bar
        assert bar.shown(time.monotonic() + 1000) is not None
        assert f"{ICONS['Error']} {told}" in " ".join(person.screen.split())
        await person.run("true")
        assert person.status == "Success"
        assert bar.shown(time.monotonic() + 4) is None  # good news go
        await person.until(lambda: "exit=0" not in person.rows[-2])

    use(app, story)


def test_s19_history_and_candidates_go_together(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run("echo one")
        await person.type("/shell ec")
        await person.press("ctrl+p")
        assert (person.typed, person.candidates) == ("/shell echo one", [])
        await person.type(" n")  # it is edited: candidates are for what is there now
        assert person.candidates == ["notes.txt"]
        await person.press("ctrl+n")
        assert person.typed == "/shell ec"

    use(app, story)


def test_s20_it_is_seen_in_which_folder_a_command_ran(app: ShellApp, folder: Path) -> None:
    async def story(person: Person) -> None:
        await person.press("enter")
        assert person.rows[-1].strip() == "~/project/docs │ shell on"
        await person.run("ls")
        assert person.app.core.view.request is not None
        assert person.app.core.view.request.working_dir == str(folder / "docs")
        await person.press("t")
        await person.press("ctrl+o")
        shown = re.sub(r"[│\s]", "", person.screen)
        assert f"cwd:{folder}/docs"[:60] in shown

    use(app, story)


def test_s21_s39_the_last_word_is_completed_and_the_log_survives(app: ShellApp, folder: Path) -> None:
    script(folder, "build.sh", "echo built\n")
    (folder / "diary.txt").touch()
    (folder / "dir").mkdir()

    async def story(person: Person) -> None:
        await person.run("./build.sh")
        generation = person.app.core.view.generation
        await person.type("/shell ./build.sh ./di")
        assert person.candidates == ["./diary.txt", "./dir/"]
        await person.press("tab")
        assert person.typed == "/shell ./build.sh ./diary.txt "  # the next argument can be typed
        await person.type("./dir")
        await person.press("tab")
        assert person.typed == "/shell ./build.sh ./diary.txt ./dir/"
        assert person.app.core.view.generation == generation
        await person.press("escape", "ctrl+o")
        assert person.output == ["built"]

    use(app, story)


def test_s22_s23_lines_of_both_streams_are_scrolled_up_and_down(app: ShellApp, folder: Path) -> None:
    script(folder, "many.sh", "seq 1 100; echo end >&2\n")

    async def story(person: Person) -> None:
        await person.run("./many.sh")
        await person.press("ctrl+o")
        scroll = person.main.pane.lines.scroll
        assert person.output[-1] == "end"
        deepest = scroll.scroll_offset
        await person.press("up", "up")
        assert scroll.scroll_offset == deepest - 2
        assert person.output[-1] == "99"
        await person.press("down")
        assert scroll.scroll_offset == deepest - 1

    use(app, story)


def test_s24_the_output_is_a_block_in_the_place_of_the_preview(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        place = person.main.preview.region
        await person.run("echo hello")
        await person.until(lambda: "shell output" in person.screen)
        assert not person.main.preview.display
        assert person.main.pane.region == place

    use(app, story)


def test_s25_s26_ctrl_o_opens_it_and_ctrl_o_or_escape_closes_it(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run("echo hello")
        await person.press("escape")
        for key in ("ctrl+o", "escape"):
            await person.press("ctrl+o")
            assert person.output_is("open")
            assert "shell output" in person.screen
            await person.press(key)
            assert person.output_is("closed")
            assert "shell output" not in person.screen
        await person.press("/", "ctrl+o")  # from the command line too, and it stays
        assert person.output_is("open")
        assert person.typed == "/"

    use(app, story)


def test_s31_s32_the_log_stays_until_another_command_is_accepted(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run("echo one")
        await person.command("/shell echo a;b")
        await person.until(lambda: person.status == "Error")
        await person.command("/shell cat /etc/passwd")
        await person.until(lambda: "path escapes" in person.told)
        await person.press("ctrl+o")
        assert person.output == ["one"]
        await person.press("escape")
        await person.run("echo two")
        await person.press("ctrl+o")
        assert person.output == ["two"]

    use(app, story)


def test_s38_feedback_reaches_the_bottom_bar_and_the_history(make_app: MakeApp, folder: Path) -> None:
    script(folder, "fail.sh", "echo out; echo err >&2; exit 3\n")
    app = make_app()

    async def story(person: Person) -> None:
        await person.run("./fail.sh")
        told = re.sub(r"\d+ms", "5ms", person.told)
        assert told == "shell: exit=3 5ms stdout=out stderr=err"
        assert person.rows[-2].lstrip().startswith(f"{ICONS['Error']} shell: exit=3")
        assert person.app.core.history.lines == ["/shell ./fail.sh"]

    use(app, story)
