"""The dashboard in a real browser, on a real server: every view at the size of a desk and of a phone."""

import asyncio
import json
import os
import shlex
import signal
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")
pytest.importorskip("aiohttp")

from agent_exec.apps.serve.tokens import Scope, issue
from apps.serve.serving import Served, served
from browser import CHROMIUM, Tab, browse
from cli import Cli
from jobs.test_many import copies

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
SIZES = ((1280, 800), (390, 844))
MARK = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
COUNT = "document.querySelectorAll('.row').length"


def look(cli: Cli, server: Served, work: Any, size: tuple[int, int] = SIZES[0]) -> None:
    """Open the dashboard as `serve --open` does, and work with it; nothing must fail, or come from elsewhere."""

    async def watched(tab: Tab) -> None:
        await tab.becomes("location.hash", "#/")  # the token is no longer in the address
        await tab.becomes("document.querySelector('.state')?.className", "state up")
        await work(tab)
        assert {place.split("/")[2] for place in tab.asked if not place.startswith("data:")} == {
            f"127.0.0.1:{server.port}"
        }
        assert not [
            told for told in tab.failed if "Refused" in told or "Uncaught" in told or "Policy" in told
        ]
        assert await tab.value("window.pwned") is None
        assert await tab.value("document.querySelectorAll('img, iframe, object, #app script').length") == 0

    address = f"{server.url}/#token={server.token}"
    browse(cli.root.with_name("profile"), address, watched, width=size[0], height=size[1])


async def go(tab: Tab, path: str) -> None:
    await tab.value(f"location.hash = {json.dumps(path)}")


async def write(tab: Tab, selector: str, text: str) -> None:
    """Put the cursor into a field, and type."""
    await tab.becomes(f"!!document.querySelector({json.dumps(selector)})", True)
    await tab.value(f"document.querySelector({json.dumps(selector)}).focus()")
    await tab.call("Input.insertText", text=text)


async def press(tab: Tab, keys: str) -> None:
    """Press keys of the page itself."""
    await tab.value("document.activeElement?.blur()")
    await tab.type(keys)


def test_every_view_fits_every_window_and_shows_all_that_a_server_says_as_text(cli: Cli) -> None:
    folder = cli.cwd / "<b>folder<"
    folder.mkdir()
    printed = (
        f"{MARK} \x1b[31mred\x1b[0m \x1b]8;;javascript:window.pwned=1\x07link\x1b]8;;\x07\x1b]0;{MARK}\x07\n"
    )
    (folder / "text").write_text(printed)

    async def work(tab: Tab) -> None:
        for width, height in SIZES:
            await tab.resize(width, height)
            for path, shown in {
                "/": MARK,
                "/jobs": MARK,
                f"/jobs/{failed}": f"{MARK} red link",
                f"/jobs/{running}": "waits",
                "/run": "Sandbox",
                "/events": MARK,
                "/policy": "Paste a command.",
                "/jobs/01NONE": "agent-exec",
            }.items():
                await go(tab, path)
                if path != "/jobs/01NONE":
                    await tab.shows(shown)
                else:
                    await tab.becomes("!!document.querySelector('.trouble')", True)
                assert await tab.value("document.documentElement.scrollWidth <= innerWidth"), path
                assert await tab.value(
                    "document.querySelector('nav').getBoundingClientRect().bottom <= innerHeight"
                )
            await go(tab, f"/jobs/{failed}")
            await tab.shows("red link")
            assert await tab.value("getComputedStyle(document.querySelector('.log .f1')).color") != ""
            await go(tab, "/policy")
            await write(tab, "textarea", f"echo ok; rm -rf / {MARK}")
            await tab.becomes("document.querySelectorAll('.finding').length > 1", True)
        await go(tab, "/jobs")
        await press(tab, "?")
        await tab.shows("run a command")
        await press(tab, "?")
        await tab.becomes("!!document.querySelector('.help')", False)
        await press(tab, "T")
        await tab.becomes("document.documentElement.dataset.theme", "dark")
        await press(tab, "T")
        await tab.becomes("document.documentElement.dataset.theme", "light")

    with served(cli) as server:
        failed = server.run(
            "sh", "-c", f"cat text; : {shlex.quote(MARK)}; exit 3", cwd=str(folder), observe=10
        )["job_id"]
        running = server.run("sh", "-c", f"echo waits; : {shlex.quote(MARK)}; exec sleep 600", observe=1)[
            "job_id"
        ]
        look(cli, server, work)


