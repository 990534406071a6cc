"""Jobs that are created, and started later or never."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from agent_exec.jobs import open_jobs
from agent_exec.jobs.store import Store
from agent_exec.model.errors import InvalidState
from cli import Cli
from jobs.seen import at_once, kill_and_wait, popen, supervisor_of
from support import wait_until


def secrets(cli: Cli, job: str) -> list[Path]:
    return [path for path in cli.folder(job).rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]


def test_a_created_job_runs_when_it_is_started(cli: Cli, tmp_path: Path) -> None:
    made = cli(
        "create", "--tag", "a", "--timeout", "5m", "--", "sh", "-c", 'echo ran; touch "$0"', tmp_path / "ran"
    )
    job = made["job_id"]
    assert (made["type"], made["state"], made["supervisor"]) == ("create", "created", "none")
    assert made["root"] == str(cli.root)
    status = cli("status", job)
    assert (status["state"], status["supervisor"], status["timeout_ms"]) == ("created", "none", 300_000)
    assert [one["state"] for one in cli("list", "--state", "created")["jobs"]] == ["created"]
    assert cli("tail", job)["stdout"] == ""
    assert cli("wait", job, "--until", "10ms")["state"] == "created"
    assert not (tmp_path / "ran").exists()
    answer = cli("start", job)
    assert (answer["type"], answer["job_id"], answer["state"]) == ("start", job, "exited")
    assert (answer["stdout"], answer["tags"]) == ("ran\n", ["a"])
    assert cli("status", job)["attempt"] == 1
    for state in ("exited",):
        refused = cli("start", job)
        assert (refused.code, refused["error"]["code"]) == (1, "invalid_state")
        assert refused["error"]["details"]["state"] == state


def test_values_of_variables_are_private_and_go_when_it_starts(cli: Cli) -> None:
    job = cli(
        "create", "--env", "TOKEN=s3cret", "--stdin", "input s3cret ", "--", "sh", "-c", "cat; echo $TOKEN"
    )["job_id"]
    assert {path.name for path in secrets(cli, job)} == {"variables", "input"}
    assert all(path.stat().st_mode & 0o77 == 0 for path in secrets(cli, job))
    assert cli("start", job)["stdout"] == "input s3cret s3cret\n"
    assert [path.name for path in secrets(cli, job)] == ["stdout.log"]
    refused = cli("restart", job)
    assert refused["error"]["details"]["variables"] == ["TOKEN"]


def test_what_is_given_at_the_start_wins(cli: Cli) -> None:
    job = cli("create", "--env", "A=1", "--env", "B=1", "--", "sh", "-c", "echo $A$B$C")["job_id"]
    assert cli("start", job, "--env", "B=2", "--env", "C=3")["stdout"] == "123\n"


def test_a_created_job_is_killed_without_having_run(cli: Cli) -> None:
    job = cli("create", "--env", "TOKEN=s3cret", "--", "true")["job_id"]
    assert cli("kill", job, "--signal", "USR1")["state"] == "created"
    killed = cli("kill", job)
    assert (killed["state"], killed["reason"]) == ("killed", "killed")
    assert secrets(cli, job) == []
    status = cli("status", job)
    assert (status["state"], status["exit_code"], "started_at" in status) == ("killed", None, False)
    assert cli("start", job)["error"]["code"] == "invalid_state"
    assert cli("restart", job, "--env", "TOKEN=x")["state"] == "exited"


def test_a_created_job_is_deleted_and_never_collected(cli: Cli) -> None:
    job = cli("create", "--", "true")["job_id"]
    assert cli("gc", "--older-than", 0, "--max-jobs", 0)["deleted"] == 0
    assert cli("ps", "--all")["jobs"] == []
    cli("delete", job)
    assert not cli.folder(job).exists()


def test_restart_starts_a_created_job(cli: Cli) -> None:
    job = cli("create", "--env", "A=1", "--", "sh", "-c", "echo $A")["job_id"]
    answer = cli("restart", job)
    assert (answer["stdout"], answer["type"], "attempt" in answer) == ("1\n", "restart", False)


def test_of_twenty_starts_one_wins(cli: Cli, tmp_path: Path) -> None:
    job = cli("create", "--", "sh", "-c", 'echo run >> "$0"', tmp_path / "runs")["job_id"]
    answers = at_once([lambda: cli("start", job)] * 20, width=8)
    assert sum(answer["ok"] for answer in answers) == 1
    assert {answer["error"]["code"] for answer in answers if not answer["ok"]} == {"invalid_state"}
    assert (tmp_path / "runs").read_text() == "run\n"


def test_rules_judge_at_create_and_at_start(cli: Cli) -> None:
    rules = cli.root.with_name("rules.toml")
    rules.write_text('[[rule]]\nprefix = ["sleep"]\nverdict = "deny"\n')
    assert cli("create", "--rules", rules, "--", "sleep", "1")["error"]["code"] == "command_denied"
    job = cli("create", "--", "sleep", "600")["job_id"]
    assert cli("start", job, "--rules", rules)["error"]["code"] == "command_denied"
    assert cli("status", job)["state"] == "created"


def test_a_supervisor_that_is_killed_after_the_start_leaves_a_lost_job(cli: Cli) -> None:
    job = cli("create", "--env", "TOKEN=s3cret", "--", "sleep", "600")["job_id"]
    cli("start", job, "--no-wait")
    assert secrets(cli, job) == []
    kill_and_wait(supervisor_of(cli, job))
    cli("kill", job)
    assert cli("status", job)["reason"] == "supervisor_lost"


@pytest.mark.parametrize("after", [0, 5, 15, 40])
def test_a_start_that_is_killed_at_any_moment_runs_the_command_at_most_once(
    cli: Cli, tmp_path: Path, after: int
) -> None:
    runs = tmp_path / "runs"
    job = cli("create", "--env", "TOKEN=s3cret", "--", "sh", "-c", 'echo run >> "$0"', runs)["job_id"]
    caller = popen(cli, "start", job, "--no-wait", start_new_session=True)
    store = Store(str(cli.root))
    wait_until(lambda: caller.poll() is not None or store.find(job).facts.get("supervisor_pid"), seconds=10)
    try:
        caller.wait(after / 1000)
    except subprocess.TimeoutExpired:
        os.killpg(caller.pid, signal.SIGKILL)
    caller.communicate()
    found = store.find(job)
    if found.supervisor == "alive" and "supervisor_pid" in found.facts:
        try:
            os.kill(found.facts["supervisor_pid"], signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait_until(lambda: store.find(job).supervisor is None)
    status = cli("status", job)
    assert status["state"] in ("exited", "failed")
    assert runs.read_text() == "run\n" if status["state"] == "exited" else True
    assert cli("start", job)["error"]["code"] == "invalid_state"
    cli("restart", job, "--env", "TOKEN=x")
    assert cli("status", job)["state"] == "exited"


def test_a_waiter_hears_of_the_end_of_a_job_that_was_created_when_it_began_to_wait(cli: Cli) -> None:
    job = cli("create", "--", "sh", "-c", "exit 5")["job_id"]
    waited, _ = at_once([lambda: cli("wait", job, "--forever"), lambda: cli("start", job)], width=2)
    assert waited["exit_code"] == 5


def test_a_store_without_room_makes_nothing(cli: Cli) -> None:
    cli("run", "--", "true")
    (cli.root / ".live").chmod(0o500)
    live = cli.root / ".live"
    if os.geteuid() == 0:
        live.rmdir()
        live.write_text("in the way")
    refused = cli("create", "--", "true")
    assert refused["error"]["code"] == "store_failed"
    assert len([entry for entry in cli.root.iterdir() if len(entry.name) == 26]) == 1
    if live.is_file():
        live.unlink()
    else:
        live.chmod(0o700)


def test_a_confined_job_is_created_and_started(cli: Cli) -> None:
    job = cli("create", "--sandbox", "workspace-write", "--", "touch", "inside")
    assert job["sandbox"]["profile"] == "workspace-write"
    assert cli("start", job["job_id"])["sandbox"]["profile"] == "workspace-write"
    assert (cli.cwd / "inside").exists()


def test_python_creates_and_starts(tmp_path: Path) -> None:
    jobs = open_jobs(str(tmp_path / "jobs"), rules=None)
    job = jobs.create(["sh", "-c", 'cat; echo "$A"'], env={"A": "1"}, stdin=b"in ")["job_id"]
    assert jobs.status(job)["state"] == "created"
    assert jobs.start(job)["stdout"] == "in 1\n"
    with pytest.raises(InvalidState, match="restart"):
        jobs.start(job)


@pytest.mark.parametrize("verb", ["create", "restart"])
def test_values_are_hidden_from_those_who_list_processes(cli: Cli, verb: str) -> None:
    words = ["--", "cat"] if verb == "create" else [cli("run", "--", "cat")["job_id"]]
    caller = popen(cli, verb, "--env", "TOKEN=s3cret", "--stdin", "-", *words, stdin=subprocess.PIPE)
    shown = Path(f"/proc/{caller.pid}/cmdline")
    wait_until(lambda: shown.read_bytes().startswith(f"agent-exec {verb}".encode()))
    assert b"s3cret" not in shown.read_bytes()
    out, _ = caller.communicate(b"in")
    assert json.loads(out)["ok"], out
