"""status: all about a job but its output."""

import pytest

from agent_exec.jobs.record import moment, stamp
from apps.talker import talker
from cli import Cli
from support import exists


def test_status_of_a_running_job(cli: Cli) -> None:
    words = ("--tag", "a.b", "--env", "X=1", "--timeout", "1h", "--kill-after", "1s", "--leave")
    job_id = cli("run", "--no-wait", *words, "--max-log-bytes", 9000, "--", "sleep", "60")["job_id"]
    status = cli("status", job_id)
    assert (status["type"], status["state"], status["supervisor"]) == ("status", "running", "alive")
    assert (status["command"], status["cwd"]) == (["sleep", "60"], str(cli.cwd))
    assert (status["tags"], status["env_keys"]) == (["a.b"], ["X"])
    assert (status["timeout_ms"], status["kill_after_ms"]) == (3_600_000, 1000)
    assert (status["leftovers"], status["max_log_bytes"]) == ("leave", 9000)
    assert exists(status["pid"])
    assert exists(status["supervisor_pid"])
    assert status["created_at"] <= status["started_at"] <= status["updated_at"]
    assert status["stdout_log_path"] == str(cli.folder(job_id) / "stdout.log")
    assert "exit_code" not in status


def test_status_of_a_job_that_has_ended(cli: Cli) -> None:
    job_id = cli("run", "--", "sh", "-c", "echo out; echo error >&2; exit 9")["job_id"]
    status = cli("status", job_id)
    assert (status["state"], status["exit_code"], status["signal"]) == ("exited", 9, None)
    assert (status["stdout_total_bytes"], status["stderr_total_bytes"]) == (4, 6)
    assert status["created_at"] <= status["started_at"] <= status["finished_at"] == status["updated_at"]
    assert not exists(status["pid"])
    assert "supervisor" not in status
    assert status.code == 0
    assert dict(cli("status", job_id)) == dict(status)


def test_status_reports_the_bytes_so_far(cli: Cli) -> None:
    with talker(cli) as job:
        job.out(b"12345")
        assert cli("status", job.id)["stdout_total_bytes"] == 5
        job.err(b"1")
        assert cli("status", job.id)["stderr_total_bytes"] == 1


def test_status_of_a_command_that_never_ran(cli: Cli) -> None:
    status = cli("status", cli("run", "--", "no-such-program")["job_id"])
    assert (status["ok"], status["state"], status["reason"]) == (True, "failed", "spawn_failed")
    assert "started_at" not in status
    assert "pid" not in status
    assert (status["duration_ms"], status["output_complete"]) == (0, True)
    assert status["created_at"] <= status["finished_at"]


def test_output_that_was_taken_away_is_not_complete(cli: Cli) -> None:
    job_id = cli("run", "--", "echo", "kept")["job_id"]
    assert cli("status", job_id)["output_complete"] is True
    (cli.folder(job_id) / "stdout.log").unlink()
    status = cli("status", job_id)
    assert (status["output_complete"], status["stdout_dropped_bytes"]) == (False, 5)


def test_a_running_job_is_said_to_live_and_for_how_long(cli: Cli) -> None:
    job_id = cli.start("sleep", "60")
    first, second = cli("status", job_id), cli("status", job_id)
    assert (first["process_alive"], first["logs_drained"]) == (True, False)
    assert 0 <= first["elapsed_ms"] <= second["elapsed_ms"] < 60_000
    cli("kill", job_id)
    ended = cli("status", job_id)
    assert ended["logs_drained"]
    assert not {"process_alive", "elapsed_ms"} & ended.keys()


@pytest.mark.parametrize(
    "seconds", [0, 951782400, 951868800, 1709164800.25, 1709251199.999, 4102444800, 1793491200]
)
def test_a_moment_is_read_as_it_was_written(seconds: float) -> None:
    assert moment(stamp(seconds)) == pytest.approx(seconds, abs=0.0005)
