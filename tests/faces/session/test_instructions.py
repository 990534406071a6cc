"""What a model is told before it calls anything: where commands run, what confines them, what tools do.

Reference §4.1 (the profiles), §4.5 (the network), §2.5 (escalation); hints are the protocol's.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_exec.requests.gate import Gate
from agent_exec.sandbox.profile import Profile
from faces.session.calling import Caller

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="real shells of POSIX")


def hints(call: Caller) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool["annotations"] for tool in call.tools.definitions()}


def test_without_a_sandbox(call: Caller, work: Path) -> None:
    said = call.tools.instructions
    assert said.startswith("exec_command runs a shell command")
    assert f"the workspace {work}; they are not confined." in said
    assert "escalated" not in said


def test_with_one(opened: Callable[..., Caller], work: Path, tmp_path: Path) -> None:
    roots = [str(work), str(tmp_path)]
    said = opened(sandbox=Profile("workspace-write", roots)).tools.instructions
    assert f"the workspace {work}; they are confined by the sandbox profile workspace-write." in said
    assert f"They may write to {work}, {tmp_path}, but not to any .git. The network is off." in said
    assert "escalated" not in said
    said = opened(sandbox=Profile("read-only", roots, net="on")).tools.instructions
    assert "They may write nothing but temporary files. The network is on." in said
    said = opened(sandbox=Profile("workspace-write", roots, net=["packages.example"])).tools.instructions
    assert "they reach only packages.example" in said
    said = opened(sandbox=Profile("full-access", roots)).tools.instructions
    assert "not confined" in said


def test_with_an_approver(opened: Callable[..., Caller], work: Path) -> None:
    box = Profile("read-only", [str(work)])
    asks = "Where a tool takes sandbox_permissions, require_escalated asks the user"
    assert asks in opened(sandbox=box, approver=lambda _request: "no").tools.instructions
    never = Gate(None, approver=lambda _request: "no", approval="never")
    assert asks not in opened(sandbox=box, gate=never).tools.instructions


def test_hints_are_true(opened: Callable[..., Caller], work: Path) -> None:
    told = hints(opened())
    keys = {"read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint"}
    assert all(set(one) == keys for one in told.values())
    reading = {name for name, one in told.items() if one["read_only_hint"]}
    assert reading == {"read_output", "list_sessions"}
    assert not any(one["read_only_hint"] and one["destructive_hint"] for one in told.values())
    again = {name for name, one in told.items() if one["idempotent_hint"]}
    assert again == reading | {"kill_session", "resize"}
    assert {name for name, one in told.items() if one["open_world_hint"]} == {"exec_command", "write_stdin"}
    assert not told["resize"]["destructive_hint"]
    assert told["exec_command"] is not told["write_stdin"]


@pytest.mark.parametrize(
    ("given", "reads", "opens"),
    [
        ({"name": "workspace-write"}, False, False),
        ({"name": "read-only"}, True, False),
        ({"name": "read-only", "net": "on"}, True, True),
        ({"name": "workspace-write", "net": ["packages.example"]}, False, True),
        ({"name": "full-access"}, False, True),
    ],
)
def test_hints_know_the_sandbox(
    opened: Callable[..., Caller], work: Path, given: dict[str, Any], reads: bool, opens: bool
) -> None:
    box = Profile(roots=[str(work)], **given)
    for name in ("exec_command", "write_stdin"):
        one = hints(opened(sandbox=box))[name]
        assert (one["read_only_hint"], one["destructive_hint"], one["open_world_hint"]) == (
            reads,
            not reads,
            opens,
        )
        one = hints(opened(sandbox=box, approver=lambda _request: "no"))[name]  # who may be let out
        assert (one["read_only_hint"], one["open_world_hint"]) == (False, True)


def test_port_is_honest(call: Caller) -> None:
    """What `port:N` looks at is told where it is offered."""
    (tool,) = [one for one in call.tools.definitions() if one["name"] == "exec_command"]
    assert (
        "on this machine or in the network that commands share"
        in tool["parameters"]["properties"]["wait_for"]["description"]
    )
