"""Whatever step of making a box fails, the command is not run (case 61)."""

import sys
from pathlib import Path

import pytest

from agent_exec.engine.engine import run_command
from agent_exec.model.box_spec import Box
from agent_exec.model.command import Command
from agent_exec.model.errors import SandboxUnavailable
from agent_exec.sandbox import confine
from agent_exec.sandbox.plan.plan import Plan
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.setup_steps import STEPS
from sandbox.attacks.ground import site

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")


@pytest.mark.parametrize("tty", [False, True])
def test_a_step_that_fails_is_the_end_of_it(monkeypatch: pytest.MonkeyPatch, tty: bool) -> None:
    make = confine.box
    with site() as root:
        (root / ".git").mkdir()
        profile = Profile("workspace-write", [str(root)])
        command = Command(["/bin/sh", "-c", "echo ran >ran"], cwd=str(root), tty=tty)
        run_command(command, sandbox=profile)
        assert (root / "ran").exists(), "without a fault it runs"
        (root / "ran").unlink()
        for number, name in enumerate(STEPS):
            if number == 0:
                continue

            def faulty(plan: Plan, number: int = number) -> Box:
                whole = make(plan)
                return whole.replace(spec={**whole.spec, "fault": number}, digest=f"fault {number}")

            monkeypatch.setattr(confine, "box", faulty)
            with pytest.raises(SandboxUnavailable) as caught:
                run_command(command, sandbox=profile)
            assert caught.value.code == "sandbox_unavailable"
            assert caught.value.details["step"] == name
            assert name in caught.value.message
            assert not (root / "ran").exists(), f"it ran although this step failed: {name}"
        monkeypatch.setattr(confine, "box", make)
        run_command(command, sandbox=profile)
        assert (root / "ran").exists()


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
    make = confine.box

    def broken(plan: Plan) -> Box:
        return make(plan).replace(digest="broken", **change)

    monkeypatch.setattr(confine, "box", broken)
    with site() as root:
        command = Command(["/bin/sh", "-c", "echo ran >ran"], cwd=str(root))
        with pytest.raises(SandboxUnavailable):
            run_command(command, sandbox=Profile("workspace-write", [str(root)]))
        assert list(Path(root).iterdir()) == []
