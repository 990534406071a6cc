"""The shell in a real browser: typed into, looked at, loaded again, closed."""

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.shell.webclient import Server, serving

from browser import CHROMIUM, Tab, browse  # isort: skip - the one above may skip all this
from support import processes_marked, wait_until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
README = """# hello

A small project to look at.

    ./build.sh        builds it
    python3 hello.py  says hello
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with something to look at."""
    folder = tmp_path / "hello"
    (folder / "src").mkdir(parents=True)
    (folder / "README.md").write_text(README)
    (folder / "hello.py").write_text('print("hello")\n')
    (folder / "build.sh").write_text("#!/bin/sh\necho building\n")
    return folder


@pytest.fixture
def shell(project: Path) -> Iterator[Server]:
    """The program itself, served in that folder, with nothing of whoever runs the tests."""
    words = [sys.executable, "-m", "agent_exec", "shell", "--web", str(project)]
    places = {
        name: str(project.parent / name)
        for name in ("AGENT_EXEC_ROOT", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    }
    names = "PATH,HOME,LANG,AGENT_EXEC_TEST"
    with serving(words, project.parent, OX_ALLOW_SHELL="1", OX_SAFE_ENV=names, **places) as server:
        yield server
        assert server.end() == 128 + 15
        assert server.errors() == ""


def test_a_command_is_typed_in_a_browser_and_its_output_is_seen(shell: Server, tmp_path: Path) -> None:
    async def work(tab: Tab) -> bytes:
        await tab.sees("README.md")
        assert await tab.value("location.href") == f"{shell.origin}/"
        before = await tab.picture()
        await tab.type("/shell echo hello-from-browser")
        await tab.press("Enter", 13)
        await tab.sees("shell: exit=0")
        await tab.press("o", 79, control=True)
        await tab.sees("exit: 0 duration:")
        assert "hello-from-browser" in tab.screen.text()
        assert await tab.value("document.fonts.check('16px \"Roboto Mono\"')")
        picture = await tab.picture()
        assert picture != before
        assert {place.split("/")[2] for place in tab.asked} == {
            shell.host
        }  # nobody else is asked for anything
        assert not [told for told in tab.failed if "WebGL" not in told]
        return picture

    picture = tmp_path / "shell-web.png"
    picture.write_bytes(browse(tmp_path / "profile", shell.address, work))
    assert picture.stat().st_size < 200_000
    if wanted := os.environ.get("AGENT_EXEC_PICTURES"):
        shutil.copy(picture, wanted)


def test_a_tab_that_goes_elsewhere_ends_what_runs_in_it(
    shell: Server, tmp_path: Path, nothing_left: str
) -> None:
    def sleeps() -> list[str]:
        return [words for words in processes_marked(nothing_left).values() if words.startswith("sleep")]

    async def work(tab: Tab) -> None:
        await tab.sees("README.md")
        await tab.type("/shell sleep 1000")
        await tab.press("Enter", 13)
        await asyncio.to_thread(wait_until, sleeps)
        await tab.go("about:blank")
        await asyncio.to_thread(wait_until, lambda: not sleeps())

    browse(tmp_path / "profile", shell.address, work)


def test_a_page_is_loaded_again_and_a_copied_address_without_token_opens_nothing(tmp_path: Path) -> None:
    async def work(tab: Tab) -> None:
        await tab.sees("ready")
        await tab.call("Page.reload")
        await tab.until(lambda: tab.sockets == 2)
        await tab.sees("ready")
        await tab.type("leave")
        await tab.press("Enter", 13)
        why = "document.getElementById('why')?.textContent"
        await tab.becomes(why, "The shell has ended.")
        await tab.press("Enter", 13)  # on the button that has the focus now
        await tab.until(lambda: tab.sockets == 3)
        await tab.sees("ready")
        await tab.value("sessionStorage.clear()")
        await tab.call("Page.reload")
        await tab.becomes(f"{why}?.startsWith('There is no way in from here.')", True)
        assert not [told for told in tab.failed if "Refused" in told or "policy" in told]

    with serving() as server:
        browse(tmp_path / "profile", server.address, work)


def test_the_end_of_the_server_is_reported_in_the_tab(tmp_path: Path) -> None:
    async def work(tab: Tab) -> None:
        await tab.sees("ready")
        server.process.terminate()
        await tab.becomes("document.getElementById('why')?.textContent.slice(0, 21)", "agent-exec was ended.")

    with serving() as server:
        browse(tmp_path / "profile", server.address, work)
