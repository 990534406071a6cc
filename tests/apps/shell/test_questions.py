"""Questions of other programs in the terminal interface: shown, answered, left for later, gone when answered elsewhere."""

import asyncio

from agent_exec import Inbox, Policy, Request, Rule
from agent_exec.apps.shell.app import ShellApp
from agent_exec.apps.shell.panes.dialogs import Inquiry
from agent_exec.requests import inbox_folder
from apps.shell.driving import Person, use

RULES = Policy([Rule(["git"], "ask", reason="others see it", source="r.toml:7")])
ASKED = Request(("git", "push"), "/work", RULES.judge(["git", "push"]), ())


async def shown(person: Person) -> Inquiry:
    """Wait for the question, and read it."""
    await person.until(lambda: isinstance(person.app.screen, Inquiry))
    dialog = person.app.screen
    assert isinstance(dialog, Inquiry)
    await person.until(lambda: dialog.ready)
    return dialog


def test_a_question_is_shown_and_answered_with_a_key(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        await person.until(inbox_folder.is_watched)
        for key, answer in (("o", "once"), ("s", "session"), ("n", "no")):
            with Inbox(server="mcp", client="claude").post(ASKED) as posted:
                await shown(person)
                assert "claude asks" in person.screen
                assert "git push" in person.screen
                assert "others see it" in person.screen
                assert "rule: r.toml:7" in person.screen
                await person.press(key)
                found = await asyncio.to_thread(posted.wait)
                assert found is not None
                assert (found.answer, found.by) == (answer, "shell")

    use(app, story)
    assert not inbox_folder.is_watched()


def test_a_question_can_be_left_for_later_and_one_answered_elsewhere_goes_away(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        with Inbox(server="mcp").post(ASKED) as posted:
            await shown(person)
            await person.press("escape")
            await person.until(lambda: person.app.screen is person.main)
            assert posted.answer is None
            assert [one["id"] for one in inbox_folder.waiting()] == [posted.id]
        with Inbox(server="mcp").post(ASKED) as posted:
            await shown(person)
            inbox_folder.answer(posted.id, "once", "cli")
            await person.until(lambda: person.app.screen is person.main)
            assert person.told == ""

    use(app, story)


def test_an_answer_that_comes_too_late_says_so(app: ShellApp) -> None:
    async def story(person: Person) -> None:
        with Inbox(server="mcp").post(ASKED) as posted:
            dialog = await shown(person)
            person.app._questions._shown.clear()  # as if it were below another dialog
            inbox_folder.answer(posted.id, "no", "http")
            dialog.dismiss("once")
            await person.until(lambda: "the answer 'no' came first, by http" in person.told)

    use(app, story)
