"""An executor in a sandbox: its rules stay as they are, and what a command must not make is told."""

import sys
from pathlib import Path

import pytest

import agent_exec
from agent_exec.sandbox.profile import Profile

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "work"
    place.mkdir()
    return place


def test_an_executor_protects_its_rules_and_reports_changes(root: Path) -> None:
    rules = root / "rules.toml"
    rules.write_text("deny")
    config = agent_exec.CommandExecutorConfig(
        sandbox=Profile("workspace-write", [root]),
        own=(str(rules),),
        workspace_root=root,
        policy=agent_exec.CommandLists(whitelist=["cp", "touch"]),
    )
    with agent_exec.CommandExecutor(config=config) as executor:
        assert executor.execute_command("cp", ["/dev/null", "rules.toml"], cwd=str(root)).status == "error"
        told = executor.execute_command("touch", [".envrc"], cwd=str(root)).to_wire()
    assert rules.read_text() == "deny"
    assert told["sandbox"]["protected_changes"][0]["path"] == str(root / ".envrc")