def test_a_job_is_started_followed_searched_killed_and_started_again(cli: Cli) -> None:
    script = "for n in $(seq 300); do echo line $n; done; echo 'a.c:1:2: error: boom' >&2; while [ ! -e more ]; do sleep 0.05; done; echo later"

    async def work(tab: Tab) -> None:
        await press(tab, "n")
        await write(tab, ".run textarea", f"{script}; exec sleep 600")
        await write(tab, "input[placeholder='build.linux']", "web.test")
        await tab.click("button[type=submit]")
        await tab.shows("line 300")
        await tab.shows("web.test")
        (cli.cwd / "more").touch()
        await tab.shows("later")
        await press(tab, "e")
        await tab.becomes("document.querySelector('.line.here')?.innerText", "a.c:1:2: error: boom")
        await write(tab, ".bar input[type=search]", "LINE 29")
        await tab.becomes("document.querySelectorAll('.line.hit').length", 11)
        await press(tab, "mmm")
        await tab.becomes("document.querySelectorAll('.logs .log').length", 2)
        await tab.becomes("document.querySelectorAll('.log')[1].innerText.trim()", "a.c:1:2: error: boom")
        await press(tab, "xx")
        await tab.shows("SIGTERM")
        await press(tab, "RR")
        await tab.becomes("document.querySelector('.headline .badge').textContent", "running")
        await tab.shows("attempt")
        await press(tab, "xx")
        await tab.shows("SIGTERM")
        await go(tab, "/jobs")
        await tab.becomes("document.querySelectorAll('.jobs .job').length", 1)  # its keys work from now on
        await press(tab, "j")
        await tab.becomes("document.querySelectorAll('.job.selected').length", 1)
        await tab.press("Enter", 13)
        await tab.becomes("location.hash.length > 20", True)

    with served(cli) as server:
        look(cli, server, work)


def test_a_thousand_jobs_scroll_and_are_filtered(cli: Cli) -> None:
    ids = copies(cli, 1001, 7)

    async def work(tab: Tab) -> None:
        for size in SIZES:
            await tab.resize(*size)
            await go(tab, "/jobs")
            await tab.shows("1001 jobs")
            assert await tab.value(COUNT) < 60
            await press(tab, "G")
            last = f"document.querySelector('.job.selected')?.getAttribute('href') === '#/jobs/{ids[-1]}'"
            await tab.becomes(last, True)
            assert await tab.value(COUNT) < 60
            await press(tab, "/")
            await write(tab, ".bar input", ids[500][-8:])
            await tab.becomes(COUNT, 1)
            await go(tab, "/")

    with served(cli) as server:
        look(cli, server, work)


def test_the_page_tells_that_the_server_is_gone_and_finds_the_next_one(cli: Cli) -> None:
    with served(cli) as server:
        job = server.run(
            "sh",
            "-c",
            "echo first; while [ ! -e more ]; do sleep 0.05; done; echo second; exec sleep 600",
            observe=1,
        )["job_id"]

        async def work(tab: Tab) -> None:
            await go(tab, f"/jobs/{job}")
            await tab.shows("first")
            os.kill(server.process.pid, signal.SIGKILL)
            await tab.shows("Server gone; reconnecting.")
            (cli.cwd / "more").touch()
            with served(cli, address=("--port", server.port)) as following:
                assert following.token == server.token
                await tab.shows("Connected to a new server.")
                await tab.becomes("document.querySelector('.log').innerText.trim()", "first\nsecond")
                await tab.becomes("document.querySelector('.headline .badge').textContent", "running")
                await asyncio.to_thread(following, "POST", f"/v1/jobs/{job}/kill", {})
                await tab.shows("SIGTERM")

        look(cli, server, work)


def test_a_page_asks_for_a_token_and_shows_what_it_allows(cli: Cli) -> None:
    async def work(tab: Tab) -> None:
        await tab.value("localStorage.clear()")
        await tab.call("Page.reload")
        await tab.shows("This page needs the server's token.")
        await write(tab, "input", "wrong")
        await tab.click("button")
        await tab.shows("Authorization: Bearer TOKEN")
        await tab.value("document.querySelector('input').select()")
        await write(tab, "input", server.token)
        await tab.click("button")
        await tab.shows("Nothing runs.")
        await go(tab, f"token={issue(server.token, Scope(read_only=True, job=job))}")
        await tab.shows("said by a job")
        await tab.becomes("document.querySelectorAll('nav .place').length", 0)
        assert await tab.value("location.hash") == "#/"
        assert "Restart" not in await tab.value("document.body.innerText")

    with served(cli) as server:
        job = server.run("echo", "said by a job", observe=10)["job_id"]
        look(cli, server, work, SIZES[1])


