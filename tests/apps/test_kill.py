"""kill: ends the whole tree of a job, watches it end, and says what came of it."""

import os
import signal

import pytest

from apps.talker import pids_of, ready, talker
from cli import Cli
from support import child, exists, python, wait_until

HANDLER = """
import signal, sys
def leave(number, frame):
    print("asked", number, flush=True)
    sys.exit(int(sys.argv[1]))
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
    signal.signal(number, leave)
print("ready", flush=True)
while True:
    signal.pause()
"""
NOTED = """
import signal, time
signal.signal(signal.SIGUSR1, lambda *_: print("heard", flush=True))
print("ready", flush=True)
while True:
    time.sleep(60)
"""


def test_kill_asks_and_watches_the_job_end(cli: Cli) -> None:
    job_id = cli.start("sleep", "60")
    pid = cli("status", job_id)["pid"]
    answer = cli("kill", job_id)
    assert (answer["ok"], answer["type"], answer["job_id"], answer.code) == (True, "kill", job_id, 0)
    assert (answer["signal"], answer["signal_number"]) == ("SIGTERM", 15)
    assert (answer["state"], answer["reason"], answer["timed_out"]) == ("killed", "killed", False)
    assert (answer["exit_code"], answer["terminated_signal"]) == (None, "SIGTERM")
    assert answer["observed_within_ms"] >= 0
    assert not exists(pid)
    status = cli("status", job_id)
    assert (status["state"], status["signal"], status["finished_at"]) == (
        "killed",
        "SIGTERM",
        answer["finished_at"],
    )


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("TERM", "SIGTERM"),
        ("SIGTERM", "SIGTERM"),
        ("term", "SIGTERM"),
        ("15", "SIGTERM"),
        ("INT", "SIGINT"),
        ("2", "SIGINT"),
        ("KILL", "SIGKILL"),
        ("SIGKILL", "SIGKILL"),
        ("9", "SIGKILL"),
        ("HUP", "SIGHUP"),
        ("sighup", "SIGHUP"),
        ("QUIT", "SIGQUIT"),
        ("USR1", "SIGUSR1"),
        ("12", "SIGUSR2"),
        (str(signal.SIGRTMIN + 1), "SIGRTMIN+1"),
    ],
)
def test_signals_are_known_by_name_and_number(cli: Cli, asked: str, sent: str) -> None:
    job_id = cli.start("sleep", "60")
    answer = cli("kill", job_id, "--signal", asked)
    assert answer["signal"] == sent
    ended = cli("wait", job_id)
    assert (ended["state"], ended["signal"]) == ("killed", sent)


@pytest.mark.parametrize("name", ["NONSENSE", "", "0", "999", "-9", "SIG", "SIG_IGN", "TERM "])
def test_a_signal_that_is_none_is_refused_here(cli: Cli, name: str) -> None:
    job_id = cli.start("sleep", "60")
    answer = cli("kill", job_id, f"--signal={name}")
    assert (answer["error"]["code"], answer.code) == ("invalid_argument", 1)
    assert cli("status", job_id)["state"] == "running"


@pytest.mark.parametrize("kind", ["plain", "group", "session", "daemon"])
@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_kill_ends_the_whole_tree(cli: Cli, kind: str, name: str) -> None:
    job_id = cli.start(*child("tree", kind, 3))
    pids = pids_of(cli, job_id, 3)
    answer = cli("kill", job_id, "--signal", name)
    assert answer["state"] == "killed"
    assert not any(map(exists, pids))


def test_what_ignores_the_request_is_ended_by_force(cli: Cli) -> None:
    job_id = cli("run", "--no-wait", "--kill-after", "50ms", "--", *child("tree", "deaf", 2))["job_id"]
    pids = pids_of(cli, ready(cli, job_id), 2)
    answer = cli("kill", job_id)
    assert (answer["signal"], answer["terminated_signal"], answer["state"]) == (
        "SIGTERM",
        "SIGKILL",
        "killed",
    )
    assert not any(map(exists, pids))


