"""wait: for the end of a job, and the end of its output."""

import signal
import subprocess

import pytest

from apps.talker import talker
from cli import Cli, check
from support import wait_until


def test_wait_for_a_job_that_has_ended(cli: Cli) -> None:
    job_id = cli("run", "--", "sh", "-c", "seq 60; echo error >&2; exit 4")["job_id"]
    answer = cli("wait", job_id)
    assert (answer["type"], answer["state"], answer["exit_code"]) == ("wait", "exited", 4)
    assert answer["stdout_tail"].splitlines() == [str(number) for number in range(11, 61)]
    assert (answer["stderr_tail"], answer["stderr"], answer["truncated"]) == ("error", "error\n", True)
    assert answer["stdout_range"] == [21, 171]
    assert answer["updated_at"] == answer["finished_at"]
    assert answer["output_complete"] is True
    assert answer.code == 0


@pytest.mark.parametrize(
    "words", [[], ["--until", "1h"], ["--forever"], ["--timeout-ms", "0"], ["--timeout-ms", "60000"]]
)
def test_wait_ends_with_the_job(cli: Cli, words: list[str]) -> None:
    with talker(cli) as job:
        job.out(b"first output is not the end\n")
        call = subprocess.Popen(
            cli.argv("wait", job.id, *words), stdout=subprocess.PIPE, env=cli.env, cwd=cli.cwd
        )
        job.out(b"neither is the second\n")
        assert call.poll() is None
        job.end(5)
        out, _ = call.communicate()
    answer = check(out.decode())
    assert (answer["state"], answer["exit_code"]) == ("exited", 5)
    assert answer["stdout_tail"].endswith("the second")


@pytest.mark.parametrize("words", [["--until", "0.05"], ["--until", "50ms"], ["--timeout-ms", "50"]])
def test_wait_ends_when_its_time_is_over_and_does_not_touch_the_job(cli: Cli, words: list[str]) -> None:
    job_id = cli.start("sleep", "60")
    answer = cli("wait", job_id, *words)
    assert (answer["ok"], answer["state"], answer.code) == (True, "running", 0)
    assert "exit_code" not in answer
    assert answer["waited_ms"] >= 50
    assert cli("status", job_id)["state"] == "running"


def test_the_old_names_of_the_pace_are_accepted(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    assert cli("wait", job_id, "--poll-ms", 10)["state"] == "exited"
    assert cli("wait", job_id, "--poll", "1s")["state"] == "exited"


def test_several_may_wait_for_one_job(cli: Cli) -> None:
    with talker(cli) as job:
        calls = [
            subprocess.Popen(
                cli.argv("wait", job.id, "--forever"), stdout=subprocess.PIPE, env=cli.env, cwd=cli.cwd
            )
            for _ in range(3)
        ]
        job.out(b"x")
        job.end(2)
        codes = [check(call.communicate()[0].decode())["exit_code"] for call in calls]
    assert codes == [2, 2, 2]


def test_wait_shows_as_much_as_asked(cli: Cli) -> None:
    job_id = cli("run", "--", "seq", 9)["job_id"]
    assert cli("wait", job_id, "--tail-lines", 2)["stdout_tail"] == "8\n9"
    assert cli("wait", job_id, "--max-bytes", 3)["stdout"] == "\n9\n"


@pytest.mark.parametrize(("code", "status"), [("exit 6", 6), ("kill -INT $$", 130), ("sleep 60", 124)])
def test_wait_exits_as_the_job_did_if_asked(cli: Cli, code: str, status: int) -> None:
    job_id = cli.start("sh", "-c", code)
    assert cli("wait", job_id, "--exit-code", "--until", "0.5" if status == 124 else "60").code == status


def test_wait_for_a_job_that_was_killed(cli: Cli) -> None:
    job_id = cli.start("sleep", "60")
    cli("kill", job_id)
    answer = cli("wait", job_id)
    assert (answer["state"], answer["signal"], answer["signal_number"]) == ("killed", "SIGTERM", 15)
    assert (answer["exit_code"], answer["reason"]) == (None, "killed")


def test_a_wait_that_is_interrupted_answers_and_leaves_the_job(cli: Cli) -> None:
    job_id = cli.start("sleep", "60")
    call = subprocess.Popen(
        cli.argv("wait", job_id, "--forever"), stdout=subprocess.PIPE, env=cli.env, cwd=cli.cwd
    )
    watched = f"{cli.folder(job_id)}/control"

    def watches() -> bool:
        out = subprocess.run(
            ["ls", "-l", f"/proc/{call.pid}/fd"], capture_output=True, text=True, check=False
        )
        return watched in out.stdout

    wait_until(watches)
    call.send_signal(signal.SIGTERM)
    out, _ = call.communicate()
    answer = check(out.decode())
    assert (answer["state"], answer["interrupted"], call.returncode) == ("running", True, 0)
    assert cli("status", job_id)["state"] == "running"
