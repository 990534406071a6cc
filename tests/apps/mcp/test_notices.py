"""What people are told besides the model: on stderr, in the client's log, and in questions."""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from agent_exec.apps.mcp.notices import Notices
from agent_exec.tools.tool import Result
from apps.mcp.talking import ERAS, Client, anyio, bare, jobs, talk, text

pytest.importorskip("mcp")

from mcp_types import ElicitRequestFormParams, ElicitResult, LoggingMessageNotificationParams

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace; jobs are in a folder of the test's own."""
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(tmp_path / "jobs"))
    monkeypatch.delenv("AGENT_EXEC_APPROVAL_POLICY", raising=False)
    found = tmp_path / "work"
    found.mkdir()
    return found


class Log:
    """A client's log."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def __call__(self, said: LoggingMessageNotificationParams) -> None:
        assert (said.level, said.logger) == ("warning", "agent-exec")
        self.lines.append(said.data)


class Person:
    """A person who says yes for as long as is offered, and may take a while for it."""

    def __init__(self, seconds: float = 0) -> None:
        self.seconds = seconds
        self.asked: list[str] = []

    async def __call__(self, _context: object, params: ElicitRequestFormParams) -> ElicitResult:
        self.asked.append(params.message)
        start = monotonic()
        while monotonic() < start + self.seconds:
            await anyio.sleep(0.05)
        *_, longest, _no = params.requested_schema["properties"]["answer"]["enum"]
        return ElicitResult(action="accept", content={"answer": longest})


@ERAS
def test_a_command_that_leaves_the_sandbox_is_reported(work: Path, tmp_path: Path, mode: str) -> None:
    """Each time: also when nobody was asked, for a yes of before."""
    log, person = Log(), Person()
    line = f"touch {tmp_path}/outside"
    asked = {"cmd": line, "login": False, "sandbox_permissions": "require_escalated"}

    async def talked(client: Client) -> None:
        if "none works" in (client.instructions or ""):
            pytest.skip("nothing here can confine")
        for _ in range(2):
            result = await client.call_tool("exec_command", asked)
            assert not result.is_error, text(result)
        with anyio.fail_after(20):
            while len(log.lines) < 2:
                await anyio.sleep(0.01)

    words = jobs("--toolset", "session", "--workspace", work)
    heard: dict[str, Any] = {"logging_callback": log}
    if mode == "auto":
        heard["log_level"] = "warning"
    talk(talked, *words, mode=mode, elicitation_callback=person, **heard)
    assert log.lines == [f"a command runs outside of the sandbox, in {work}: {line}"] * 2
    assert len(person.asked) == 1
    assert "until the server ends is for exactly this command in this folder" in person.asked[0]


@pytest.mark.parametrize(
    ("toolset", "tool", "asked"),
    [
        ("jobs", "run", {"command": ["sh", "-c", "echo > .envrc"]}),
        ("session", "exec_command", {"cmd": "echo > .envrc", "login": False}),
        ("oneshot", "exec_command", {"command": ["sh", "-c", "echo > .envrc"], "cwd": "."}),
        ("executor", "execute_command", {"command": "touch", "args": [".envrc"]}),
    ],
)
def test_changes_to_what_is_protected_are_reported(
    work: Path, toolset: str, tool: str, asked: dict[str, Any]
) -> None:
    with bare(*jobs("--toolset", toolset, "--workspace", work)) as server:
        server.greet()
        server.call(tool, **asked)
        logged = []
        while (heard := server.hear()).get("id") != server.last:
            logged.append(heard["params"]["data"])
        if "nothing can confine" in json.dumps(heard):
            pytest.skip("nothing here can confine")
        server.hang_up()
        assert server.process.wait(20) == 0
        assert server.process.stderr is not None
        printed = server.process.stderr.read().decode()
    (line,) = logged
    assert "protected paths are not as they were" in line
    assert f"{work}/.envrc" in line
    assert line in printed


def test_changes_are_found_in_the_answers_of_every_toolset(capfd: pytest.CaptureFixture[str]) -> None:
    box = {"sandbox": {"protected_changes": [{"path": "/w/.vscode\x1b[2J", "what": "appeared"}]}}
    for structured in (box, {"status": "success", "data": box}, {"job_id": "1", **box}):
        notices = Notices()
        for _ in range(2):
            notices.look("run", Result("", structured))
        assert list(notices.changes) == ["/w/.vscode\x1b[2J appeared"]
        lines = capfd.readouterr().err.splitlines()
        assert len(lines) == (
            1 if "job_id" in structured else 2
        )  # who looks at a job again is not told again
        assert "/w/.vscode\\x1b[2J appeared" in lines[0]
    boxes: tuple[Any, ...] = (None, {}, {"protected_changes": None}, {"protected_changes": {}}, [])
    for odd in boxes:
        Notices().look("run", Result("", {"sandbox": odd, "data": odd}))
    assert capfd.readouterr().err == ""


def test_a_full_stderr_does_not_block() -> None:
    """A client may never read what we print there."""
    code = "from agent_exec.apps.mcp.notices import on_stderr\nfor n in range(2000): on_stderr('x' * 500)"
    reader, writer = os.pipe()
    try:
        done = subprocess.run([sys.executable, "-c", code], stderr=writer, check=False, timeout=60)
    finally:
        os.close(reader)
        os.close(writer)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("toolset", "tool", "asked"),
    [
        ("jobs", "run", {"command": ["echo", "done"]}),
        ("session", "exec_command", {"cmd": "echo done", "login": False}),
        (
            "session",
            "exec_command",
            {"cmd": "echo done", "login": False, "sandbox_permissions": "require_escalated"},
        ),
        ("oneshot", "exec_command", {"command": ["echo", "done"], "cwd": "."}),
        ("executor", "execute_command", {"command": "echo", "args": ["done"]}),
    ],
)
def test_the_time_of_an_approval_does_not_count(
    work: Path, tmp_path: Path, toolset: str, tool: str, asked: dict[str, Any]
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["echo"]\nverdict = "ask"\n')

    async def talked(client: Client) -> None:
        result = await client.call_tool(tool, asked)
        assert not result.is_error, text(result)
        assert "done" in text(result)
        assert "running" not in text(result)
        assert "session_id" not in (result.structured_content or {})

    words = jobs("--toolset", toolset, "--workspace", work, "--rules", rules, "--max-wait", "3s")
    talk(talked, *words, elicitation_callback=Person(3.5))
