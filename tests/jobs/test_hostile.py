"""Damaged stores, strange surroundings and commands that fight back: every verb answers, and says what is true."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli import Cli, check
from jobs.seen import popen, supervisor_of
from support import exists, wait_until

DAMAGED = {
    "nothing": b"",
    "no JSON": b"hello\n",
    "half a line": b'{"command":["x"]',
    "a list": b"[1]\n",
    "few facts": b'{"command":[],"pid":5}\n',
    "wrong kinds": b'{"command":["x"],"cwd":5,"tags":null,"kill_after_ms":"no"}\n',
    "a pid of words": b'{"command":["x"],"cwd":"/","tags":[],"kill_after_ms":1,"pid":"x","start":1,"boot":""}\n',
    "deep": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "NULs": bytes(5000),
    "no UTF-8": b"\xff\xfe\n",
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_record_is_skipped_and_stops_nobody(cli: Cli, what: str) -> None:
    good = cli("run", "--", "true")["job_id"]
    bad = cli("run", "--", "true")["job_id"]
    (cli.folder(bad) / "record.jsonl").write_bytes(DAMAGED[what])
    listed = cli("list", "--all", "--tag", "any.*")
    assert (listed["ok"], listed["jobs"]) == (True, [])
    listed = cli("list", "--all")
    assert ([job["job_id"] for job in listed["jobs"]], listed["skipped"]) == ([good], 1)
    assert cli("status", bad)["error"]["code"] == "job_not_found"
    assert cli("gc")["ok"] is True
    assert cli("ps", "--all")["ok"] is True


@pytest.mark.parametrize("name", ["lock", "control", "stdout.log", "arrivals"])
@pytest.mark.parametrize("what", ["folder", "loop", "missing"])
def test_a_job_with_a_damaged_file_is_still_told_of(cli: Cli, name: str, what: str) -> None:
    job_id = cli("run", "--", "echo", "hello")["job_id"]
    file = cli.folder(job_id) / name
    file.unlink()
    if what == "folder":
        file.mkdir()
    elif what == "loop":
        file.symlink_to(name)
    for words in (
        ("status", job_id),
        ("tail", job_id),
        ("tail", job_id, "--merged"),
        ("list",),
        ("kill", job_id),
    ):
        assert cli(*words)["ok"] is True, words
    assert cli("delete", job_id)["deleted"] == 1
    assert not cli.folder(job_id).exists()


def test_a_store_that_is_a_link_to_nowhere_is_refused(cli: Cli) -> None:
    cli.root.symlink_to("/nonexistent/place")
    told = cli("run", "--", "true")
    assert (told["error"]["code"], told["error"]["retryable"]) == ("store_failed", False)
    cli.root.unlink()


def test_a_caller_that_ignores_the_end_of_children_gets_its_answer(cli: Cli) -> None:
    code = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    argv = [sys.executable, "-c", code, *cli.argv("run", "--wait", "--", "sh", "-c", "sleep 0.01; exit 3")]
    out = subprocess.run(argv, capture_output=True, env=cli.env, cwd=cli.cwd, check=True)
    assert check(out.stdout.decode())["exit_code"] == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_variables_from_a_pipe_are_awaited_and_given_up_at_an_interrupt(
    cli: Cli, tmp_path: Path, number: signal.Signals
) -> None:
    pipe = tmp_path / "variables"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    caller = popen(cli, "run", "--env-file", pipe, "--", "true")
    os.write(writer, b"A=1\n")
    wait_until(lambda: str(pipe) in links(caller.pid))
    caller.send_signal(number)
    told = check(caller.communicate()[0].decode())
    os.close(writer)
    assert told["error"]["code"] == "interrupted"
    assert cli("list")["jobs"] == []


def links(pid: int) -> set[str]:
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
    return found


def test_variables_from_a_pipe_are_read_to_its_end(cli: Cli) -> None:
    line = "\"$0\" run --env-file <(echo A=1; sleep 0.05; echo B=2) -- sh -c 'echo $A$B'"
    out = subprocess.run(
        ["bash", "-c", line, cli.argv()[0]], capture_output=True, env=cli.env, cwd=cli.cwd, check=True
    )
    assert check(out.stdout.decode())["stdout"] == "12\n"


def test_secrets_are_hidden_while_input_is_awaited(cli: Cli) -> None:
    reader, writer = os.pipe()
    caller = popen(cli, "run", "--env", "TOKEN=hunter2", "--stdin", "-", "--", "cat", stdin=reader)
    os.close(reader)
    os.write(writer, b"x")
    wait_until(lambda: b"hunter2" not in Path(f"/proc/{caller.pid}/cmdline").read_bytes())
    os.close(writer)
    assert check(caller.communicate()[0].decode())["stdout"] == "x"


@pytest.mark.parametrize(
    "words",
    [
        ("kill", "JOB", "--signal", "9" * 5000),
        ("kill", "JOB", "--signal", "SIGRTMIN+" + "9" * 5000),
        ("tail", "JOB", "--cursor", "x" * 5000),
        ("tail", "JOB", "--cursor", "CURSOR" + "f" * 5000 + "-0"),
    ],
)
def test_numbers_beyond_all_bounds_are_refused(cli: Cli, words: tuple[str, ...]) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    told = cli(*(word.replace("JOB", job_id).replace("CURSOR", f"{job_id[-10:]}-") for word in words))
    assert told["error"]["code"] == "invalid_argument"


def test_a_value_of_the_environment_is_in_no_message(cli: Cli) -> None:
    told = cli("run", "--env", "PATH=/s3cr3t", "--", "nosuch")
    assert told["error"]["code"] == "command_not_found"
    assert "s3cr3t" not in json.dumps({**told, "env_vars": []})
    assert "s3cr3t" not in (cli.folder(told["job_id"]) / "record.jsonl").read_text()


def test_a_job_that_stops_its_supervisor_again_and_again_is_ended(cli: Cli) -> None:
    line = "while [ ! -e go ]; do sleep 0.01; done; p=$PPID; grep -q ^agent-exec /proc/$p/comm || exit; echo up; while :; do kill -STOP $p; done"
    told = cli("run", "--no-wait", "--kill-after", 0, "--", "sh", "-c", line)
    supervisor = supervisor_of(cli, told["job_id"])
    (cli.cwd / "go").touch()
    wait_until(lambda: Path(f"/proc/{supervisor}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    assert cli("kill", told["job_id"], "--signal", "KILL")["state"] == "killed"
    wait_until(lambda: not exists(supervisor))
