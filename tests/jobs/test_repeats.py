"""Commands that are run again: retries, restarts, runs every so often."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.repeating import repeats
from agent_exec.jobs import open_jobs
from agent_exec.jobs.duties.again import failures
from agent_exec.model.errors import InvalidArgument
from cli import Cli
from jobs.seen import kill_and_wait, supervisor_of
from support import wait_until


def fails(times: int) -> str:
    """Return a line that fails so many times, and then succeeds; it counts its runs in the file $0."""
    return f'echo run >> "$0"; n=$(wc -l < "$0"); echo out $n; [ $n -gt {times} ] || exit 3'


def ends(cli: Cli, job: str) -> list[tuple[str, Any]]:
    return [(one["state"], one.get("exit_code")) for one in cli("status", job)["attempts"]]


def test_a_job_is_retried_until_it_succeeds(cli: Cli, tmp_path: Path) -> None:
    answer = cli("run", "--retry", "5,backoff=10ms", "--wait", "--", "sh", "-c", fails(2), tmp_path / "runs")
    assert (answer["state"], answer["exit_code"], answer["attempt"]) == ("exited", 0, 3)
    assert answer["stdout"] == "out 3\n"
    job = answer["job_id"]
    assert ends(cli, job) == [("exited", 3), ("exited", 3), ("exited", 0)]
    assert [cli("tail", job, "--attempt", n)["stdout"] for n in (1, 2)] == ["out 1\n", "out 2\n"]
    status = cli("status", job)
    assert status["repeats"]["kind"] == "retry"
    assert "retrying" not in status
    assert "next_attempt_at" not in status


def test_a_job_is_retried_so_many_times(cli: Cli, tmp_path: Path) -> None:
    answer = cli("run", "--retry", "2,backoff=10ms", "--wait", "--", "sh", "-c", fails(9), tmp_path / "runs")
    assert (answer["state"], answer["exit_code"], answer["attempt"]) == ("exited", 3, 3)


@pytest.mark.parametrize(
    ("on", "code", "count"),
    [
        ("timeout", "exit 3", 1),
        ("exit", "exit 3", 2),
        ("exit", "kill -USR1 $$", 1),
        ("signal", "kill -USR1 $$", 2),
    ],
)
def test_only_what_was_named_is_retried(cli: Cli, on: str, code: str, count: int) -> None:
    answer = cli("run", "--retry", f"1,backoff=10ms,on={on}", "--wait", "--", "sh", "-c", code)
    assert answer.get("attempt", 1) == count


def test_each_attempt_has_the_whole_time_and_all_of_the_input(cli: Cli) -> None:
    answer = cli(
        "run",
        "--retry",
        "1,backoff=10ms",
        "--timeout",
        "100ms",
        "--stdin",
        "in\n",
        "--wait",
        "--",
        "sh",
        "-c",
        "cat; sleep 60",
    )
    assert (answer["reason"], answer["attempt"], answer["stdout"]) == ("timeout", 2, "in\n")


def test_a_command_that_does_not_exist_is_not_tried_again(cli: Cli) -> None:
    answer = cli("run", "--restart", "always,backoff=10ms", "--wait", "--", "no-such-program")
    assert answer["error"]["code"] == "command_not_found"
    assert cli("status", answer["job_id"])["attempt"] == 1


def test_a_service_is_restarted_until_it_is_killed(cli: Cli) -> None:
    job = cli("run", "--restart", "always,backoff=10ms", "--no-wait", "--", "sh", "-c", "echo up")["job_id"]
    wait_until(lambda: cli("status", job)["attempt"] > 3)
    killed = cli("kill", job)
    assert killed["state"] == "killed"
    attempt = cli("status", job)["attempt"]
    assert cli("wait", job, "--forever")["attempt"] == attempt
    assert cli("ps", "--all")["jobs"] == []


def test_on_failure_leaves_a_success_alone(cli: Cli, tmp_path: Path) -> None:
    answer = cli(
        "run", "--restart", "on-failure,backoff=10ms", "--wait", "--", "sh", "-c", fails(1), tmp_path / "runs"
    )
    assert (answer["exit_code"], answer["attempt"]) == (0, 2)
    once = cli("run", "--restart", "no", "--wait", "--", "sh", "-c", "exit 3")
    assert "attempt" not in once


def waiting(cli: Cli) -> str:
    """Return the id of a job that waits for its second attempt."""
    job = cli("run", "--retry", "5,backoff=10m,max=10m", "--no-wait", "--", "sh", "-c", "echo one; exit 3")[
        "job_id"
    ]
    wait_until(lambda: cli("status", job).get("retrying"))
    return str(job)


def test_between_attempts_a_job_is_not_over(cli: Cli) -> None:
    job = waiting(cli)
    status = cli("status", job)
    assert (status["state"], status["supervisor"], status["attempt"]) == ("created", "alive", 1)
    assert status["next_attempt_at"] > status["created_at"]
    assert "exit_code" not in status
    assert cli("tail", job)["stdout"] == "one\n"
    waited = cli("wait", job, "--until", "20ms")
    assert (waited["state"], waited["stdout"]) == ("created", "one\n")
    assert cli("delete", job)["error"]["code"] == "invalid_state"
    assert cli("timeout", "set", job, "--in", "1s")["error"]["code"] == "invalid_state"
    killed = cli("kill", job)
    assert (killed["state"], killed["reason"]) == ("killed", "killed")
    ended = cli("status", job)
    assert (ended["state"], ended["exit_code"], ended["attempt"]) == ("killed", 3, 1)
    assert ends(cli, job) == [("exited", 3)]
    assert "next_attempt_at" not in ended


def test_a_supervisor_that_is_killed_between_attempts_leaves_a_lost_job(cli: Cli) -> None:
    job = waiting(cli)
    kill_and_wait(supervisor_of(cli, job))
    status = cli("status", job)
    assert (status["state"], status["reason"], status["exit_code"]) == ("failed", "supervisor_lost", None)
    assert cli("wait", job, "--forever")["state"] == "failed"
    assert cli("kill", job)["state"] == "failed"
    assert cli("restart", job, "--no-wait")["attempt"] == 2
    wait_until(lambda: cli("status", job).get("retrying"))
    assert ends(cli, job)[0] == ("exited", 3)
    cli("kill", job)


def test_a_supervisor_that_is_asked_to_end_ends_the_job(cli: Cli) -> None:
    job = waiting(cli)
    os.kill(supervisor_of(cli, job), signal.SIGTERM)
    wait_until(lambda: cli("status", job)["state"] == "killed")
    assert cli("status", job)["reason"] == "supervisor_terminated"


def test_tags_that_were_changed_stay_with_the_next_attempt(cli: Cli, tmp_path: Path) -> None:
    job = cli(
        "run",
        "--restart",
        "always,backoff=10ms",
        "--no-wait",
        "--",
        "sh",
        "-c",
        'while [ ! -e "$0" ]; do sleep 0.01; done',
        tmp_path / "go",
    )["job_id"]
    cli("tag", "add", job, "--tag", "later")
    (tmp_path / "go").touch()
    wait_until(lambda: cli("status", job)["attempt"] > 2)
    assert cli("status", job)["tags"] == ["later"]
    cli("kill", job)


def test_it_runs_every_so_often_and_says_what_it_missed(cli: Cli) -> None:
    quick = cli("run", "--every", "20ms,max=3", "--wait", "--", "true")
    assert quick["attempt"] == 3
    slow = cli("run", "--every", "20ms,max=2", "--wait", "--", "sleep", "0.1")
    assert slow["attempt"] == 2
    assert cli("status", slow["job_id"])["missed_runs"] >= 3


def test_attempts_run_one_at_a_time_and_leave_nothing(cli: Cli) -> None:
    job = cli("run", "--restart", "always,backoff=10ms", "--no-wait", "--", "sh", "-c", "sleep 600 & exit 1")[
        "job_id"
    ]
    wait_until(lambda: cli("status", job)["attempt"] > 2)
    cli("kill", job)
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and _is_of(int(pid), job)]


def _is_of(pid: int, job: str) -> bool:
    try:
        return f"AGENT_EXEC_JOB_ID={job}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def test_a_confined_job_is_retried_in_a_box_of_its_own(cli: Cli) -> None:
    answer = cli(
        "run",
        "--sandbox",
        "workspace-write",
        "--retry",
        "2,backoff=10ms",
        "--stdin",
        "in",
        "--wait",
        "--",
        "sh",
        "-c",
        "cat; exit 3",
    )
    assert (answer["exit_code"], answer["attempt"], answer["stdout"]) == (3, 3, "in")
    assert answer["sandbox"]["profile"] == "workspace-write"


def test_ports_and_the_merged_log_are_those_of_the_job(cli: Cli) -> None:
    words = ["--port", "auto", "--full-log", "--retry", "2,backoff=10ms", "--wait"]
    answer = cli("run", *words, "--", "sh", "-c", "echo port $PORT; exit 3")
    job = answer["job_id"]
    again = cli("restart", job, "--wait")
    assert [answer["attempt"], again["attempt"]] == [3, 6]
    assert len({cli("tail", job, "--attempt", n)["stdout"] for n in range(1, 7)}) == 1
    assert (cli.folder(job) / "full.log").read_text().count("[STDOUT] port ") == 6
    created = cli("create", "--port", "auto", "--env", "A=1", "--", "sh", "-c", "echo port $PORT")["job_id"]
    assert cli("start", created)["stdout"].startswith("port ")


def test_a_restarted_service_becomes_healthy_again(cli: Cli) -> None:
    words = ["--restart", "always,backoff=10ms", "--health", "true", "--health-every", "20ms", "--no-wait"]
    job = cli("run", *words, "--", "sleep", "600")["job_id"]
    for attempt in (1, 2):
        wait_until(lambda: cli("status", job).get("health") == "healthy")
        status = cli("status", job)
        assert status["attempt"] == attempt
        os.kill(status["pid"], signal.SIGKILL)
        wait_until(lambda: cli("status", job)["attempt"] == attempt + 1)  # noqa: B023
    cli("kill", job)


def test_a_job_that_was_stopped_for_silence_is_not_started_again(cli: Cli) -> None:
    words = ["--restart", "always,backoff=10ms", "--stop-after", "idle=50ms", "--wait"]
    answer = cli("run", *words, "--", "sleep", "600")
    assert (answer["reason"], "attempt" in answer) == ("idle", False)


def test_no_room_for_another_attempt_ends_the_job(cli: Cli, tmp_path: Path) -> None:
    job = cli(
        "run",
        "--retry",
        "5,backoff=10ms",
        "--no-wait",
        "--",
        "sh",
        "-c",
        'while [ ! -e "$0" ]; do sleep 0.01; done; exit 3',
        tmp_path / "go",
    )["job_id"]
    (cli.folder(job) / "attempts").write_text("in the way")
    (tmp_path / "go").touch()
    ended = cli("wait", job, "--forever")
    assert (ended["state"], ended["exit_code"]) == ("exited", 3)
    assert cli("status", job)["attempt"] == 1


def test_python_runs_again(tmp_path: Path) -> None:
    jobs = open_jobs(str(tmp_path / "jobs"), rules=None)
    answer = jobs.run(["sh", "-c", "exit 3"], retry="2,backoff=10ms", observe=None)
    assert (answer["exit_code"], answer["attempt"]) == (3, 3)
    with pytest.raises(InvalidArgument, match="leave out leftovers"):
        jobs.run(["true"], retry=1, leftovers="leave")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"retry": 3}, ("retry", 3, 1.0, 60.0)),
        ({"retry": "3,backoff=2s,max=1s"}, ("retry", 3, 2.0, 2.0)),
        ({"restart": "always,max=4,backoff=5"}, ("restart", 4, 5.0, 60.0)),
        ({"every": "15m"}, ("every", None, None, None)),
        ({"every": 2.5}, ("every", None, None, None)),
    ],
)
def test_what_is_asked_for(asked: dict[str, Any], found: tuple[Any, ...]) -> None:
    term = repeats(**asked)
    assert term is not None
    assert (term["kind"], term["most"], term.get("backoff"), term.get("longest")) == found


@pytest.mark.parametrize(
    "asked",
    [
        {"retry": ""},
        {"retry": "x"},
        {"retry": "-1"},
        {"retry": "3,backoff"},
        {"retry": "3,backoff=x"},
        {"retry": "3,speed=1s"},
        {"retry": "3,on=monday"},
        {"restart": "sometimes"},
        {"restart": "no,max=1"},
        {"restart": "always,max=x"},
        {"every": "0"},
        {"every": "1s,max=0"},
        {"every": "1s,backoff=2s"},
        {"retry": 1, "every": "1s"},
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], cli: Cli) -> None:
    with pytest.raises(InvalidArgument):
        repeats(**asked)
    words = [word for name, value in asked.items() for word in (f"--{name}", value)]
    assert cli.raw("run", *words, "--", "true").returncode == 2


def test_the_ways_of_failing() -> None:
    usual = {"state": "exited", "exit_code": 0, "signal": None, "timed_out": False}
    assert failures(usual) == set()
    assert failures({**usual, "exit_code": 1}) == {"exit"}
    assert failures({**usual, "state": "killed", "exit_code": None, "signal": "SIGKILL"}) == {"signal", "oom"}
    assert failures({**usual, "exit_code": 1, "sandbox": {"limits_hit": ["memory"]}}) == {"exit", "oom"}
    assert failures({**usual, "state": "killed", "timed_out": True}) == {"timeout"}


def test_a_supervisor_holds_no_file_of_attempts_that_are_over(cli: Cli) -> None:
    job = cli("run", "--every", "10ms", "--no-wait", "--", "sh", "-c", "echo out; echo err >&2")["job_id"]
    wait_until(lambda: cli("status", job)["attempt"] > 40, seconds=60)
    held = os.listdir(f"/proc/{supervisor_of(cli, job)}/fd")
    cli("kill", job)
    assert len(held) < 40