def test_a_child_that_ignores_the_request_does_not_outlive_its_parent(cli: Cli) -> None:
    deaf = """sh -c 'trap "" TERM; echo $$; exec sleep 60'"""
    code = f"{deaf} & setsid {deaf} & exec sleep 60"
    job_id = cli("run", "--no-wait", "--kill-after", "50ms", "--", "sh", "-c", code)["job_id"]
    pids = pids_of(cli, job_id, 2)
    assert cli("kill", job_id)["state"] == "killed"
    assert not any(map(exists, pids))


@pytest.mark.parametrize("code", [0, 7])
def test_a_handler_may_choose_the_exit_code_of_a_killed_job(cli: Cli, code: int) -> None:
    job_id = ready(cli, cli.start(*python(HANDLER, code)))
    answer = cli("kill", job_id)
    assert (answer["state"], answer["exit_code"], answer["terminated_signal"]) == ("killed", code, None)
    status = cli("status", job_id)
    assert (status["state"], status["exit_code"], status["signal"]) == ("killed", code, None)
    assert (status["reason"], status["output_complete"]) == ("killed", True)
    assert cli("tail", job_id)["stdout_tail"] == "ready\nasked 15"


def test_the_signal_is_the_one_that_was_asked_for(cli: Cli) -> None:
    job_id = ready(cli, cli.start(*python(HANDLER, 0)))
    cli("kill", job_id, "--signal", "INT")
    assert cli("tail", job_id)["stdout_tail"] == "ready\nasked 2"


def test_a_signal_that_does_not_ask_to_end_is_only_delivered(cli: Cli) -> None:
    job_id = ready(cli, cli.start(*python(NOTED)))
    answer = cli("kill", job_id, "--signal", "USR1")
    assert (answer["state"], answer["signal"], answer["supervisor"]) == ("running", "SIGUSR1", "alive")
    wait_until(lambda: cli("tail", job_id)["stdout_tail"] == "ready\nheard")
    assert cli("status", job_id)["state"] == "running"


def test_a_job_can_be_stopped_continued_and_ended(cli: Cli) -> None:
    job_id = cli.start("sleep", "60")
    pid = cli("status", job_id)["pid"]

    def stopped() -> bool:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "T"

    cli("kill", job_id, "--signal", "STOP")
    wait_until(stopped)
    cli("kill", job_id, "--signal", "CONT")
    wait_until(lambda: not stopped())
    cli("kill", job_id, "--signal", "STOP")
    wait_until(stopped)
    assert cli("kill", job_id)["state"] == "killed"


def test_kill_of_a_job_that_has_ended_does_nothing(cli: Cli) -> None:
    job_id = cli("run", "--", "sh", "-c", "exit 3")["job_id"]
    answer = cli("kill", job_id, "--signal", "KILL")
    assert (answer["ok"], answer["state"], answer["exit_code"]) == (True, "exited", 3)
    assert (answer["signal"], answer["observed_within_ms"], answer.code) == ("SIGKILL", 0, 0)
    assert cli("status", job_id)["state"] == "exited"
    failed = cli("run", "--", "no-such-program")["job_id"]
    assert cli("kill", failed)["state"] == "failed"


def test_no_wait_does_not_watch(cli: Cli) -> None:
    job_id = ready(cli, cli.start(*python(HANDLER, 0)))
    os.kill(cli("status", job_id)["pid"], signal.SIGSTOP)
    answer = cli("kill", job_id, "--no-wait")
    assert (answer["ok"], answer["signal"]) == (True, "SIGTERM")
    assert cli("wait", job_id)["state"] == "killed"


def test_two_may_kill_one_job(cli: Cli) -> None:
    job_id = cli.start("sleep", "60")
    assert cli("kill", job_id)["state"] == cli("kill", job_id, "--signal", "KILL")["state"] == "killed"
    assert cli("status", job_id)["signal"] == "SIGTERM"


def test_kill_leaves_other_jobs_alone(cli: Cli) -> None:
    one, two = cli.start("sleep", "60"), cli.start("sleep", "60")
    cli("kill", one)
    assert cli("status", two)["state"] == "running"


def test_all_output_of_a_killed_job_is_kept(cli: Cli) -> None:
    with talker(cli) as job:
        job.out(b"before the end")
        cli("kill", job.id, "--signal", "KILL")
        answer = cli("tail", job.id)
    assert (answer["state"], answer["stdout"]) == ("killed", "before the end")
