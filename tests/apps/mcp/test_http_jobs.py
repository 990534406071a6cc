"""Jobs over HTTP: shared by all clients, seen as resources, asked for at the client, and alive without the server."""

import signal
import warnings
from typing import Any

import pytest

from apps.mcp.talking import Client, anyio, text, until
from apps.mcp.talking_http import over_http, served, talk
from cli import Cli

pytest.importorskip("mcp")

from mcp_types import ElicitRequestFormParams, ElicitResult, ResourceUpdatedNotification

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture
def words(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Return what serves jobs, unconfined, in a folder and a store of their own."""
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(cli.root))
    monkeypatch.delenv("AGENT_EXEC_APPROVAL_POLICY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(cli.root.with_name("config")))
    return over_http("--toolset", "jobs", "--workspace", cli.cwd, "--sandbox", "full-access")


async def begin(client: Client, line: str) -> str:
    """Start a job; return its id."""
    result = await client.call_tool("run", {"command": ["sh", "-c", line], "until": 0})
    assert not result.is_error, text(result)
    found: str = result.structured_content["job_id"]
    return found


@pytest.mark.parametrize("way", ["SIGTERM", "SIGKILL"])
@ERAS
def test_jobs_are_everybodys_and_outlive_the_server(
    cli: Cli, words: tuple[str, ...], mode: str, way: str
) -> None:
    line = "echo before; while [ ! -e go ]; do sleep 0.01; done; echo after; exit 7"
    with served(*words) as server:

        async def work() -> str:
            async with server.client(mode, name="one") as one:
                job_id = await begin(one, line)
            async with server.client(mode, name="two") as two:
                found = (await two.call_tool("status", {"job_id": job_id})).structured_content
                assert found["state"] == "running"
            return job_id

        job_id = talk(work)
        server.process.send_signal(getattr(signal, way))
        server.process.wait(20)
    assert cli("status", job_id)["state"] == "running"
    (cli.cwd / "go").touch()
    found = cli("wait", job_id)
    assert (found["exit_code"], found["stdout"]) == (7, "before\nafter\n")


@ERAS
def test_an_ended_wait_does_not_stop_the_job(cli: Cli, words: tuple[str, ...], mode: str) -> None:
    with served(*words) as server:

        async def work() -> None:
            async with server.client(mode) as client:
                job_id = await begin(client, "while [ ! -e go ]; do sleep 0.01; done")
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "wait", {"job_id": job_id})
                    await anyio.sleep(0.3)
                    group.cancel_scope.cancel()
                found = (await client.call_tool("status", {"job_id": job_id})).structured_content
                assert found["state"] == "running"
                (cli.cwd / "go").touch()
                found = (await client.call_tool("wait", {"job_id": job_id})).structured_content
                assert found["exit_code"] == 0

        talk(work)


@ERAS
@pytest.mark.parametrize("answer", ["once", "no"])
def test_what_asks_is_asked_at_the_client(cli: Cli, words: tuple[str, ...], mode: str, answer: str) -> None:
    rules = cli.root.with_name("rules.toml")
    rules.write_text('[[rule]]\nprefix = ["touch"]\nverdict = "ask"\n')
    asked: list[str] = []

    async def person(_context: object, params: ElicitRequestFormParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"answer": answer})

    with served(*words, "--policy", rules) as server:

        async def work() -> None:
            async with server.client(mode, elicitation_callback=person) as client:
                result = await client.call_tool("run", {"command": ["touch", "made"]})
                assert result.is_error is (answer == "no")
            async with server.client(mode, name="alone") as client:
                result = await client.call_tool("run", {"command": ["touch", "other"]})
                assert result.is_error  # nobody can be asked there

        talk(work)
    assert len(asked) == 1
    assert (cli.cwd / "made").exists() is (answer == "once")
    assert not (cli.cwd / "other").exists()


@ERAS
def test_outputs_are_resources_that_tell_of_their_growth(cli: Cli, words: tuple[str, ...], mode: str) -> None:
    heard: list[str] = []

    async def note(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.append(str(message.params.uri))

    async def grows(client: Client) -> None:
        job_id = await begin(client, "while [ ! -e go ]; do sleep 0.01; done; echo grown; sleep 1000")
        uri = f"agent-exec://jobs/{job_id}/stdout"
        async with anyio.create_task_group() as group:
            if mode == "legacy":
                await client.subscribe_resource(uri)
            else:
                await group.start(listen, client, uri)
            (cli.cwd / "go").touch()
            await until(lambda: uri in heard)
            group.cancel_scope.cancel()
        (content,) = (await client.read_resource(uri)).contents
        assert getattr(content, "text", None) == "grown\n"
        await client.call_tool("kill", {"job_id": job_id})

    async def listen(client: Client, uri: str, *, task_status: Any) -> None:
        async with client.listen(resource_subscriptions=[uri]) as events:
            task_status.started()
            async for event in events:
                heard.append(str(event.uri))  # type: ignore[union-attr]  # noqa: PERF401

    with served(*words) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore")

        async def work() -> None:
            async with server.client(mode, message_handler=note) as client:
                await grows(client)

        talk(work)
