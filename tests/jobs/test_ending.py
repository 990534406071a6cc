"""How jobs end: all of their processes, by whatever they do against it; and how watching them ends."""

import os
import pty
import random
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from cli import Cli, check
from jobs.seen import Gate, dead, on_terminal, only_job, pids_of_tree, popen, printed, supervisor_of
from support import child, exists, processes_marked, wait_until


@pytest.mark.parametrize("kind", ["plain", "group", "session", "daemon", "deaf"])
@pytest.mark.parametrize("how", ["TERM", "KILL", "timeout"])
def test_all_processes_of_a_job_end_with_it(cli: Cli, kind: str, how: str) -> None:
    limits = ["--timeout", "300ms"] if how == "timeout" else []
    words = [*limits, "--kill-after", "100ms", "--", *child("tree", kind, 4)]
    job_id = str(cli("run", "--no-wait", *words)["job_id"])
    if how == "timeout":
        out = cli("wait", job_id, "--forever")
        assert (out["state"], out["reason"], out["timed_out"]) == ("killed", "timeout", True)
        pids = [int(word) for word in printed(cli, job_id).split() if word.isdigit()]
    else:
        pids = pids_of_tree(cli, job_id, 4)
        out = cli("kill", job_id, "--signal", how)
        assert (out["state"], out["reason"], out["exit_code"]) == ("killed", "killed", None)
        wanted = "SIGKILL" if how == "KILL" or kind == "deaf" else "SIGTERM"
        assert out["terminated_signal"] == wanted
        assert len(pids) == 4
    assert dead([*pids, cli("status", job_id)["pid"]]), "when the answer comes, not later"


def test_a_job_that_ignores_every_signal_is_ended_by_force(cli: Cli) -> None:
    line = "trap '' TERM INT HUP QUIT USR1; echo up; while :; do sleep 0.01; done"
    job_id = str(cli("run", "--no-wait", "--kill-after", "50ms", "--", "sh", "-c", line)["job_id"])
    wait_until(lambda: printed(cli, job_id))
    out = cli("kill", job_id, "--signal", "INT")
    assert (out["state"], out["terminated_signal"]) == ("killed", "SIGKILL")


def test_a_stopped_job_is_ended(cli: Cli) -> None:
    job_id = cli.start("sh", "-c", "trap 'exit 9' TERM; echo up; kill -STOP $$; sleep 600")
    pid = int(cli("status", job_id)["pid"])
    wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    out = cli("kill", job_id)
    assert (out["state"], out["exit_code"]) == ("killed", 9), "it was let go on, and heard"


@pytest.mark.parametrize("name", ["USR1", "STOP"])
def test_a_signal_that_does_not_ask_to_end_is_only_delivered(cli: Cli, name: str) -> None:
    line = "trap 'echo got' USR1; echo up; while :; do sleep 0.01; done"
    if (
        name == "STOP"
    ):  # a shell is not seen to be stopped while it waits for a child that is, before its exec
        line = "echo up; exec sleep 600"
    job_id = cli.start("sh", "-c", line)
    pid = int(cli("status", job_id)["pid"])
    wait_until(lambda: printed(cli, job_id))
    out = cli("kill", job_id, "--signal", name)
    assert (out["state"], out["signal"]) == ("running", f"SIG{name}")
    if name == "USR1":
        wait_until(lambda: "got" in printed(cli, job_id))
    else:
        wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")


@pytest.mark.parametrize("program", ["spreader", "forker"])
def test_a_job_that_forks_faster_than_one_can_look_is_ended(
    cli: Cli, nothing_left: str, program: str
) -> None:
    """Bounded, should it win."""
    job_id = str(cli("run", "--no-wait", "--kill-after", "0", "--", *child(program, 3000))["job_id"])
    wait_until(lambda: printed(cli, job_id))
    out = cli("kill", job_id, "--signal", "KILL")
    assert out["state"] in ("killed", "exited"), out
    assert not [line for line in processes_marked(nothing_left).values() if program in line]


def test_a_fork_storm_is_ended(cli: Cli, nothing_left: str) -> None:
    """Each process forks two more, up to a bound on all of them that the storm sets itself."""
    storm = (
        "import os, signal, sys, time\n"
        "os.write(1, b'up\\n')\n"
        "for depth in range(9):\n"
        "    if os.fork() == 0:\n"
        "        if depth % 3 == 0: os.setsid()\n"
        "        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "while True: time.sleep(3600)\n"
    )
    job_id = cli.start(*child("daemon")[:2], "-c", storm)
    wait_until(lambda: len(processes_marked(nothing_left)) > 60)
    assert cli("kill", job_id, "--signal", "KILL")["state"] == "killed"
    assert not [
        line for line in processes_marked(nothing_left).values() if "storm" in line or "setsid" in line
    ]


