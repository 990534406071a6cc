"""Every door denies a command that would end the system's first process, the caller, or one above it.

The signal is one that ends nothing, should a door be open.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import agent_exec
from agent_exec.faces.executor.config import CommandExecutorConfig
from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.faces.oneshot.kit import create_agent_toolkit
from agent_exec.faces.session.tools import open_tools
from agent_exec.faces.slash.core import SlashCore
from agent_exec.faces.slash.permission import ShellPermission
from agent_exec.model.errors import ApprovalRequired, CommandDenied
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.requests.gate import Gate

VICTIMS = {"the first process": "1", "ourselves": str(os.getpid()), "who started us": str(os.getppid())}
DENIES = "it would end process"


@pytest.fixture(params=VICTIMS)
def words(request: pytest.FixtureRequest) -> list[str]:
    return ["kill", "-CONT", VICTIMS[request.param]]


def test_the_program(words: list[str], tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "agent_exec", "run", "--root", str(tmp_path / "jobs"), "--", *words]
    told = json.loads(subprocess.run(argv, capture_output=True, timeout=60, check=False).stdout)
    assert (told["ok"], told["error"]["code"]) == (False, "command_denied")
    assert DENIES in told["error"]["message"]


def test_jobs(words: list[str], tmp_path: Path) -> None:
    jobs = agent_exec.open_jobs(str(tmp_path / "jobs"))
    with pytest.raises(CommandDenied, match=DENIES):
        jobs.run(words)
    with pytest.raises(CommandDenied, match=DENIES):
        jobs.run(["sh", "-c", " ".join(words)])


def test_the_toolkit(words: list[str], tmp_path: Path) -> None:
    kit = create_agent_toolkit(workspace_root=tmp_path, policy={"tools": {"exec_command": "allow"}})
    answer = kit.exec_command(".", words)
    assert answer["error"]["code"] == "POLICY_DENIED"
    assert DENIES in answer["message"]


def test_the_executor(words: list[str]) -> None:
    executor = CommandExecutor(config=CommandExecutorConfig(policy=Policy([Rule(["kill"])])))
    found = executor.validate_command(words[0], words[1:])
    assert not found.valid
    assert DENIES in str(found.reason)
    assert executor.validate_command("kill", ["-l"]).valid


def test_sessions(words: list[str], tmp_path: Path) -> None:
    tools = open_tools(workspace=str(tmp_path))
    try:
        result = tools.call("exec_command", {"cmd": " ".join(words), "login": False})
    finally:
        tools.close()
    assert result.is_error
    assert DENIES in result.text


def test_the_shell(words: list[str], tmp_path: Path) -> None:
    core = SlashCore(ShellPermission(True), japanese=False)
    try:
        answer = core.submit(f"/shell {' '.join(words)}", str(tmp_path))
    finally:
        core.close()
    assert answer.execution is None
    assert answer.feedback is not None
    assert DENIES in answer.feedback.text


@pytest.mark.parametrize("line", ["k'i'll 1", 'k"ill" 1', "k\\ill 1", "init 0", "systemctl reboot", "reboot"])
def test_quotes_do_not_hide_it(line: str) -> None:
    with pytest.raises(CommandDenied, match="it would end"):
        Gate().admit(line)


def test_a_rule_does_not_cover_a_repository_in_disguise(tmp_path: Path) -> None:
    gate = Gate(Policy([Rule(["git"])]), approval="untrusted")
    place = tmp_path.resolve() / "a" / "b"
    place.mkdir(parents=True)
    gate.admit(["git", "status"], str(place))
    for name in ("HEAD", "objects", "refs"):
        (tmp_path / "a" / name).mkdir()
    with pytest.raises(ApprovalRequired, match="another repository"):
        gate.admit(["git", "status"], str(place))
    (place / ".git").mkdir()
    gate.admit(["git", "status"], str(place))
