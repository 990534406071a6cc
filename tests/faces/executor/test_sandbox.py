"""An executor whose commands are confined."""

import asyncio
import sys
from pathlib import Path

import pytest

import agent_exec
from agent_exec.faces.executor.toolhandler import ToolHandler
from agent_exec.model.cancel import Cancel
from agent_exec.model.errors import InvalidArgument

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")


def test_the_executor_confines_what_it_runs(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
    profile = agent_exec.Profile("workspace-write", [root])
    config = agent_exec.CommandExecutorConfig(workspace_root=root, sandbox=profile)
    with agent_exec.CommandExecutor(config=config) as executor:
        made = executor.execute_command("mkdir", [str(root / "in")])
        refused = executor.execute_command("mkdir", [str(outside / "in")])
        awaited = asyncio.run(executor.execute_command_async("mkdir", [str(outside / "in")]))
    assert (made.exit_code, refused.exit_code, awaited.exit_code) == (0, 1, 1)
    assert [path.name for path in (*root.iterdir(), *outside.iterdir())] == ["in"]
    with pytest.raises(InvalidArgument, match="Profile"):
        agent_exec.CommandExecutorConfig(sandbox="read-only")  # type: ignore[arg-type]


def test_what_the_sandbox_refused_is_said(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    config = agent_exec.CommandExecutorConfig(
        workspace_root=tmp_path, sandbox=agent_exec.Profile("workspace-write", [tmp_path])
    )
    inside = str(tmp_path / ".git" / "in")
    with agent_exec.CommandExecutor(config=config) as executor:
        made = executor.execute_command("touch", [str(tmp_path / "in")])
        refused = executor.execute_command("touch", [inside])
        text = (
            ToolHandler(executor)
            .call("execute_command", {"command": "touch", "args": [inside]}, Cancel())
            .text
        )
    assert (made.denied, refused.exit_code) == ("", 1)
    assert refused.denied.startswith("[sandbox] blocked: write ")
    assert text.splitlines()[1] == refused.denied
