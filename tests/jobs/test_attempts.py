"""Attempts: a job keeps its id and every log over restarts, and never runs twice at once."""

import gc
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from agent_exec.host import is_locked
from agent_exec.jobs import attempts, open_jobs
from agent_exec.jobs.record import Record, read
from agent_exec.jobs.store import Store
from agent_exec.jobs.supervise import Supervisor
from agent_exec.model.errors import InvalidArgument
from cli import Cli
from jobs.seen import Gate, at_once, kill_and_wait, lose_supervisor, popen, supervisor_of
from support import exists, wait_until

COUNT = ["sh", "-c", 'echo run >> "$0"; echo out $(wc -l < "$0"); exit 3']


def test_a_restart_keeps_the_id_and_the_logs_of_every_attempt(cli: Cli, tmp_path: Path) -> None:
    first = cli("run", "--tag", "a", "--", *COUNT, tmp_path / "count")
    job = first["job_id"]
    for number in (2, 3):
        again = cli("restart", job)
        assert (again["type"], again["job_id"], again["attempt"]) == ("restart", job, number)
        assert (again["state"], again["exit_code"], again["stdout"]) == ("exited", 3, f"out {number}\n")
    for number in (1, 2, 3):
        assert cli("tail", job, "--attempt", number)["stdout"] == f"out {number}\n"
    assert cli("tail", job)["stdout"] == cli("wait", job)["stdout"] == "out 3\n"
    status = cli("status", job)
    assert (status["attempt"], status["tags"]) == (3, ["a"])
    assert [(one["attempt"], one["state"], one["exit_code"]) for one in status["attempts"]] == [
        (1, "exited", 3),
        (2, "exited", 3),
        (3, "exited", 3),
    ]
    assert [one["attempt"] for one in cli("list")["jobs"]] == [3]
    refused = cli("tail", job, "--attempt", 4)
    assert (refused.code, refused["error"]["code"]) == (1, "invalid_argument")


def test_a_job_that_was_never_restarted_says_so_in_status_alone(cli: Cli) -> None:
    answer = cli("run", "--", "true")
    assert "attempt" not in answer
    status = cli("status", answer["job_id"])
    assert (status["attempt"], len(status["attempts"])) == (1, 1)
    assert not (cli.folder(answer["job_id"]) / "attempts").exists()


def test_a_running_job_is_ended_before_it_runs_again(cli: Cli, tmp_path: Path) -> None:
    job = cli("run", "--no-wait", "--", "sh", "-c", 'echo $$ >> "$0"; exec sleep 600', tmp_path / "pids")[
        "job_id"
    ]
    wait_until((tmp_path / "pids").exists)
    former = cli("status", job)["pid"]
    again = cli("restart", job, "--no-wait")
    assert (again["state"], again["attempt"]) == ("running", 2)
    assert not exists(former)
    status = cli("status", job)
    assert [(one["state"], one.get("reason")) for one in status["attempts"]] == [
        ("killed", "killed"),
        ("running", None),
    ]
    assert cli("kill", job)["state"] == "killed"
    assert cli("ps", "--all")["jobs"] == []


