"""Every promise of the protocol, with a client of each of its eras, over a real process."""

from pathlib import Path
from time import monotonic

import agent_exec
from apps.mcp.talking import ERAS, FAKE, Client, anyio, meet, talk, text, until

NAMES = ["crash", "leave", "meet", "noise", "odd", "refuse", "starve", "wait"]


@ERAS
def test_server_name_and_capabilities(tmp_path: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("agent-exec", agent_exec.__version__)
        assert client.instructions == "Only for tests."
        say, *others = (await client.list_tools()).tools
        assert (say.name, say.title, say.description) == ("say", "Say", "Says it again.")
        assert say.input_schema["required"] == ["text"]
        assert say.output_schema == say.input_schema
        assert say.annotations is not None
        assert say.annotations.read_only_hint is True
        assert [tool.name for tool in others] == NAMES

    talk(work, *FAKE, tmp_path, mode=mode)
    assert (tmp_path / "closed").exists()


@ERAS
def test_a_call_gives_text_and_structure(tmp_path: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        result = await client.call_tool("say", {"text": "hé\n\0"})
        assert not result.is_error
        assert text(result) == "hé\n\0"
        assert result.structured_content == {"text": "hé\n\0", "nothing": None}
        result = await client.call_tool("wait", {"seconds": 0})
        assert (text(result), result.structured_content) == ("done", None)

    talk(work, *FAKE, tmp_path, mode=mode)


@ERAS
def test_what_goes_wrong_is_an_answer_without_a_traceback(tmp_path: Path, mode: str) -> None:
    async def work(client: Client) -> dict[str, str]:
        said = {}
        for name in ("refuse", "crash", "leave", "nothing", "starve"):
            result = await client.call_tool(name)
            assert result.is_error
            assert result.structured_content is None
            said[name] = text(result)
            assert not (await client.call_tool("say", {"text": "well"})).is_error
        return said

    said = talk(work, *FAKE, tmp_path, mode=mode)
    assert said["refuse"] == "invalid_argument: not so; say it otherwise"
    lack = "this machine does not have enough for this (Too many open files); try again when less runs"
    assert said["starve"] == f"busy: {lack}"
    assert said["crash"].startswith("internal: crash failed by an error of agent-exec's own: ValueError(")
    assert said["leave"].startswith("internal: leave failed by an error of agent-exec's own: SystemExit(")
    assert said["nothing"].startswith("tool_not_found: there is no tool 'nothing'; there are say, crash,")
    assert not any("Traceback" in one for one in said.values())


def test_what_no_message_can_carry_is_replaced(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        result = await client.call_tool("odd")
        assert text(result) == "a?b"
        assert result.structured_content == {"a": ["?"], "n": None}

    talk(work, *FAKE, tmp_path)


@ERAS
def test_fifty_calls_at_once(tmp_path: Path, mode: str) -> None:
    talk(meet, *FAKE, tmp_path, mode=mode)


def test_a_slow_call_blocks_no_other(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(60):
                group.start_soon(client.call_tool, "wait")
            await until((tmp_path / "waits").exists)
            assert text(await client.call_tool("say", {"text": "quick"})) == "quick"
            group.cancel_scope.cancel()

    talk(work, *FAKE, tmp_path)


def test_too_many_calls_are_refused(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(256):
                group.start_soon(client.call_tool, "wait")
            with anyio.fail_after(20):
                while not (result := await client.call_tool("say", {"text": "?"})).is_error:
                    await anyio.sleep(0.01)
            assert text(result) == "busy: 256 calls run already; wait until one of them is over"
            group.cancel_scope.cancel()
        with anyio.fail_after(20):
            while (await client.call_tool("say", {"text": "?"})).is_error:
                await anyio.sleep(0.01)

    talk(work, *FAKE, tmp_path)


@ERAS
def test_a_cancelled_call_is_reported(tmp_path: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait")
            await until((tmp_path / "waits").exists)
            assert not (tmp_path / "cancelled").exists()
            group.cancel_scope.cancel()
        await until((tmp_path / "cancelled").exists)
        assert text(await client.call_tool("say", {"text": "still here"})) == "still here"

    talk(work, *FAKE, tmp_path, mode=mode)


@ERAS
def test_progress_is_sent_on_request(tmp_path: Path, mode: str) -> None:
    heard: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        heard.append((progress, message))

    async def work(client: Client) -> None:
        result = await client.call_tool("wait", {"seconds": 0.5}, progress_callback=note)
        assert text(result) == "done"

    talk(work, *FAKE, tmp_path, mode=mode)
    assert len(heard) >= 2
    assert [one[0] for one in heard] == sorted({one[0] for one in heard})
    assert all(one[1] in ("wait has run for 0 s", "wait has run for 1 s") for one in heard)


@ERAS
def test_a_note_that_fails_takes_no_call_away(tmp_path: Path, mode: str) -> None:
    async def heard(*_said: object, **_named: object) -> None:
        raise AssertionError("there is nothing to tell")

    async def work(client: Client) -> str:
        asked = {"seconds": 0.3, "unseen": True}
        return text(await client.call_tool("wait", asked, progress_callback=heard))

    assert talk(work, *FAKE, tmp_path, mode=mode) == "done"
    assert (tmp_path / "looked").exists()


def test_what_is_printed_in_the_server_never_reaches_the_client(tmp_path: Path) -> None:
    """A library that prints, a child that inherits stdout; and one that reads gets nothing."""

    async def work(client: Client) -> None:
        for _ in range(3):
            assert text(await client.call_tool("noise")) == ""
        assert text(await client.call_tool("say", {"text": "clear"})) == "clear"

    talk(work, *FAKE, tmp_path)


def test_hanging_up_does_not_wait_for_calls(tmp_path: Path) -> None:
    async def work(client: Client) -> float:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait")
            await until((tmp_path / "waits").exists)
            group.cancel_scope.cancel()
        return monotonic()

    began = talk(work, *FAKE, tmp_path)
    assert monotonic() - began < 30
    assert (tmp_path / "closed").exists()
