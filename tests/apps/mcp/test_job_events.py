"""A client hears of the jobs that it has left running: in its log, and as changed resources."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apps.mcp.talking import Client, jobs, talk, until

pytest.importorskip("mcp")

from mcp_types import LoggingMessageNotificationParams, ResourceUpdatedNotification

from cli import PROGRAM

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux"),
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace; jobs are in a folder of the test's own."""
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(tmp_path / "jobs"))
    found = tmp_path / "work"
    found.mkdir()
    return found


WAIT = "while [ ! -e go ]; do sleep 0.01; done; echo match; exit 3"


def test_the_end_of_a_job_and_a_match_come_to_the_log_and_as_updates(folder: Path) -> None:
    said: list[str] = []
    updated: list[str] = []

    async def hear(told: LoggingMessageNotificationParams) -> None:
        assert (told.level, told.logger) == ("info", "agent-exec")
        said.append(told.data)

    async def note(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            updated.append(str(message.params.uri))

    async def work(client: Client) -> None:
        job = (await client.call_tool("run", {"command": ["sh", "-c", WAIT], "until": 0})).structured_content
        uri = f"agent-exec://jobs/{job['job_id']}/stderr"
        await client.session.subscribe_resource(uri)
        words = ["notify", "set", job["job_id"], "--output-pattern", "match"]
        subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)
        (folder / "go").touch()
        await until(lambda: len(said) == 2)
        name = job["job_id"][-8:]
        assert said == [f"job {name} has printed: match", f"job {name} has ended: exited 3"]
        await until(lambda: uri in updated)
        await client.call_tool("run", {"command": ["true"]})
        assert len(said) == 2, "what an answer has told is not told again"

    talk(work, *jobs("--workspace", folder), message_handler=note, logging_callback=hear)


def test_a_client_that_wants_warnings_only_hears_nothing_of_jobs(folder: Path) -> None:
    said: list[str] = []

    async def hear(told: LoggingMessageNotificationParams) -> None:
        said.append(told.data)

    async def work(client: Client) -> None:
        await client.set_logging_level("warning")
        job = (await client.call_tool("run", {"command": ["sh", "-c", WAIT], "until": 0})).structured_content
        (folder / "go").touch()
        answer = await client.call_tool("wait", {"job_id": job["job_id"]})
        assert answer.structured_content["exit_code"] == 3
        assert said == []

    talk(work, *jobs("--workspace", folder), logging_callback=hear)