def test_it_is_ended_by_the_signal_that_was_asked_for(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    job = cli(
        "run",
        "--no-wait",
        "--kill-after",
        "1m",
        "--",
        "sh",
        "-c",
        'trap "echo heard; exit 4" INT; echo ready; while :; do read _ < "$0"; done',
        gate.path,
    )["job_id"]
    wait_until(lambda: "ready" in cli("tail", job)["stdout"])
    assert cli("restart", job, "--no-wait", "--signal", "INT")["attempt"] == 2
    assert cli("tail", job, "--attempt", 1)["stdout"] == "ready\nheard\n"
    refused = cli("restart", job, "--signal", "NONSENSE")
    assert refused["error"]["code"] == "invalid_argument"
    assert cli("status", job)["attempt"] == 2


def test_a_cursor_of_one_attempt_is_none_of_another(cli: Cli) -> None:
    first = cli("run", "--", "echo", "one")
    job = first["job_id"]
    second = cli("restart", job)
    refused = cli("tail", job, "--cursor", first["cursor"])
    assert refused["error"]["code"] == "invalid_argument"
    assert "--attempt 1" in refused["error"]["message"]
    assert cli("tail", job, "--attempt", 1, "--cursor", first["cursor"])["stdout"] == ""
    assert cli("tail", job, "--cursor", second["cursor"])["stdout"] == ""
    assert (
        cli("tail", job, "--attempt", 1, "--cursor", second["cursor"])["error"]["code"] == "invalid_argument"
    )
    for bad in (f"{second['cursor']}-1", f"{first['cursor'].rpartition('-')[0]}"):
        assert cli("tail", job, "--cursor", bad)["error"]["code"] == "invalid_argument"


def test_a_job_whose_supervisor_was_lost_is_restarted(cli: Cli) -> None:
    job = cli("run", "--no-wait", "--", "sleep", "600")["job_id"]
    former = cli("status", job)["pid"]
    lose_supervisor(cli, job)
    assert cli("status", job)["supervisor"] == "lost"
    again = cli("restart", job, "--no-wait")
    assert (again["state"], again["attempt"]) == ("running", 2)
    assert not exists(former)
    assert [one["state"] for one in cli("status", job)["attempts"]] == ["failed", "running"]


def test_values_of_variables_must_be_given_again(cli: Cli) -> None:
    job = cli("run", "--env", "TOKEN=s3cret", "--env", "B=2", "--", "sh", "-c", "echo $TOKEN $B")["job_id"]
    refused = cli("restart", job, "--env", "B=3")
    assert (refused["error"]["code"], refused["error"]["details"]["variables"]) == (
        "invalid_argument",
        ["TOKEN"],
    )
    assert "--env" in refused["error"]["message"]
    assert cli("status", job)["attempt"] == 1
    again = cli("restart", job, "--env", "B=3", "--env", "TOKEN", env={"TOKEN": "other"})
    assert again["stdout"] == "other 3\n"
    for path in cli.folder(job).rglob("*"):
        if path.is_file() and path.name != "stdout.log":
            assert b"s3cret" not in path.read_bytes(), path


def test_a_running_job_that_cannot_be_restarted_goes_on(cli: Cli) -> None:
    job = cli("run", "--no-wait", "--env", "A=1", "--", "sleep", "600")["job_id"]
    pid = cli("status", job)["pid"]
    assert not cli("restart", job)["ok"]
    rules = cli.root.with_name("rules.toml")
    rules.write_text('[[rule]]\nprefix = ["sleep"]\nverdict = "deny"\n')
    refused = cli("restart", job, "--env", "A=1", "--rules", rules)
    assert refused["error"]["code"] == "command_denied", refused
    status = cli("status", job)
    assert (status["state"], status["pid"], status["attempt"]) == ("running", pid, 1)


def test_variables_are_those_of_the_caller_of_the_restart(cli: Cli) -> None:
    job = cli("run", "--", "sh", "-c", 'echo "$SEEN"', env={"SEEN": "one"})["job_id"]
    assert cli("restart", job, env={"SEEN": "two"})["stdout"] == "two\n"
    bare = cli("run", "--no-inherit-env", "--", "/usr/bin/env", env={"SEEN": "one"})["job_id"]
    assert "SEEN" not in cli("restart", bare, env={"SEEN": "two"})["stdout"]


def test_input_must_be_given_again(cli: Cli) -> None:
    job = cli("run", "--stdin", "one", "--", "cat")["job_id"]
    assert "--stdin" in cli("restart", job)["error"]["message"]
    assert cli("restart", job, "--stdin", "two")["stdout"] == "two"


def test_twenty_restarts_at_once_never_run_two_commands(cli: Cli, tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    job = cli(
        "run",
        "--no-wait",
        "--kill-after",
        "1m",
        "--",
        "sh",
        "-c",
        'trap "rmdir \'$0\'; exit 0" TERM; mkdir "$0" || echo TWICE; while :; do sleep 0.01; done',
        lock,
    )["job_id"]
    wait_until(lock.is_dir)
    answers = at_once([lambda: cli("restart", job, "--no-wait")] * 20, width=8)
    assert sorted(answer["attempt"] for answer in answers) == list(range(2, 22))
    cli("kill", job)
    status = cli("status", job)
    assert status["attempt"] == 21
    for one in status["attempts"]:
        assert "TWICE" not in cli("tail", job, "--attempt", one["attempt"])["stdout"]
        assert one["state"] in ("killed", "exited")


def test_delete_and_gc_take_all_attempts(cli: Cli) -> None:
    job = cli("run", "--", "echo", "x")["job_id"]
    cli("restart", job)
    (cli.folder(job) / "attempts" / "2" / "stdout.log").write_bytes(b"x" * 50_000)
    assert cli("gc", "--max-bytes", 40_000, "--dry-run")["freed_bytes"] > 50_000
    cli("delete", job)
    assert not cli.folder(job).exists()


def test_an_attempt_that_never_began_leaves_the_job_as_it_was(cli: Cli) -> None:
    job = cli("run", "--", "echo", "x")["job_id"]
    debris = cli.folder(job) / "attempts" / "2"
    debris.mkdir(parents=True)
    (debris / "stdout.log").write_text("nothing")
    (debris / "record.jsonl").touch()
    status = cli("status", job)
    assert (status["state"], status["attempt"]) == ("exited", 1)
    again = cli("restart", job)
    assert (again["attempt"], again["stdout"]) == (2, "x\n")


@pytest.mark.parametrize("after", [0, 1, 3, 10, 30])
def test_the_supervisor_is_killed_at_any_moment_of_a_restart(cli: Cli, after: int, tmp_path: Path) -> None:
    """The process that asks, and all below it, die after so many milliseconds."""
    job = cli("run", "--", "sh", "-c", 'echo run >> "$0"', tmp_path / "runs")["job_id"]
    for _ in range(4):
        caller = popen(cli, "restart", job, "--no-wait", start_new_session=True)
        try:
            caller.wait(0.02 + after / 1000)
        except subprocess.TimeoutExpired:
            os.killpg(caller.pid, signal.SIGKILL)
        caller.communicate()
        found = Store(str(cli.root)).find(job)
        if found.supervisor == "alive":
            try:
                os.kill(found.facts["supervisor_pid"], signal.SIGKILL)
            except ProcessLookupError:
                pass
        # The supervisor of a caller that is gone may still be on its way: it begins late, or not at all.
        status = cli("status", job)
        while status["state"] not in ("exited", "failed"):
            wait_until(lambda: Store(str(cli.root)).find(job).ended)
            status = cli("status", job)
        assert status["attempts"][-1]["attempt"] == status["attempt"]
    assert cli("restart", job)["state"] == "exited"
    assert cli("status", job)["state"] == "exited"


def test_old_attempts_go_and_the_first_one_stays(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    job = cli("run", "--", "echo", "x")["job_id"]
    folder = str(cli.folder(job))
    wait_until(lambda: not is_locked(f"{folder}/lock"))  # from then on the record is ours to write
    first = Store(str(cli.root)).find(job).facts
    monkeypatch.setattr(attempts, "_LONGEST_RECORD", 2000)
    for number in range(2, 101):
        home = attempts.make(folder, number)
        Path(home, "record.jsonl").write_text(json.dumps(first | {"attempt": number}) + "\n")
        attempts.commit(folder, number)
        found = read(job, folder)
        assert isinstance(found, Record)
        assert found.attempt == number
    assert Path(folder, "record.jsonl").stat().st_size < 4000
    kept = [one["attempt"] for one in cli("status", job)["attempts"]]
    assert kept == [1, *range(81, 101)]
    assert cli("tail", job, "--attempt", 1)["stdout"] == "x\n"
    assert sorted(int(name) for name in os.listdir(Path(folder, "attempts"))) == list(range(81, 101))
    assert cli("restart", job)["attempt"] == 101


def test_a_restart_that_finds_no_room_leaves_the_job_as_it_was(cli: Cli) -> None:
    job = cli("run", "--", "echo", "x")["job_id"]
    (cli.folder(job) / "attempts").write_text("in the way")
    refused = cli("restart", job)
    assert (refused.code, refused["error"]["code"]) == (1, "store_failed")
    status = cli("status", job)
    assert (status["state"], status["attempt"]) == ("exited", 1)
    assert cli("ps", "--all")["jobs"] == []
    assert not (cli.root / ".live" / job).exists()


def test_a_damaged_record_of_an_attempt_is_said(cli: Cli) -> None:
    job = cli("run", "--", "echo", "one")["job_id"]
    cli("restart", job)
    (cli.folder(job) / "attempts" / "2" / "record.jsonl").write_bytes(b"?")
    status = cli("status", job)
    assert (status["state"], status["reason"]) == ("failed", "record_damaged")
    assert cli("delete", job)["deleted"] == 1


def test_python_restarts_a_job(tmp_path: Path) -> None:
    jobs = open_jobs(str(tmp_path / "jobs"), rules=None)
    job = jobs.run(["sh", "-c", 'cat; echo "$A"'], env={"A": "1"}, stdin=b"in ")["job_id"]
    with pytest.raises(InvalidArgument, match="give A again"):
        jobs.restart(job, stdin=b"in ")
    with pytest.raises(InvalidArgument, match="input is not kept"):
        jobs.restart(job, env={"A": "2"})
    again = jobs.restart(job, env={"A": "2"}, stdin=b"more ")
    assert (again["type"], again["stdout"], again["attempt"]) == ("restart", "more 2\n", 2)
    assert jobs.tail(job, attempt=1)["stdout"] == "in 1\n"


def test_a_sandboxed_job_keeps_its_profile(cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    job = cli("run", "--sandbox", "workspace-write", "--", "sh", "-c", 'touch "$0" inside', outside)
    again = cli("restart", job["job_id"])
    assert again["sandbox"]["profile"] == "workspace-write"
    assert again["sandbox"]["policy"] == job["sandbox"]["policy"]
    assert (cli.cwd / "inside").exists()
    assert not outside.exists()


def test_a_waiter_sees_the_next_attempt_through(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    job = cli("run", "--no-wait", "--", *gate.job())["job_id"]
    cli("restart", job, "--no-wait")
    waiter = popen(cli, "wait", job, "--forever")
    gate.open()
    out, _ = waiter.communicate()
    assert json.loads(out)["stdout"] == "before\nafter\n"
    assert json.loads(out)["attempt"] == 2


def test_lost_between_attempts_is_not_mistaken_for_running(cli: Cli) -> None:
    job = cli("run", "--no-wait", "--", "sleep", "600")["job_id"]
    cli("restart", job, "--no-wait")
    kill_and_wait(supervisor_of(cli, job))
    assert cli("status", job)["supervisor"] == "lost"
    cli("kill", job)
    status = cli("status", job)
    assert [(one["state"], one.get("reason")) for one in status["attempts"]] == [
        ("killed", "killed"),
        ("failed", "supervisor_lost"),
    ]


def test_what_a_former_attempt_has_left_can_still_be_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is frozen is never collected: a supervisor of many attempts would grow with each."""
    frozen: list[int] = []
    enabled = gc.isenabled()
    supervisor = Supervisor.__new__(Supervisor)
    supervisor.id = "nobody"
    monkeypatch.setattr("agent_exec.host.hide_arguments", lambda _title: None, raising=False)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(1))
    gc.disable()
    try:
        supervisor._settle()
        assert gc.isenabled()
        supervisor._settle()
    finally:
        (gc.enable if enabled else gc.disable)()
    assert frozen == [1]
