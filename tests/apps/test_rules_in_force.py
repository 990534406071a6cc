"""Every door obeys the rules in force: the user's own file; `rules=None` is judged by none of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agent_exec
from agent_exec.apps.mcp.call import Call
from agent_exec.apps.mcp.toolset import TOOLSETS, Settings
from agent_exec.apps.shell.app import ShellApp
from agent_exec.apps.shell.settings import Settings as ShellSettings
from agent_exec.faces.slash.permission import ShellPermission
from agent_exec.model.errors import AgentExecError, InvalidArgument
from agent_exec.policy.policy import Policy
from agent_exec.requests.gate import Gate
from agent_exec.requests.opening import IN_FORCE, open_gate, rule_files, rules_file
from agent_exec.sandbox.profile import Profile
from cli import Cli

REASON = "nothing is echoed here"
RULES = f'[[rule]]\nprefix = ["echo"]\nverdict = "deny"\nreason = "{REASON}"\n'

Door = Callable[..., str]
"""Runs `echo hi` through a door, opened with these rules; gives all that it says."""


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's configuration, with rules in it that deny `echo`."""
    folder = tmp_path / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    for name in ("AGENT_EXEC_RULES", "AGENT_EXEC_APPROVAL_POLICY"):
        monkeypatch.delenv(name, raising=False)
    file = folder / "agent-exec" / "rules.toml"
    file.parent.mkdir(parents=True)
    file.write_text(RULES)
    return file


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


def _jobs(work: Path, **terms: Any) -> str:
    jobs = agent_exec.open_jobs(str(work.parent / "jobs"), **terms)
    return str(jobs.run(["echo", "hi"], cwd=str(work)))


def _sessions(work: Path, **terms: Any) -> str:
    with agent_exec.open_tools(workspace=str(work), **terms) as tools:
        return tools.call("exec_command", {"cmd": "echo hi", "login": False}).text


def _toolkit(work: Path, **terms: Any) -> str:
    kit = agent_exec.create_agent_toolkit(work, {"default_policy": "allow"}, **terms)
    return str(kit.exec_command(".", ["echo", "hi"]))


def _executor(work: Path, **terms: Any) -> str:
    with agent_exec.CommandExecutor(**terms) as executor:
        return str(executor.execute_command("echo", ["hi"], cwd=work).to_wire())


def _shell(work: Path, **terms: Any) -> str:
    app = ShellApp(ShellSettings(str(work), ShellPermission(True), **terms))
    try:
        answer = app.core.submit("/shell echo hi", str(work))
        if answer.execution is None:
            return str(answer.feedback and answer.feedback.text)
        answer.execution.wait()
        return str([line.text for line in app.core.view.snapshot().lines])
    finally:
        app.core.close()


def _served(toolset: str) -> Door:
    asked: dict[str, dict[str, Any]] = {
        "jobs": {"name": "run", "command": ["echo", "hi"]},
        "session": {"name": "exec_command", "cmd": "echo hi", "login": False},
        "oneshot": {"name": "exec_command", "cwd": ".", "command": ["echo", "hi"]},
        "executor": {"name": "execute_command", "command": "echo", "args": ["hi"]},
    }

    def door(work: Path, **terms: Any) -> str:
        settings = Settings(Profile("full-access"), (str(work),), jobs=str(work.parent / "jobs"), **terms)
        tools = TOOLSETS[toolset](settings)
        arguments = dict(asked[toolset])
        try:
            answer = tools.call(arguments.pop("name"), arguments, Call())
        finally:
            tools.close()
        return f"{answer.text} {answer.structured}"

    return door


DOORS: dict[str, Door] = {
    "open_jobs": _jobs,
    "open_tools": _sessions,
    "create_agent_toolkit": _toolkit,
    "CommandExecutor": _executor,
    "/shell": _shell,
    **{f"mcp {name}": _served(name) for name in TOOLSETS},
}


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, work: Path) -> Callable[..., str]:
    through = DOORS[request.param]

    def call(**terms: Any) -> str:
        try:
            return through(work, **terms)
        except AgentExecError as error:
            return error.message

    return call


def test_the_users_rules_are_obeyed(door: Callable[..., str], user: Path) -> None:
    assert REASON in door()
    user.unlink()
    assert REASON not in door()


def test_rules_none_judges_by_none_of_them(
    door: Callable[..., str], user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_EXEC_APPROVAL_POLICY", "untrusted")
    said = door(rules=None)
    assert REASON not in said
    assert "hi" in said
    assert "approval" not in said


def test_the_approval_policy_of_the_environment_is_obeyed(
    door: Callable[..., str], user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.write_text(RULES.replace("deny", "ask"))
    monkeypatch.setenv("AGENT_EXEC_APPROVAL_POLICY", "never")
    assert "The approval policy is never" in door()


def test_the_program_obeys_them(cli: Cli, user: Path) -> None:
    for words in (("run",), ("sandbox", "run", "--profile", "full-access")):
        told = cli(*words, "--", "echo", "hi")
        assert (told["ok"], told["error"]["code"]) == (False, "command_denied")
        assert REASON in told["error"]["message"]
    user.unlink()
    assert cli("run", "--", "echo", "hi")["ok"]


def test_a_yes_for_this_session_holds_in_all_workspaces_of_a_client(
    tmp_path: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One gate is opened for a toolset, however many folders it works in."""
    opened: list[Gate] = []

    def gate(_: Settings) -> Gate:
        opened.append(open_gate())
        return opened[-1]

    monkeypatch.setattr(Settings, "gate", gate)
    roots = [tmp_path / name for name in ("one", "two")]
    for root in roots:
        root.mkdir()
    for name in TOOLSETS:
        tools = TOOLSETS[name](Settings(Profile("full-access"), tuple(map(str, roots)), jobs=str(tmp_path)))
        tools.close()
    assert len(opened) == len(TOOLSETS)


def test_which_file_is_meant(user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rules_file() == rules_file("") == str(user)
    config = str(user.with_name("config.toml"))
    assert rule_files() == [str(user), config]
    user.unlink()
    assert rules_file() is None
    assert rule_files() == [str(user), config], (
        "where the rules would be is not for a command to write either"
    )
    other = tmp_path / "others.toml"
    monkeypatch.setenv("AGENT_EXEC_RULES", str(other))
    assert (rules_file(), rule_files()) == (str(other), [str(other), config])
    assert (rules_file("mine.toml"), rule_files(user)) == ("mine.toml", [str(user)])
    for rules in (None, Policy()):
        assert (rules_file(rules), rule_files(rules)) == (None, [])
    with pytest.raises(InvalidArgument, match="rules must be the path"):
        open_gate(5)  # type: ignore[arg-type]
    assert repr(IN_FORCE) == "IN_FORCE"


def test_where_an_always_is_written(user: Path, tmp_path: Path) -> None:
    def said(rules: Any) -> str:
        open_gate(rules, approver=lambda _: "always", approval="untrusted").admit(["touch", "it"])
        return user.read_text() if user.exists() else ""

    user.unlink()
    assert said(None) == said(Policy()) == ""
    named = tmp_path / "named.toml"
    named.write_text("")
    assert said(named) == ""
    assert "touch" in named.read_text()
    assert "touch" in said(IN_FORCE)
