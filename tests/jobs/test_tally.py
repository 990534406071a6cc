"""The record of a job says how many processes were ended with it, and that none is left."""

import pytest

from cli import Cli

THREE = "sleep 600 & sleep 600 & echo ready; wait"
BOXES = pytest.mark.parametrize("box", [(), ("--sandbox", "workspace-write")], ids=["free", "boxed"])


def counts(told: dict[str, object]) -> tuple[object, object]:
    return told.get("processes_ended"), told.get("processes_left")


@BOXES
@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_a_kill_counts_the_processes(cli: Cli, box: tuple[str, ...], signal: str) -> None:
    job = cli("run", *box, "--snapshot-after", "0", "--", "sh", "-c", THREE)["job_id"]
    while "ready" not in cli("tail", job)["stdout"]:
        pass
    assert counts(cli("kill", job, "--signal", signal)) == (3, 0)
    assert counts(cli("status", job)) == (3, 0)


@BOXES
def test_a_timeout_counts_the_processes(cli: Cli, box: tuple[str, ...]) -> None:
    told = cli("run", *box, "--timeout", "400ms", "--wait", "--", "sh", "-c", THREE)
    assert told["timed_out"]
    assert counts(told) == (3, 0)


def test_what_a_command_leaves_behind_is_counted(cli: Cli) -> None:
    told = cli("run", "--wait", "--", "sh", "-c", "sleep 600 >/dev/null 2>&1 & exit 3")
    assert (told["exit_code"], counts(told)) == (3, (1, 0))


def test_a_job_that_ends_alone_counts_nothing(cli: Cli) -> None:
    assert counts(cli("run", "--", "true")) == (None, None)