@pytest.mark.parametrize("leave", [False, True])
def test_what_a_job_leaves_behind(cli: Cli, tmp_path: Path, leave: bool) -> None:
    """Ended with it, unless it is to be left; and that it was there is said either way."""
    gate = Gate(tmp_path / "gate")
    line = '(read _ < "$0"; echo later; echo error >&2; exec sleep 600) & echo $!'
    out = cli("run", "--wait", *(["--leave"] if leave else []), "--", "sh", "-c", line, gate.path)
    job_id = str(out["job_id"])
    left = int(out["stdout"])
    assert (out["state"], out["exit_code"], out["leaked"]) == ("exited", 0, True)
    assert exists(left) is leave
    found = cli("status", job_id)
    assert (found["state"], found["leaked"], found["output_complete"]) == ("exited", True, not leave)
    supervisor = found["supervisor_pid"]
    if leave:
        gate.open()
        wait_until(lambda: cli("tail", job_id)["stderr"] == "error\n")
        shown = cli("tail", job_id, "--cursor", out["cursor"])
        assert shown["stdout"] == "later\n", "its later output is kept"
        assert exists(supervisor)
        out = cli("kill", job_id)
        assert (out["state"], out["exit_code"]) == ("exited", 0)
        assert not exists(left)
    wait_until(lambda: not exists(supervisor))
    assert cli("delete", job_id)["deleted"] == 1


def test_what_was_left_is_ended_by_its_supervisor_s_end_and_not_by_just_any_signal(cli: Cli) -> None:
    out = cli("run", "--wait", "--leave", "--", "sh", "-c", "sleep 600 & echo $!")
    left = int(out["stdout"])
    supervisor = supervisor_of(cli, out["job_id"])
    assert cli("kill", out["job_id"], "--signal", "WINCH")["state"] == "exited"
    assert cli("kill", out["job_id"], "--signal", "CONT")["state"] == "exited"
    assert exists(left)
    assert exists(supervisor)
    os.kill(supervisor, signal.SIGTERM)
    wait_until(lambda: not exists(supervisor))
    assert not exists(left)


