"""Health checks of running jobs, and jobs that are stopped when they are silent."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli import Cli
from jobs.seen import Gate
from support import exists, wait_until

EVERY = ("--health-every", "100ms")


def health(cli: Cli, job_id: str) -> Any:
    return cli("status", job_id)["health"]


def test_every_change_of_health_is_recorded(cli: Cli) -> None:
    line = "test -e fine && echo fine || { echo sick; exit 3; }"
    words = ("--health", line, "--health-every", "300ms", "--health-failures", "2")
    (cli.cwd / "fine").touch()
    job_id = cli("run", "--no-wait", *words, "--", "sleep", "600")["job_id"]
    assert cli("status", job_id)["health_check"] == line
    assert cli("wait", job_id, "--for", "healthy")["met"][0]["at"] == cli("status", job_id)["healthy_at"]
    (cli.cwd / "fine").unlink()
    wait_until(lambda: health(cli, job_id) == "unhealthy")
    status = cli("status", job_id)
    assert (status["health_message"], "unhealthy_at" in status) == ("exit code 3: sick", True)
    late = cli("wait", job_id, "--for", "healthy", "--until", "10ms")
    assert late["unmet"] == [
        {"for": "healthy", "message": "its health check says unhealthy: exit code 3: sick"}
    ]
    (cli.cwd / "fine").touch()
    assert cli("wait", job_id, "--for", "healthy")["ready"]
    lines = (cli.folder(job_id) / "record.jsonl").read_text().rstrip("\0").splitlines()
    found = [fact["health"] for fact in map(json.loads, lines) if "health" in fact]
    assert found == ["starting", "healthy", "unhealthy", "healthy"]
    kinds = [event["kind"] for event in cli("events", "--job", job_id)["events"]]
    assert kinds == ["created", "started", "healthy", "unhealthy", "healthy"]


def test_a_job_that_is_never_healthy_becomes_unhealthy(cli: Cli) -> None:
    words = ("--health", "exit 1", *EVERY, "--health-failures", "1")
    job_id = cli("run", "--no-wait", *words, "--", "sleep", "600")["job_id"]
    wait_until(lambda: health(cli, job_id) == "unhealthy")


def test_a_check_that_takes_too_long_has_failed_and_is_killed_whole(cli: Cli, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    line = f"(trap '' TERM; echo $$ >> {pids}; sleep 600 & echo $! >> {pids}; wait)"
    words = ("--health", line, *EVERY, "--health-failures", "1", "--health-timeout", "200ms")
    job_id = cli("run", "--no-wait", *words, "--", "sleep", "600")["job_id"]
    wait_until(lambda: health(cli, job_id) == "unhealthy")
    assert cli("status", job_id)["health_message"].startswith("it took too long")
    assert cli("kill", job_id)["state"] == "killed"
    wait_until(lambda: not any(exists(int(pid)) for pid in pids.read_text().split()))


def test_a_check_does_not_outlive_its_job(cli: Cli, tmp_path: Path) -> None:
    pid, gate = tmp_path / "pid", Gate(tmp_path / "gate")
    words = ("--health", f"echo $$ > {pid}; sleep 600", "--health-timeout", "10m")
    job_id = cli("run", "--no-wait", *words, "--", *gate.job())["job_id"]
    wait_until(lambda: pid.exists() and pid.read_text().strip())
    gate.open()
    told = cli("wait", job_id, "--forever")
    assert (told["state"], told["exit_code"], told["leaked"]) == ("exited", 7, False)
    wait_until(lambda: not exists(int(pid.read_text())))


def test_a_check_has_the_variables_of_the_job(cli: Cli) -> None:
    words = ("--port", "auto", "--env", "WORD=x", "--health", 'test "$WORD" = x && echo $PORT > port')
    told = cli("run", *words, "--for", "healthy", "--", "sleep", "600")
    assert told["ready"]
    assert (cli.cwd / "port").read_text() == f"{told['ports']['PORT']}\n"


def test_the_rules_judge_a_health_check(cli: Cli, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["curl"]\nverdict = "deny"\n')
    told = cli("run", "--rules", rules, "--health", "curl -fs localhost", "--", "sleep", "600")
    assert told["error"]["code"] == "command_denied"
    assert not cli.root.exists() or cli("list", "--all")["jobs"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("--health", " "),
        ("--health", "true", "--health-failures", "0"),
        ("--health", "true", "--health-every", "0"),
    ],
)
def test_an_invalid_check_is_refused(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli("run", *words, "--", "true")["error"]["code"] == "invalid_argument"


def test_a_silent_job_is_stopped(cli: Cli) -> None:
    told = cli(
        "run",
        "--wait",
        "--stop-after",
        "idle=200ms",
        "--",
        "sh",
        "-c",
        "echo a; sleep 0.1; echo b; sleep 600",
    )
    assert (told["state"], told["reason"], told["timed_out"]) == ("killed", "idle", False)
    assert told["stdout"] == "a\nb\n"
    assert cli("status", told["job_id"])["stop_after_idle_ms"] == 200


def test_a_job_that_ends_in_time_is_not_stopped(cli: Cli) -> None:
    told = cli("run", "--wait", "--stop-after", "idle=1h", "--", "sh", "-c", "exit 4")
    assert (told["state"], told["exit_code"], "reason" in told) == ("exited", 4, False)