def test_commands_are_approved_and_denied_from_a_phone(cli: Cli) -> None:
    rules = cli.root.with_name("rules.toml")
    rules.write_text(f'[[rule]]\nprefix = ["touch"]\nverdict = "ask"\nreason = "it writes {MARK}"\n')

    async def work(tab: Tab) -> None:
        await tab.shows("Nothing runs.")
        for name, answer, status in (("yes", "once", 200), (MARK.replace("/", ""), "no", 403)):
            asked = asyncio.create_task(
                asyncio.to_thread(server, "POST", "/v1/jobs", {"argv": ["touch", name]})
            )
            await tab.becomes("document.querySelectorAll('.question').length", 1)
            await tab.shows(f"it writes {MARK}")
            await tab.shows("rules.toml:1")
            assert name in await tab.value("document.querySelector('.question pre').textContent")
            await tab.becomes("document.title", "(1) agent-exec")
            assert await tab.value("document.documentElement.scrollWidth <= innerWidth")
            await go(tab, "/policy")
            await tab.click("a.asks")
            await tab.click(f"[data-answer={answer}]")
            assert (await asked).status == status
            await tab.becomes("document.querySelectorAll('.question').length", 0)
        assert [path.name for path in cli.cwd.iterdir()] == ["yes"]

    with served(cli, "--rules", rules) as server:
        look(cli, server, work, SIZES[1])


SCREEN = (
    "[...document.querySelectorAll('.xterm-rows > div')].map(row => row.textContent.trimEnd()).join('\\n')"
)


@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
def test_a_session_is_watched_taken_over_and_handed_back(cli: Cli, size: tuple[int, int]) -> None:
    link = "\\033]8;;javascript:window.pwned=1\\007link\\033]8;;\\007\\033]52;c;cHduZWQ=\\007"
    program = f"printf '{link} {MARK}\\n'; while read -r line; do echo \"<$line>\" $(stty size); done"

    async def work(tab: Tab) -> None:
        await tab.becomes("document.querySelectorAll('.tile .xterm').length", 1)
        await tab.becomes(f"{SCREEN}.startsWith('link <img')", True)
        assert await tab.value("document.documentElement.scrollWidth <= innerWidth")
        await tab.click(".tile")
        await tab.shows("watching")
        await tab.becomes(f"{SCREEN}.includes('link <img')", True)
        await tab.type("q")  # a key of the page, which has none: it must not reach the program
        await asyncio.to_thread(server, "POST", f"/v1/sessions/{session}/write", {"chars": "agent\n"})
        await tab.becomes(f"{SCREEN}.includes('<agent> 24 80')", True)
        await tab.click(".actions .primary")
        await tab.shows("you type")
        await tab.becomes(f"{SCREEN}.split('\\n').length > 24", True)  # it fills the room there is
        rows = await tab.value(f"{SCREEN}.split('\\n').length")
        await tab.type("person\r")
        await tab.becomes(f"{SCREEN}.includes('<person> {rows} ')", True)
        refused = await asyncio.to_thread(server, "POST", f"/v1/sessions/{session}/write", {"chars": "x\n"})
        assert refused.status != 200 or "person" in json.dumps(refused.body)
        if size == SIZES[1]:
            assert await tab.value("document.querySelector('.keybar').getBoundingClientRect().height") > 30
            await tab.click(".keybar [aria-pressed]")
            await tab.type("v")  # Ctrl-V takes the next key as it is
            await tab.value("[...document.querySelectorAll('.keybar button')][0].click()")
            await tab.becomes(f"{SCREEN}.includes('^[')", True)
            await tab.type("\r")
        await tab.press("F10", 121)
        await tab.shows("watching")
        await asyncio.to_thread(server, "POST", f"/v1/sessions/{session}/write", {"chars": "again\n"})
        await tab.becomes(f"{SCREEN}.includes('<again> 24 80')", True)  # in the size in which it was found
        assert "<x>" not in await tab.value(SCREEN)
        assert "<q>" not in await tab.value(SCREEN)
        await press(tab, "xx")
        await tab.shows("It ended")

    with served(cli) as server:
        made = server(
            "POST", "/v1/sessions", {"cmd": program, "tty": True, "login": False, "yield_time_ms": 250}
        )
        session = made.body["session_id"]
        look(cli, server, work, size)
