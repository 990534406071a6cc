"""Whatever step of making a box fails, the command is not run (case 61)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent_exec.engine.engine import run_command
from agent_exec.model.box_spec import Box
from agent_exec.model.command import Command
from agent_exec.model.errors import SandboxUnavailable
from agent_exec.sandbox.plan.plan import Plan
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.sandbox import Sandbox
from agent_exec.sandbox.setup_steps import STEPS
from sandbox.attacks.ground import site
from support import CHILDREN

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")


@pytest.mark.parametrize("tty", ["tty", "pipes"])
def test_a_step_that_fails_is_the_end_of_it(tty: str) -> None:
    with site() as root:
        (root / ".git").mkdir()
        words = [sys.executable, str(CHILDREN / "faulty_boxes.py"), str(root), tty]
        done = subprocess.run(words, stdout=subprocess.PIPE, check=True, timeout=110)
    first, *faults, last = map(json.loads, done.stdout.splitlines())
    assert first == last == {"fault": -1, "ran": True}, "without a fault it runs"
    assert [one["step"] for one in faults] == list(STEPS[1:])
    for one in faults:
        assert one["code"] == "sandbox_unavailable"
        assert one["step"] in one["message"]
        assert not one["ran"], f"it ran although this step failed: {one['step']}"


@pytest.mark.parametrize(
    "change",
    [
        {"entry": "agent_exec.sandbox.nothing"},
        {"entry": "agent_exec.sandbox.setup_steps"},
        {"spec": {}},
        {"spec": None},
        {"spec": {"roots": []}},
    ],
)
def test_an_order_that_makes_no_sense(monkeypatch: pytest.MonkeyPatch, change: dict[str, object]) -> None:
    make = Sandbox.box

    def broken(sandbox: Sandbox, plan: Plan) -> Box:
        return make(sandbox, plan).replace(digest="broken", **change)

    monkeypatch.setattr(Sandbox, "box", broken)
    with site() as root:
        command = Command(["/bin/sh", "-c", "echo ran >ran"], cwd=str(root))
        with pytest.raises(SandboxUnavailable):
            run_command(command, sandbox=Profile("workspace-write", [str(root)]))
        assert list(Path(root).iterdir()) == []
