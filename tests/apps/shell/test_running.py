"""While commands run: the clock, the queue, cancelling, leaving; and who may be asked."""

import os
from pathlib import Path

import pytest
from textual.widgets import Static

from agent_exec.apps.shell.app import ShellApp
from agent_exec.apps.shell.panes.dialogs import Approval
from apps.shell.driving import MakeApp, Person, script, use
from support import exists

RULES = """\
[[rule]]
prefix = ["printf"]
verdict = "ask"
reason = "printing needs a look"

[[rule]]
prefix = ["rm"]
verdict = "deny"
reason = "use trash"
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    return file


async def asked(person: Person) -> None:
    """Wait for the question, and read it."""
    await person.until(lambda: "may this run?" in person.screen)
    dialog = person.app.screen
    assert isinstance(dialog, Approval)
    await person.until(lambda: dialog.ready)


def test_a_running_command_has_a_spinner_a_clock_and_live_output(app: ShellApp, folder: Path) -> None:
    script(folder, "slow.sh", "echo begun\nsleep 60\n")

    async def story(person: Person) -> None:
        await person.command("/shell ./slow.sh")
        await person.until(lambda: "begun" in person.screen)
        bar = person.main.bar
        first = bar.line
        assert first.endswith("s")
        await person.until(lambda: bar.line != first)
        assert "status: running" in person.screen
        await person.press("ctrl+c")
        await person.until(lambda: person.app.core.running is None)
        await person.until(lambda: "exit=-1" in person.told)
        assert "(cancelled)" in person.told
        assert person.status == "Error"
        await person.until(lambda: "exit: -1 (cancelled)" in person.screen)

    use(app, story)


def test_ctrl_c_never_quits(app: ShellApp, folder: Path) -> None:
    async def story(person: Person) -> None:
        await person.press("ctrl+c")
        assert "nothing runs" in person.told
        await person.command("/shell sleep 60")
        await person.until(lambda: person.app.core.running is not None)
        await person.press("ctrl+c")
        await person.until(lambda: person.app.core.running is None)
        await person.press("ctrl+c")
        await person.run("echo still here")
        assert "still here" in person.told

    use(app, story)


def test_a_command_that_ignores_the_first_ctrl_c_ends_with_the_second(app: ShellApp, folder: Path) -> None:
    script(folder, "stubborn.sh", "trap '' TERM\necho ready\nwhile true; do sleep 0.1; done\n")

    async def story(person: Person) -> None:
        await person.command("/shell ./stubborn.sh")
        await person.until(lambda: "ready" in person.screen)
        await person.press("ctrl+c")
        await person.until(lambda: "again ends it by force" in person.told)
        await person.press("ctrl+c")
        await person.until(lambda: "exit=-1" in person.told)

    use(app, story)


def test_a_second_command_queues_and_the_bar_says_so(app: ShellApp, folder: Path) -> None:
    script(folder, "hold.sh", "while ! test -e go; do sleep 0.02; done\necho first\n")

    async def story(person: Person) -> None:
        await person.command("/shell ./hold.sh")
        await person.until(lambda: person.app.core.running is not None)
        await person.command("/shell echo second")
        await person.until(lambda: "queued, 1 before it" in person.told)
        assert "1 queued" in person.main.bar.line
        (folder / "go").touch()
        await person.until(lambda: "stdout=second" in person.told)
        assert "queued" not in person.main.bar.line

    use(app, story)


def test_the_bar_says_where_a_command_runs_if_that_is_elsewhere(app: ShellApp, folder: Path) -> None:
    async def story(person: Person) -> None:
        await person.command("/shell sleep 60")
        await person.until(lambda: person.app.core.running is not None)
        assert person.main.bar.running == "shell: running: sleep 60"
        await person.press("enter")  # into docs
        assert person.main.bar.running == "shell: running: sleep 60 in ~/project"
        person.main.bar.bar.dismiss()
        person.main.bar.look()
        await person.look()
        assert "running: sleep 60 in ~/project" in person.screen
        await person.press("ctrl+c")

    use(app, story)


def test_files_that_a_command_made_are_seen(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.run("touch made-by-a-command")
        await person.until(lambda: "made-by-a-command" in person.screen)

    use(app, story)


def test_leaving_asks_if_something_runs(app: ShellApp, folder: Path) -> None:
    script(folder, "pid.sh", "echo $$\nexec sleep 60\n")
    pid = 0

    async def story(person: Person) -> None:
        nonlocal pid
        await person.command("/shell ./pid.sh")
        await person.until(lambda: person.output)
        pid = int(person.output[0])
        await person.press("ctrl+q")
        assert "a command runs" in person.screen
        assert "./pid.sh" in person.screen
        await person.press("n")
        assert person.app.screen is person.main
        await person.press("ctrl+q", "escape")
        assert person.app.screen is person.main
        assert exists(pid)
        await person.press("ctrl+q")
        await person.pilot.press("left")
        await person.pilot.press("enter")
        await person.until(lambda: person.app._exit)

    use(app, story)
    assert pid
    assert not exists(pid)
    assert app.return_code == 0


def test_ctrl_q_twice_leaves(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.command("/shell sleep 60")
        await person.until(lambda: person.app.core.running is not None)
        await person.command("/shell sleep 61")
        await person.until(lambda: person.app.core.waiting)
        await person.press("ctrl+q")
        assert "1 more wait" in person.screen
        await person.pilot.press("ctrl+q")
        await person.until(lambda: person.app._exit)

    use(app, story)


@pytest.mark.parametrize("key", ["o", "s", "a"])
def test_an_approved_command_runs(make_app: MakeApp, rules: Path, key: str) -> None:
    async def story(person: Person) -> None:
        await person.command("/shell printf hello")
        await asked(person)
        assert "$ printf hello" in person.screen
        assert "printing needs a look" in person.screen
        assert "rules.toml:1" in person.unwrapped(person.app.screen.query_one(Static))
        assert "~/project" in person.screen or "project" in person.screen
        await person.press(key)
        await person.until(lambda: "stdout=hello" in person.told)
        await person.command("/shell printf hello")
        if key == "o":
            await asked(person)
            await person.press("n")
            await person.until(lambda: "the answer was no" in person.told)
        else:
            await person.until(lambda: person.app.core.view.generation == 2)

    use(make_app(rules=str(rules)), story)


@pytest.mark.parametrize("keys", [["n"], ["escape"], ["enter"], ["right", "left", "enter"]])
def test_no_and_no_answer_are_refusals(make_app: MakeApp, rules: Path, keys: list[str]) -> None:
    async def story(person: Person) -> None:
        await person.command("/shell printf hello")
        await asked(person)
        await person.press(*keys)
        await person.until(lambda: "the answer was no" in person.told)
        assert person.status == "Warn"
        assert person.app.core.view.generation == 0

    use(make_app(rules=str(rules)), story)


def test_what_was_typed_ahead_is_no_answer(
    make_app: MakeApp, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Approval, "PATIENCE", 60.0)  # however slow this machine is

    async def story(person: Person) -> None:
        await person.command("/shell printf hello")
        await person.until(lambda: isinstance(person.app.screen, Approval))
        dialog = person.app.screen
        assert isinstance(dialog, Approval)
        await person.type("/shell also")  # s, a and o are among the answers
        await person.press("left", "enter")
        assert dialog.is_current
        assert person.app.core.view.generation == 0
        dialog._ready_at = 0.0  # a minute later
        await person.press("o")
        await person.until(lambda: "stdout=hello" in person.told)

    use(make_app(rules=str(rules)), story)


def test_the_arrows_choose_an_answer(make_app: MakeApp, rules: Path) -> None:
    async def story(person: Person) -> None:
        await person.command("/shell printf hello")
        await asked(person)
        await person.press("right", "enter")  # round from no to once
        await person.until(lambda: "stdout=hello" in person.told)

    use(make_app(rules=str(rules)), story)


def test_always_is_written_down(make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[[rule]]\nprefix = ["ls"]\nverdict = "allow"\n')
    monkeypatch.setenv("AGENT_EXEC_APPROVAL_POLICY", "untrusted")

    async def story(person: Person) -> None:
        await person.command("/shell echo hello")
        await asked(person)
        assert "Always writes a rule" in person.screen
        await person.press("a")
        await person.until(lambda: "stdout=hello" in person.told)
        await person.run("echo hello")

    use(make_app(rules=str(file)), story)
    assert "echo" in file.read_text()


def test_what_the_rules_deny_is_reported_whole(make_app: MakeApp, rules: Path) -> None:
    async def story(person: Person) -> None:
        await person.command("/shell rm notes.txt")
        await person.until(lambda: "use trash" in person.told)
        assert person.status == "Error"
        await person.until(lambda: "have the rule changed" in " ".join(person.screen.split()))

    use(make_app(rules=str(rules)), story)


def test_leaving_during_an_approval_runs_nothing(make_app: MakeApp, rules: Path) -> None:
    app = make_app(rules=str(rules))

    async def story(person: Person) -> None:
        await person.command("/shell printf hello")
        await asked(person)
        await person.pilot.press("ctrl+q")
        await person.until(lambda: person.app._exit)

    use(app, story)
    assert app.core.view.generation == 0


def test_a_hostile_command_in_the_dialog_breaks_nothing(make_app: MakeApp, rules: Path) -> None:
    async def story(person: Person) -> None:
        await person.command("/shell printf '[red]%s[/red]' " + "x" * 300)
        await asked(person)
        assert "[red]%s[/red]" in person.screen
        await person.press("down", "up", "n")

    use(make_app(rules=str(rules)), story)


def test_without_permission_nothing_runs_and_the_reason_is_reported(make_app: MakeApp, folder: Path) -> None:
    async def story(person: Person) -> None:
        assert "a test says so" in person.told
        assert "shell off" in person.screen
        await person.command("/shell touch made")
        await person.until(lambda: person.told == "Shell commands disabled")
        assert person.status == "Warn"
        assert not (folder / "made").exists()

    use(make_app(allowed=False), story)


def test_an_error_of_ours_ends_the_command_and_is_not_swallowed(make_app: MakeApp, folder: Path) -> None:
    script(folder, "pid.sh", "echo $$ > pid\nexec sleep 60\n")
    app = make_app()

    async def story(person: Person) -> None:
        await person.command("/shell ./pid.sh")
        await person.until(lambda: (folder / "pid").exists() and (folder / "pid").read_text())

        def wrong() -> None:
            raise RuntimeError("a mistake")

        person.app.call_later(wrong)
        await person.until(lambda: person.app._exception is not None)

    with pytest.raises(RuntimeError, match="a mistake"):
        use(app, story)
    assert app.return_code == 1
    app.core.close()
    assert not exists(int((folder / "pid").read_text()))
    assert os.getcwd()
