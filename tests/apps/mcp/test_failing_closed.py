"""A server that was not started with full-access runs nothing unconfined, whatever the machine or a workspace does."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from apps.mcp.talking import Bare, bare, jobs
from support import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")

WITHOUT_NAMESPACES = (
    *("unshare", "-Ur", "sh", "-c"),
    'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"',
    "sh",
)
WITHOUT_THIS_PLAN = """
import errno, sys
from agent_exec.sandbox.sandbox import Sandbox
from agent_exec.model.errors import PlanFailed
tried = Sandbox._try

def fails(sandbox, one, plan, spawner):
    if plan.profile.name != "read-only":
        raise PlanFailed("the roots: No space left on device", errno=errno.ENOSPC, step="the roots")
    tried(sandbox, one, plan, spawner)

Sandbox._try = fails
sys.argv[0] = "agent-exec"
from agent_exec.apps.main import main
main()
"""
TOOLSETS = pytest.mark.parametrize(
    ("toolset", "tool", "asked"),
    [
        ("jobs", "run", {"command": ["touch", "{}"]}),
        ("session", "exec_command", {"cmd": "touch {}", "login": False}),
        ("oneshot", "exec_command", {"command": ["touch", "{}"], "cwd": "."}),
        ("executor", "execute_command", {"command": "touch", "args": ["{}"]}),
    ],
)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace; jobs are in a folder of the test's own."""
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(tmp_path / "jobs"))
    found = tmp_path / "work"
    found.mkdir()
    return found


def calls(server: Bare, tool: str, asked: dict[str, Any], file: Path) -> tuple[dict[str, Any], list[str]]:
    """Have a tool make a file; return the result, and what the client was to log meanwhile."""
    filled = {
        name: [word.format(file) for word in value] if isinstance(value, list) else str(value).format(file)
        for name, value in asked.items()
    }
    if "login" in asked:
        filled["login"] = asked["login"]
    server.call(tool, **filled)
    logged: list[str] = []
    while (heard := server.hear()).get("id") != server.last:
        if heard["method"] == "notifications/message":
            assert (heard["params"]["level"], heard["params"]["logger"]) == ("warning", "agent-exec")
            logged.append(heard["params"]["data"])
    return heard["result"], logged


def errors(server: Bare) -> str:
    """End a server, and return what it has said on stderr."""
    server.hang_up()
    assert server.process.wait(20) == 0
    assert server.process.stderr is not None
    return server.process.stderr.read().decode()


@TOOLSETS
def test_a_machine_that_cannot_confine_refuses_every_command(
    work: Path, tmp_path: Path, toolset: str, tool: str, asked: dict[str, Any]
) -> None:
    if not shutil.which("unshare") or subprocess.run([*WITHOUT_NAMESPACES, "true"], check=False).returncode:
        pytest.skip("a machine without namespaces cannot be played here")
    words = jobs("--toolset", toolset, "--workspace", work)
    # It seems to be root there, to which the folder of the machine's root in /tmp does not belong.
    before = ("env", f"TMPDIR={tmp_path}", *WITHOUT_NAMESPACES)
    with bare(*words, before=before) as server:
        hello = server.greet()["result"]
        assert "logging" in hello["capabilities"]
        assert "none works on this machine: " in hello["instructions"]
        assert "Every command is refused" in hello["instructions"]
        said, logged = calls(server, tool, asked, work / "made")
        text = said["content"][0]["text"]
        for told in (text, *logged, hello["instructions"]):
            assert "`agent-exec sandbox doctor`" in told
            assert "--sandbox full-access" in told
        assert len(logged) == 2  # of the start, and of this command
        printed = errors(server)
    assert printed.count("none works on this machine") == 1
    assert printed.count("a command was refused") == 1
    assert not (work / "made").exists()


@TOOLSETS
def test_a_plan_that_fails_is_no_reason_to_do_without(
    work: Path, tmp_path: Path, toolset: str, tool: str, asked: dict[str, Any]
) -> None:
    """As when a workspace holds more than can be mounted, or another took what was planned away."""
    with bare("-c", WITHOUT_THIS_PLAN, *jobs("--toolset", toolset, "--workspace", work)[2:]) as server:
        assert "none works" not in server.greet()["result"]["instructions"]
        said, logged = calls(server, tool, asked, tmp_path / "made")
        text = said["content"][0]["text"]
        box = (said.get("structuredContent") or {}).get("sandbox") or {}
        confined = box.get("backend") == "ns"  # by the supervisor of a job, which tries it anew
        assert confined or "No space left on device" in text, text
        assert any("is tried again for each command" in one for one in logged)
        assert "No space left on device" in errors(server)
    assert not (tmp_path / "made").exists()


@TOOLSETS
def test_a_workspace_that_was_replaced(work: Path, toolset: str, tool: str, asked: dict[str, Any]) -> None:
    with bare(*jobs("--toolset", toolset, "--workspace", work)) as server:
        if "none works" in server.greet()["result"]["instructions"]:
            pytest.skip("nothing here can confine")
        work.rename(work.with_name("moved"))
        work.mkdir()
        for _ in range(2):
            said, _ = calls(server, tool, asked, work / "made")
            assert "was replaced by another folder" in said["content"][0]["text"], said
    assert not (work / "made").exists()


def test_repositories_that_come_and_go_while_a_server_starts(work: Path, tmp_path: Path) -> None:
    """Each command is confined, or refused; which one depends on the moment."""
    over = threading.Event()
    outside = tmp_path / "outside"

    def storm() -> None:
        while not over.is_set():
            for number in range(20):
                os.makedirs(work / "s" / str(number) / ".git", exist_ok=True)
            for number in range(20):
                shutil.rmtree(work / "s" / str(number), ignore_errors=True)

    thread = threading.Thread(target=storm)
    thread.start()
    try:
        wait_until((work / "s").exists)
        for _ in range(6):
            with bare(*jobs("--workspace", work)) as server:
                hello = server.greet()["result"]["instructions"]
                assert "not confined" not in hello
                said, _ = calls(server, "run", {"command": ["sh", "-c", "echo > {}"]}, outside)
                answer = said["structuredContent"]
                assert answer.get("sandbox") or answer["error"]["code"] == "sandbox_unavailable", answer
                assert not outside.exists()
    finally:
        over.set()
        thread.join()


def test_only_full_access_is_unconfined(work: Path, tmp_path: Path) -> None:
    with bare(*jobs("--workspace", work, "--sandbox", "full-access")) as server:
        assert "not confined" in server.greet()["result"]["instructions"]
        calls(server, "run", {"command": ["touch", "{}"]}, tmp_path / "outside")
        assert errors(server) == ""
    assert (tmp_path / "outside").exists()
