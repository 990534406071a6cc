"""What a run tells besides its output: who it is, and which signals it was sent."""

import pytest

import agent_exec
from agent_exec.engine.engine import run_command
from support import wait_until

DEAF = "trap '' TERM; echo ready; while :; do sleep 0.05; done"


def test_the_pid_is_reported_once_and_first() -> None:
    told: list[object] = []
    outcome = run_command(
        agent_exec.Command(
            ["sh", "-c", "sleep 0.02; echo x"],
            on_output=lambda stream, chunk: told.append((stream, chunk)),
            on_event=lambda *event: told.append(event),
        )
    )
    assert told == [("spawned", outcome.pid), ("stdout", b"x\n")]


def test_a_command_that_ends_at_once_is_reported() -> None:
    told: list[object] = []
    outcome = run_command(agent_exec.Command(["true"], on_event=lambda *event: told.append(event)))
    assert told == [("spawned", outcome.pid)]


def test_every_signal_is_reported_with_its_cause() -> None:
    told: list[object] = []
    limits = agent_exec.Limits(timeout=0.1, grace=0.05)
    outcome = run_command(
        agent_exec.Command(["sh", "-c", DEAF], limits=limits, on_event=lambda *event: told.append(event))
    )
    assert told[:3] == [("spawned", outcome.pid), ("terminate", "timeout"), ("kill", "timeout")]
    assert outcome.signal == "SIGKILL"


def test_what_it_raises_ends_the_run() -> None:
    def broken(event: str, detail: object) -> None:
        raise RuntimeError(event)

    with pytest.raises(RuntimeError, match="spawned"):
        run_command(agent_exec.Command(["sleep", "600"], on_event=broken))
    with agent_exec.Engine() as engine:
        run = engine.start(agent_exec.Command(["sleep", "600"], on_event=broken))
        wait_until(lambda: run.done)
        with pytest.raises(RuntimeError, match="spawned"):
            run.outcome()


def test_it_must_be_callable() -> None:
    with pytest.raises(agent_exec.AgentExecError, match="on_event"):
        agent_exec.Command(["true"], on_event=3)  # type: ignore[arg-type]
