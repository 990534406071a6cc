"""A crash at any moment, of anyone, leaves every job readable and no verb failing."""

import os
import random
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from cli import Cli
from jobs.seen import ENDED, at_once, popen
from support import wait_until

ROUNDS = 12
SPAN = 0.03
MOMENT = 0.006


def _ours(mark: str) -> list[int]:
    """Return the processes of the program itself that bear a mark; not the commands that they run."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if (
                    mark.encode() in Path(f"/proc/{name}/environ").read_bytes()
                    and b"agent-exec" in Path(f"/proc/{name}/cmdline").read_bytes()
                ):
                    found.append(int(name))
            except OSError:
                continue
    return found


def _folders(cli: Cli) -> set[str]:
    return {name for name in os.listdir(cli.root) if len(name) == 26} if cli.root.exists() else set()


def _has_new_folder(cli: Cli, known: set[str]) -> bool:
    return bool(_folders(cli) - known)


@pytest.mark.parametrize("victim", ["caller", "supervisor", "both", "all at once"])
@pytest.mark.parametrize("length", ["short", "long"])
def test_a_crash_at_any_moment_leaves_every_job_readable(cli: Cli, victim: str, length: str) -> None:
    """A hundred rounds in all; every moment of the start, and of the end of a short job."""
    chance = random.Random(f"{victim} {length}")
    command = (
        ["sh", "-c", "echo out; echo err >&2"] if length == "short" else ["sh", "-c", "echo out; sleep 600"]
    )
    answered = 0
    for index in range(ROUNDS):
        jobs = _folders(cli)
        mark = f"AGENT_EXEC_ROUND={index}-{chance.random()}"
        caller = popen(
            cli,
            "run",
            *(["--no-wait"] if index % 2 else ["--until", "100ms"]),
            "--",
            *command,
            env={**cli.env, **dict([mark.split("=")])},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        # A moment, whichever it is: after the start of the program, or after that of the job.
        if index % 3:
            wait_until(lambda: _has_new_folder(cli, jobs) or caller.poll() is not None)  # noqa: B023
        time.sleep(chance.random() * (MOMENT if index % 3 else SPAN))
        if victim == "caller":
            caller.kill()
        else:
            for pid in _ours(mark):
                if victim != "supervisor" or pid != caller.pid:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                if victim == "both":
                    time.sleep(chance.random() * 0.002)
        out, _ = caller.communicate(timeout=30)
        answered += bool(out)
        if index % 8 == 7:
            assert cli("list", "--all", "--limit", 0)["ok"]
    if victim == "supervisor":
        assert answered == ROUNDS, "the caller always has an answer, with or without a supervisor"
    _check_all(cli)


def _check_all(cli: Cli) -> None:
    """No verb fails on what the crashes have left, and all of it can be taken away."""
    listed = cli("list", "--all", "--limit", 0)["jobs"]
    assert len(listed) > ROUNDS // 4, "some were far enough to be a job"
    assert cli("ps", "--all", "--limit", 0)["ok"]
    assert cli("gc", "--dry-run", "--older-than", "0s")["failed"] == 0

    def check(job_id: str) -> None:
        found = cli("status", job_id)
        assert found["state"] in ("created", "running", *ENDED), found
        shown = cli("tail", job_id)
        assert shown["ok"]
        assert cli("kill", job_id, "--signal", "KILL")["ok"]
        found = cli("wait", job_id)
        assert found["state"] in ENDED
        if found["state"] == "exited":
            assert (found["stdout"], found["output_complete"]) == ("out\n", True), found
        assert cli("delete", job_id)["deleted"] == 1

    at_once([partial(check, job["job_id"]) for job in listed], width=3)
    assert cli("list", "--all")["jobs"] == []
    assert cli("gc")["ok"]
