"""An executor whose commands are confined."""

import asyncio
import sys
from pathlib import Path

import pytest

import agent_exec
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