def test_what_is_left_of_a_job_that_is_taken_away_is_not_blocked(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    line = '(read _ < "$0"; head -c 3000000 /dev/zero; echo done > "$1") & echo $!'
    out = cli("run", "--wait", "--leave", "--", "sh", "-c", line, gate.path, tmp_path / "note")
    left = int(out["stdout"])
    assert cli("delete", out["job_id"])["deleted"] == 1
    gate.open()
    wait_until((tmp_path / "note").exists)
    wait_until(lambda: not exists(left))
    assert os.listdir(cli.root / ".live") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("verb", ["run", "wait"])
def test_an_interrupted_look_prints_its_answer_and_leaves_the_job_alone(
    cli: Cli, tmp_path: Path, number: signal.Signals, verb: str
) -> None:
    gate = Gate(tmp_path / "gate")
    if verb == "run":
        looker = popen(cli, "run", "--wait", "--", *gate.job())
        job_id = only_job(cli)
    else:
        job_id = cli.start(*gate.job())
        looker = popen(cli, "wait", job_id, "--forever")
    wait_until(lambda: _catches(looker.pid, number) and printed(cli, job_id))
    os.kill(looker.pid, number)
    told = check(looker.communicate()[0].decode())
    assert looker.returncode == 0
    assert (told["ok"], told["job_id"], told["state"]) == (True, job_id, "running")
    assert told["interrupted"] is True
    assert told["stdout"] == "before\n"
    assert cli("status", job_id)["supervisor"] == "alive"
    gate.open()
    assert cli("wait", job_id)["exit_code"] == 7


def _catches(pid: int, number: signal.Signals) -> bool:
    """True if a process has a handler for a signal, and sleeps."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    caught = next(int(line.split()[1], 16) for line in lines if line.startswith("SigCgt"))
    asleep = any(line.startswith("State:\tS") for line in lines)
    return asleep and bool(caught >> (number - 1) & 1)


def test_ctrl_c_in_a_terminal_leaves_the_job_running_and_prints_the_answer(cli: Cli, tmp_path: Path) -> None:
    """It goes to all of the foreground group; a person sees what became of the job."""
    gate = Gate(tmp_path / "gate")
    master, slave = pty.openpty()
    try:
        looker = on_terminal(cli, slave, cli.argv("run", "--wait", "--", *gate.job()))
        os.close(slave)
        job_id = only_job(cli)
        wait_until(lambda: _catches(looker.pid, signal.SIGINT) and printed(cli, job_id))
        os.write(master, b"\x03")
        assert looker.wait() == 0
        said = b""
        while not said.endswith(b"\n"):
            said += os.read(master, 65536)
        told = check(said.decode().removeprefix("^C").replace("\r\n", "\n"))
        assert (told["state"], told["interrupted"], told["job_id"]) == ("running", True, job_id)
    finally:
        os.close(master)
    gate.open()
    assert cli("wait", job_id)["exit_code"] == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_while_our_own_input_is_awaited_starts_nothing(cli: Cli, number: signal.Signals) -> None:
    """The input never ends; whoever asked for it may still change its mind."""
    reader, writer = os.pipe()
    try:
        looker = popen(cli, "run", "--stdin", "-", "--", "cat", stdin=reader)
        wait_until(lambda: _catches(looker.pid, signal.SIGINT))
        os.kill(looker.pid, number)
        wait_until(lambda: looker.poll() is not None)
        looker.communicate()
        assert looker.returncode != 0
        assert cli("list", "--all")["jobs"] == []
    finally:
        os.close(writer)
        os.close(reader)


def _heard(looker: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    """Send a signal to all of a process group; say whether its leader has ended within a while."""
    os.killpg(looker.pid, number)
    return wait_until(lambda: looker.poll() is not None, seconds=3, fail=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_at_any_moment_gives_one_answer_at_most(cli: Cli, number: signal.Signals) -> None:
    """Sent to all of a process group, as a terminal does, while copies of the caller are being forked."""
    chance = random.Random(number)
    answered = 0
    began = time.monotonic()
    cli("run", "--no-wait", "--", "sleep", "600")
    window = max(0.06, 1.5 * (time.monotonic() - began))  # a busy machine takes longer for a start
    for _ in range(20):
        looker = popen(cli, "run", "--wait", "--", "sleep", "600", start_new_session=True)
        time.sleep(chance.random() * window)
        # Again, if need be: Python may lose the exception of a signal that comes while it starts.
        wait_until(partial(_heard, looker, number))
        out, _ = looker.communicate()
        if out:
            told = check(out.decode())
            assert told.get("interrupted") or told["error"]["code"] == "interrupted", told
            answered += 1
        if number == signal.SIGINT and not out:
            assert looker.returncode != 0
    for job in cli("ps", "--all", "--limit", 0)["jobs"]:
        assert job["supervisor"] == "alive"
    assert answered, "some came late enough"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        ("missing", "command_not_found"),
        ("plain file", "command_not_executable"),
        ("folder", "command_not_executable"),
        ("bad interpreter", "command_not_executable"),
        ("garbage", "command_not_executable"),
        ("bad cwd", "workdir_not_found"),
    ],
)
def test_a_command_that_cannot_be_started_is_a_failed_job_that_says_why(
    cli: Cli, tmp_path: Path, make: str, code: str
) -> None:
    path = tmp_path / "program"
    words: list[object] = ["--", path]
    if make == "plain file":
        path.write_text("#!/bin/sh\n")
    elif make == "folder":
        path.mkdir()
    elif make == "bad interpreter":
        path.write_text("#!/no/such/interpreter\n")
        path.chmod(0o755)
    elif make == "garbage":
        path.write_bytes(b"\x7fELF garbage")
        path.chmod(0o755)
    elif make == "bad cwd":
        words = ["--cwd", tmp_path / "nowhere", "--", "true"]
    out = cli("run", *words)
    assert (out.code, out["ok"], out["state"], out["reason"]) == (1, False, "failed", "spawn_failed")
    told = out["error"]
    assert str(tmp_path) in told["message"]
    found = cli("status", out["job_id"])
    assert (found["ok"], found["state"], found["reason"]) == (True, "failed", "spawn_failed")
    assert (found["message"], found["exit_code"]) == (told["message"], None)
    waited = cli("wait", out["job_id"], "--forever")
    assert (waited["state"], waited["output_complete"]) == ("failed", True)
    assert cli("ps", "--all")["jobs"] == []
    assert told["code"] == code
    assert cli("delete", out["job_id"])["deleted"] == 1


def test_no_supervisor_outlives_its_job(cli: Cli) -> None:
    for words in (["true"], ["sh", "-c", "exit 3"], ["/no/such/program"], ["sh", "-c", "kill -KILL $$"]):
        out = cli("run", "--wait", "--", *words)
        found = cli("status", out["job_id"])
        wait_until(lambda found=found: not exists(found["supervisor_pid"]))  # type: ignore[misc]
    job_id = cli.start("sleep", "600")
    supervisor = supervisor_of(cli, job_id)
    cli("kill", job_id)
    wait_until(lambda: not exists(supervisor))
