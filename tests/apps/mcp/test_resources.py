"""What jobs and sessions print, as resources: in ranges, and with word of their growth to who wants it."""

import re
import threading
import warnings
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from apps.mcp.talking import ERAS, Client, anyio, jobs, talk, text, until

pytest.importorskip("mcp")

from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import ResourceUpdatedNotification

from agent_exec.apps.mcp.clock import Clock
from agent_exec.apps.mcp.resources import Resources, State
from agent_exec.apps.mcp.subscriptions import Watching
from support import wait_until

BOTH = ("--toolset", "jobs", "--toolset", "session")


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep jobs in a folder of the test's own."""
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(tmp_path / "jobs"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a workspace."""
    found = tmp_path / "work"
    found.mkdir()
    return found


async def read(client: Client, uri: str) -> tuple[str, Any]:
    """Return a text and which of all it is."""
    (content,) = (await client.read_resource(uri)).contents
    assert content.uri == uri
    return content.text, content.meta  # type: ignore[union-attr]


@ERAS
def test_jobs_and_sessions_can_be_read_in_ranges(folder: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        assert templates == [
            "agent-exec://jobs/{id}/stdout{?from,max}",
            "agent-exec://jobs/{id}/stderr{?from,max}",
            "agent-exec://sessions/{id}/transcript{?from,max}",
        ]
        line = "printf 'añb\\n0123456789'; printf err >&2"
        job = (await client.call_tool("run", {"command": ["sh", "-c", line]})).structured_content["job_id"]
        uri = f"agent-exec://jobs/{job}/stdout"
        assert await read(client, uri) == ("añb\n0123456789", {"from": 0, "to": 15, "size": 15})
        assert await read(client, f"{uri}?from=5&max=4") == ("0123", {"from": 5, "to": 9, "size": 15})
        assert await read(client, f"{uri}?max=3") == ("789", {"from": 12, "to": 15, "size": 15})
        assert await read(client, f"{uri}?from=0&max=2") == ("a", {"from": 0, "to": 1, "size": 15})
        assert await read(client, f"{uri}?from=99") == ("", {"from": 15, "to": 15, "size": 15})
        assert (await read(client, f"agent-exec://jobs/{job[-8:]}/stderr"))[0] == "err"
        result = await client.call_tool(
            "exec_command", {"cmd": f"{line}; sleep 1000", "login": False, "yield_time_ms": 500}
        )
        number = result.structured_content["session_id"]
        uri = f"agent-exec://sessions/{number}/transcript"
        assert (await read(client, uri))[1]["size"] == 18
        assert await read(client, f"{uri}?from=5&max=4") == ("0123", {"from": 5, "to": 9, "size": 18})
        assert await read(client, f"{uri}?from=0&max=2") == ("a", {"from": 0, "to": 1, "size": 18})
        listed = {one.uri: one for one in (await client.list_resources()).resources}
        assert {uri, f"agent-exec://jobs/{job}/stdout", f"agent-exec://jobs/{job}/stderr"} == set(listed)
        assert listed[uri].description == f"{line}; sleep 1000"

    talk(work, *jobs(*BOTH, "--workspace", folder), mode=mode)


@ERAS
def test_what_cannot_be_read_says_what_can(folder: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        for uri, said in (
            ("agent-exec://jobs/01J8ZQ4KFN2M8YV3R7XDT0W5QC/stdout", "job_not_found"),
            ("agent-exec://jobs/x/other", "read agent-exec://jobs/{id}/stdout{?from,max} or"),
            ("agent-exec://sessions/99/transcript", "there is no session '99'; list_sessions shows"),
            ("agent-exec://sessions/a/transcript", "list_sessions shows those there are"),
            ("agent-exec://jobs/x/stdout?from=-1", "a range is from=OFFSET and max=BYTES"),
            ("agent-exec://jobs/x/stdout?lines=1", "a range is from=OFFSET and max=BYTES"),
            ("file:///etc/passwd", "there is no resource 'file:///etc/passwd'"),
        ):
            with pytest.raises(MCPError, match=re.escape(said)):
                await client.read_resource(uri)

    talk(work, *jobs(*BOTH, "--workspace", folder), mode=mode)


def test_a_toolset_without_outputs_has_no_resources(folder: Path) -> None:
    async def work(client: Client) -> None:
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []

    talk(work, *jobs("--toolset", "oneshot", "--workspace", folder))


async def grow(client: Client, folder: Path) -> list[str]:
    """Start a job and a session that print a line for each file `step-N`; return their resources."""
    line = "for n in 1 2 3; do while [ ! -e step-$n ]; do sleep 0.01; done; echo $n; done; sleep 1000"
    job = (await client.call_tool("run", {"command": ["sh", "-c", line], "until": 0})).structured_content
    session = await client.call_tool("exec_command", {"cmd": line, "login": False, "yield_time_ms": 250})
    assert not session.is_error, text(session)
    number = session.structured_content["session_id"]
    return [f"agent-exec://jobs/{job['job_id']}/stdout", f"agent-exec://sessions/{number}/transcript"]


async def ended(client: Client, uris: list[str]) -> None:
    """End what was started."""
    await client.call_tool("kill", {"job_id": uris[0].split("/")[3]})


@ERAS
def test_a_store_that_cannot_be_read_is_reported(folder: Path, mode: str) -> None:
    (folder.parent / "jobs").write_text("no folder")

    async def work(client: Client) -> None:
        with pytest.raises(MCPError, match="store_failed: the folder of jobs cannot be used"):
            await client.list_resources()

    talk(work, *jobs("--workspace", folder), mode=mode)


def test_what_cannot_be_looked_at_now_is_looked_at_later() -> None:
    class Busy:
        name = "jobs"

        def extent(self, _job: str, _stream: str) -> tuple[int, bool]:
            raise OSError(24, "too many open files")

    assert Resources(Busy()).state("agent-exec://jobs/1/stdout") is None  # type: ignore[arg-type]


def test_a_client_that_leaves_before_acceptance_is_forgotten() -> None:
    """A client need not wait for one answer before it asks for the next."""
    looks: list[str] = []
    left = threading.Event()

    def state(uri: str) -> State:
        looks.append(uri)
        assert len(looks) < 2 or left.wait(20)
        return State(0, final=False)

    watching = Watching(state, Clock())
    asked: Any = SimpleNamespace(params={"uri": "x"}, connection=object())
    subscribes = threading.Thread(target=watching.subscribe, args=[asked])
    subscribes.start()
    wait_until(lambda: len(looks) == 2)
    leaves = threading.Thread(target=watching.unsubscribe, args=[asked])
    leaves.start()
    left.set()
    for thread in (subscribes, leaves):
        thread.join(20)
    assert not watching._seen
    assert not watching._heard
    assert watching._tick is None


def test_subscribers_are_notified_of_new_output(folder: Path) -> None:
    """Until 2025-11-25."""
    heard: list[tuple[float, str]] = []

    async def note(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.append((monotonic(), str(message.params.uri)))

    async def work(client: Client) -> None:
        uris = await grow(client, folder)
        (folder / "step-1").touch()
        await anyio.sleep(0.7)
        assert heard == []  # nobody wanted to hear of it
        for uri in uris:
            await client.subscribe_resource(uri)
        (folder / "step-2").touch()
        await until(lambda: {uri for _, uri in heard} == set(uris))
        await client.unsubscribe_resource(uris[0])
        heard.clear()
        (folder / "step-3").touch()
        await until(lambda: bool(heard))
        await anyio.sleep(0.7)
        assert {uri for _, uri in heard} == {uris[1]}
        await ended(client, uris)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        talk(work, *jobs(*BOTH, "--workspace", folder), message_handler=note)


def test_listeners_are_notified_of_new_output(folder: Path) -> None:
    """Since 2026-07-28."""

    async def work(client: Client) -> None:
        uris = await grow(client, folder)
        heard: list[str] = []

        async def listen(of: list[str]) -> None:
            async with client.listen(resource_subscriptions=of) as events:
                listening.set()
                async for event in events:
                    assert isinstance(event, ResourceUpdated)
                    heard.append(event.uri)

        listening = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(listen, uris)
            await listening.wait()
            (folder / "step-1").touch()
            await until(lambda: set(heard) == set(uris))
            group.cancel_scope.cancel()
        heard.clear()
        (folder / "step-2").touch()
        await anyio.sleep(0.7)
        assert heard == []
        await ended(client, uris)

    talk(work, *jobs(*BOTH, "--workspace", folder), mode="auto")


def test_a_flood_is_reported_at_most_twice_a_second(folder: Path) -> None:
    heard: list[float] = []

    async def note(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.append(monotonic())

    async def work(client: Client) -> None:
        line = "while [ ! -e stop ]; do echo x; sleep 0.01; done"
        job = await client.call_tool("run", {"command": ["sh", "-c", line], "until": 0})
        uri = f"agent-exec://jobs/{job.structured_content['job_id']}/stdout"
        await client.subscribe_resource(uri)
        await until(lambda: len(heard) >= 4)
        (folder / "stop").touch()
        await client.call_tool("wait", {"job_id": job.structured_content["job_id"]})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        talk(work, *jobs("--workspace", folder), message_handler=note)
    assert heard[3] - heard[0] > 1.2
