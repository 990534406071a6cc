"""The server of `shell --web`: an app for each tab, and nothing that outlives it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apps.shell.webclient import (
    APP,
    SERVE,
    STAND_IN,
    Client,
    Page,
    Server,
    aiohttp,
    apps,
    serving,
    until,
    visit,
)
from support import processes_marked, python, wait_until


def sleepers(mark: str) -> list[int]:
    """Return what the apps have started."""
    return [pid for pid, words in processes_marked(mark).items() if words.startswith("sleep")]


def ignores_term(pid: int) -> bool:
    """True if a process does not hear when it is asked to end."""
    ignored = Path(f"/proc/{pid}/status").read_text().partition("SigIgn:")[2].split()[0]
    return bool(int(ignored, 16) >> (signal.SIGTERM - 1) & 1)


def test_an_app_is_used_through_its_tab(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page(width=100, height=30) as page:
            await page.sees(f"ready in {tmp_path}")
            await page.type("hello")
            await page.sees("you typed hello")
            await page.type("size")
            await page.sees("size 100x30")
            page.screen.resize(500, 90)
            await page.socket.send_str('["resize", {"width": 90, "height": 1000000000}]')
            await page.socket.send_str('["blur"]')
            await page.socket.send_str('["focus"]')
            await page.type("size")
            await page.sees("size 90x500")
            await page.type("env OX_SAFE_ENV")
            await page.sees("OX_SAFE_ENV is PATH,LANG")
            await page.type("env COLORFGBG")
            await page.sees("COLORFGBG is None")
            await page.type("leave")
            assert (await page.end())[1] == "The shell has ended."

    with serving(cwd=tmp_path, OX_SAFE_ENV="PATH,LANG", COLORFGBG="0;15") as server:
        visit(server, work)
        assert server.end(signal.SIGINT) == 0
        assert server.errors() == ""


def test_a_tab_that_talks_nonsense_is_closed(nothing_left: str) -> None:
    nonsense = ("", "{", "[]", "7", '["stdin"]', '["stdin", 7]', '["resize", {}]', '["quit"]', "[" * 9999)

    async def work(client: Client) -> None:
        await client.enter()
        for said in nonsense:
            async with client.page() as page:
                await page.socket.send_str(said)
                await page.end()

    with serving() as server:
        visit(server, work)
        wait_until(lambda: not apps(nothing_left))


def test_a_message_without_end_is_refused(nothing_left: str) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page:
            await page.sees("ready")
            await page.socket.send_str(json.dumps(["stdin", "x" * 2_000_000]))
            assert (await page.end())[0] == aiohttp.WSCloseCode.MESSAGE_TOO_BIG

    with serving() as server:
        visit(server, work)
        wait_until(lambda: not apps(nothing_left))


def test_a_closed_tab_ends_its_app_and_what_that_runs(nothing_left: str) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as other, client.page() as page:
            await other.sees("ready")
            await page.sees("ready")
            await page.type("daemon")
            await page.sees("daemon started")
            assert (len(apps(nothing_left)), len(sleepers(nothing_left))) == (2, 1)
            await page.socket.close()
            await until(lambda: (len(apps(nothing_left)), sleepers(nothing_left)) == (1, []))
            await other.type("still here")
            await other.sees("you typed still here")

    with serving() as server:
        visit(server, work)


def test_a_browser_that_dies_ends_its_app(nothing_left: str) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page:
            await page.sees("ready")
            transport = page.socket._response.connection
            assert transport is not None
            assert transport.transport is not None
            transport.transport.abort()
            await until(lambda: not apps(nothing_left))

    with serving() as server:
        visit(server, work)


def test_an_app_that_does_not_listen_is_ended_by_force(nothing_left: str) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page:
            await page.sees("ready")
            await page.type("daemon")
            await page.sees("daemon started")
            await page.type("stubborn")
            await page.socket.close()

    with serving() as server:
        visit(server, work)
        wait_until(lambda: not apps(nothing_left) and not sleepers(nothing_left))


def test_too_many_tabs_are_refused(nothing_left: str) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        pages: list[Page] = []
        async with client.page() as a, client.page() as b, client.page() as c, client.page() as d:
            pages += [a, b, c, d]
            for page in pages:
                await page.sees("ready")
            async with client.page() as fifth:
                code, reason = await fifth.end()
            assert code == aiohttp.WSCloseCode.GOING_AWAY
            assert reason == "4 tabs are open, which is the most. Close one, then start again."
            assert len(apps(nothing_left)) == 4
            await (
                a.socket.close()
            )  # its place is free as soon as its app is gone, which the next one waits for
            async with client.page() as next_one:
                await next_one.sees("ready")

    with serving() as server:
        visit(server, work)


def test_a_slow_browser_slows_only_its_own_app(nothing_left: str) -> None:
    flood = (
        "import os; os.write(1, b'__GANGLION__\\n')\nwhile True: os.write(1, b'D\\0\\1\\0\\0' + b'x' * 65536)"
    )

    def memory(server: Server) -> int:
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) // 1024

    async def work(client: Client) -> None:
        await client.enter()
        before = memory(client.server)
        async with client.page():
            async with client.page() as page:
                count = 0
                while count < 100_000_000:
                    message = await page.socket.receive()
                    assert message.type is aiohttp.WSMsgType.BINARY
                    count += len(message.data)
            assert memory(client.server) - before < 50
            assert len(processes_marked(nothing_left)) > 1

    with serving([sys.executable, "-c", SERVE, *python(flood)]) as server:
        visit(server, work)
        assert server.end() == 128 + signal.SIGTERM
        assert server.errors() == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_all_its_apps(number: signal.Signals, nothing_left: str) -> None:
    async def work(client: Client) -> int:
        await client.enter()
        async with client.page() as page, client.page() as other:
            await page.sees("ready")
            await other.sees("ready")
            await page.type("daemon")
            await page.sees("daemon started")
            ending = asyncio.create_task(asyncio.to_thread(client.server.end, number))
            assert (await page.end())[1].startswith("agent-exec was ended.")
            assert (await other.end())[1].startswith("agent-exec was ended.")
            return await ending

    with serving() as server:
        assert visit(server, work) == (0 if number == signal.SIGINT else 128 + number)
        assert server.errors() == ""
        assert not processes_marked(nothing_left)


def test_a_second_signal_ends_it_at_once_and_nothing_is_left(nothing_left: str) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page:
            await page.sees("ready")
            await page.type("stubborn")
            await until(lambda: all(map(ignores_term, apps(nothing_left))))
            client.server.process.send_signal(signal.SIGINT)
            status = await asyncio.to_thread(client.server.end, signal.SIGTERM)
            assert status in {128 + signal.SIGTERM, 128 + signal.SIGINT}  # that of whichever was heard last
            await until(lambda: not processes_marked(nothing_left))

    with serving() as server:
        visit(server, work)


def test_when_it_is_killed_nothing_is_left(nothing_left: str) -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page, client.page() as stubborn:
            await page.sees("ready")
            await stubborn.sees("ready")
            await page.type("daemon")
            await page.sees("daemon started")
            await stubborn.type("stubborn")
            assert len(apps(nothing_left)) == 2
            assert await asyncio.to_thread(client.server.end, signal.SIGKILL) == -signal.SIGKILL
            await until(lambda: not processes_marked(nothing_left))

    with serving() as server:
        visit(server, work)


def test_an_app_ends_when_its_input_does(nothing_left: str) -> None:
    """Should it ever be without a keeper and without a server."""
    env = {**os.environ, "TEXTUAL_DRIVER": "agent_exec.apps.shell.web.driver:Driver"}
    with subprocess.Popen(
        [sys.executable, APP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"__GANGLION__\n"
        process.stdin.close()
        process.stdout.read()
        assert process.wait(20) == 0


def test_an_app_that_cannot_start_is_reported_here_and_there() -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page:
            assert (await page.end())[1].startswith("The shell could not go on.")

    with serving([*STAND_IN, "--fail"]) as server:
        visit(server, work)
        server.end()
        assert (
            server.errors() == "agent-exec shell: the shell of a tab failed:\nno app today: \ufffd[31mred\n"
        )


def test_an_app_that_crashes_is_reported_here_and_there() -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page:
            await page.sees("ready")
            await page.type("crash")
            assert (await page.end())[1].startswith("The shell could not go on.")

    with serving() as server:
        visit(server, work)
        server.end()
        told = server.errors()
        assert told.startswith("agent-exec shell: the shell of a tab failed:\n")
        assert "crashed on demand" in told
        assert "\x1b" not in told


def test_a_program_that_is_no_app_is_reported() -> None:
    async def work(client: Client) -> None:
        await client.enter()
        async with client.page() as page:
            assert (await page.end())[1].startswith("The shell could not go on.")

    with serving([sys.executable, "-c", SERVE, "yes"]) as server:
        visit(server, work)
        server.end()
        assert "is not an app that can be served" in server.errors()
