"""A supervisor that is lost, by force or with the whole machine: every verb tells the same truth at once."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli import PROGRAM, Cli, check
from jobs.seen import (
    Gate,
    at_once,
    dead,
    kill_and_wait,
    lose_supervisor,
    pids_of_tree,
    popen,
    printed,
    start_of,
    supervisor_of,
    views,
)
from support import child, exists, wait_until

SLEEP = ["sleep", "600"]


def _rewrite(cli: Cli, job_id: str, **facts: object) -> None:
    """Change what the second line of a job's record says, as if it had been written so."""
    path = cli.folder(job_id) / "record.jsonl"
    lines = path.read_bytes().rstrip(b"\0").splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | facts).encode()
    path.write_bytes(b"\n".join(lines) + b"\n")


def _check_lost(cli: Cli, job_id: str) -> None:
    """Every verb says that the job is over, and why nobody knows how it ended."""
    for verb, found in views(cli, job_id).items():
        assert verb != "ps", "it does not run"
        assert found["state"] == "failed", verb
        if verb != "tail":
            assert found["reason"] == "supervisor_lost", verb
            assert "supervisor" not in found, verb
    found = cli("wait", job_id, "--forever")
    assert (found["exit_code"], found["finished_at"], found["output_complete"]) == (None, None, False)
    assert "supervisor" in found["message"]


def test_a_live_job_says_that_its_supervisor_is_alive(cli: Cli) -> None:
    job_id = cli.start(*SLEEP)
    found = views(cli, job_id)
    assert set(found) == {"status", "tail", "wait", "list", "ps"}
    assert {one["state"] for one in found.values()} == {"running"}
    assert {one["supervisor"] for verb, one in found.items() if verb != "tail"} == {"alive"}


def test_a_job_whose_supervisor_is_killed_runs_on_and_every_verb_says_so(cli: Cli) -> None:
    job_id = cli.start(*SLEEP)
    lose_supervisor(cli, job_id)
    found = views(cli, job_id)
    assert set(found) == {"status", "tail", "wait", "list", "ps"}
    assert {one["state"] for one in found.values()} == {"running"}
    assert {one["supervisor"] for verb, one in found.items() if verb != "tail"} == {"lost"}
    swept = cli("gc", "--older-than", "0s")
    assert (swept["deleted"], swept["skipped"]) == (0, 1), "it lives"
    kill_and_wait(cli("status", job_id)["pid"])
    _check_lost(cli, job_id)


@pytest.mark.parametrize("verb", ["kill", "delete"])
@pytest.mark.parametrize("kind", ["daemon", "session", "deaf"])
@pytest.mark.parametrize("main", ["lives", "died"])
def test_what_a_lost_supervisor_left_is_ended(cli: Cli, verb: str, kind: str, main: str) -> None:
    job_id = str(cli("run", "--no-wait", "--kill-after", "50ms", "--", *child("tree", kind, 3))["job_id"])
    pids = pids_of_tree(cli, job_id, 3)
    assert len(pids) == 3
    found = cli("status", job_id)
    lose_supervisor(cli, job_id)
    if main == "died":
        kill_and_wait(found["pid"])
        _check_lost(cli, job_id)
    assert not dead(pids), "there is someone to end"
    out = cli(verb, job_id)
    assert out["ok"]
    assert dead([*pids, found["pid"]])
    if verb == "kill":
        assert (out["state"], out["reason"]) == ("failed", "supervisor_lost")
        _check_lost(cli, job_id)
    else:
        assert out["deleted"] == 1
        assert cli("status", job_id)["error"]["code"] == "job_not_found"
        assert not cli.folder(job_id).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits that are inherited")
def test_what_has_left_its_session_and_its_environment_is_ended_too(cli: Cli, tmp_path: Path) -> None:
    """Nothing but an inherited limit tells whose it is."""
    told = tmp_path / "pid"
    line = f"env -i setsid -f sh -c 'echo $$ > {told}; exec sleep 600'; exec sleep 600"
    job_id = cli.start("sh", "-c", line)
    wait_until(lambda: told.exists() and told.read_text().endswith("\n"))
    pid = int(told.read_text())
    lose_supervisor(cli, job_id)
    assert not dead([pid])
    try:
        assert cli("kill", job_id)["ok"]
        assert dead([pid])
    finally:
        if not dead([pid]):
            os.kill(pid, signal.SIGKILL)


def test_gc_collects_a_lost_job_and_leaves_nothing_of_it_alive(cli: Cli) -> None:
    job_id = cli.start(*child("tree", "daemon", 2))
    pids = pids_of_tree(cli, job_id, 2)
    main = cli("status", job_id)["pid"]
    lose_supervisor(cli, job_id)
    kill_and_wait(main)
    assert cli("gc", "--older-than", "0s", "--dry-run")["candidate_count"] == 1
    assert not dead(pids), "nothing is done by looking"
    assert cli("gc", "--older-than", "0s")["deleted"] == 1
    assert dead(pids), "nobody could find them after this"
    assert not cli.folder(job_id).exists()


def test_a_signal_reaches_what_a_lost_supervisor_left_and_ends_it_only_if_it_asks_to(cli: Cli) -> None:
    trap = "trap 'echo got >> \"$0\"' USR1; echo up; while :; do sleep 0.01; done"
    note = cli.cwd / "note"
    job_id = cli.start("sh", "-c", trap, note)
    wait_until(lambda: printed(cli, job_id))
    lose_supervisor(cli, job_id)
    out = cli("kill", job_id, "--signal", "USR1")
    wait_until(note.exists)
    assert (out["state"], out["supervisor"]) == ("running", "lost")
    assert cli("kill", job_id)["state"] == "failed"


def test_a_waiter_notices_a_killed_supervisor_and_waits_while_the_job_lives(cli: Cli) -> None:
    job_id = cli.start(*SLEEP)
    found = cli("status", job_id)
    waiters = [popen(cli, "wait", job_id, "--forever") for _ in range(3)]
    wait_until(lambda: all(_waits(waiter.pid, cli.folder(job_id)) for waiter in waiters))
    kill_and_wait(found["supervisor_pid"])
    assert all(waiter.poll() is None for waiter in waiters)
    kill_and_wait(found["pid"])
    for waiter in waiters:
        told = check(waiter.communicate()[0].decode())
        assert (told["state"], told["reason"]) == ("failed", "supervisor_lost")


def _waits(pid: int, folder: Path) -> bool:
    """True if a process holds the pipe by which it hears of a job's end."""
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return str(folder / "control") in links


def test_run_notices_a_killed_supervisor(cli: Cli, tmp_path: Path) -> None:
    for option, state in (("--until=3", "running"), ("--wait", "failed")):
        gate = tmp_path / option
        caller = popen(cli, "run", option, "--", *Gate(gate).job())
        wait_until(lambda: cli("ps", "--all")["jobs"])
        os.kill(caller.pid, signal.SIGSTOP)  # it must not look before the supervisor is gone
        (job,) = cli("ps", "--all")["jobs"]
        lose_supervisor(cli, job["job_id"])
        os.kill(caller.pid, signal.SIGCONT)
        if option == "--wait":  # it goes on until the command itself is gone
            os.kill(cli("status", job["job_id"])["pid"], signal.SIGKILL)
        told = check(caller.communicate()[0].decode())
        assert (told["state"], told["job_id"]) == (state, job["job_id"])
        assert told.get("supervisor") == ("lost" if state == "running" else None)
        cli("kill", job["job_id"])


def test_supervisors_killed_while_many_wait_leave_no_waiter_behind(cli: Cli) -> None:
    """The lock and the pipe of a killed process go one after the other; no look may fall in between."""
    for _ in range(15):
        job_id = cli.start(*SLEEP)
        found = cli("status", job_id)
        waiters = [popen(cli, "wait", job_id, "--forever") for _ in range(3)]
        os.kill(found["pid"], signal.SIGSTOP)  # it cannot end before its supervisor
        os.kill(found["supervisor_pid"], signal.SIGKILL)
        os.kill(found["pid"], signal.SIGKILL)
        for waiter in waiters:
            told = check(waiter.communicate(timeout=30)[0].decode())
            assert told["state"] in ("failed", "killed"), told


def test_a_supervisor_killed_before_it_could_say_whom_it_started(cli: Cli) -> None:
    """The record has its first line only; the command lives, and bears the mark of its job."""
    for verb in ("kill", "delete"):
        job_id = cli.start(*child("tree", "session", 1))
        pids = pids_of_tree(cli, job_id, 1)
        pids.append(cli("status", job_id)["pid"])
        lose_supervisor(cli, job_id)
        path = cli.folder(job_id) / "record.jsonl"
        path.write_bytes(path.read_bytes().partition(b"\n")[0] + b"\n")
        _check_lost(cli, job_id)
        assert not dead(pids)
        assert cli(verb, job_id)["ok"]
        assert dead(pids)


def test_after_a_reboot_a_job_is_lost_and_no_stranger_is_touched(cli: Cli) -> None:
    """Another process has the same pid now, even at the same tick after the boot."""
    job_id = cli.start(*SLEEP)
    main = cli("status", job_id)["pid"]
    lose_supervisor(cli, job_id)
    kill_and_wait(main)
    stranger = subprocess.Popen(SLEEP, start_new_session=True)
    try:
        facts = {"pid": stranger.pid, "start": start_of(stranger.pid), "boot": "another"}
        _rewrite(cli, job_id, **facts)
        _check_lost(cli, job_id)
        assert cli("kill", job_id)["ok"]
        assert cli("kill", job_id, "--signal", "KILL")["ok"]
        assert exists(stranger.pid)
        assert cli("delete", job_id)["deleted"] == 1
        assert exists(stranger.pid)
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("boot", ["same", "another"])
def test_a_stranger_s_session_under_a_reused_pid_is_not_touched(cli: Cli, boot: str) -> None:
    """A daemon's session bears the pid of one that is gone; that may once have been a job's."""
    job_id = cli.start(*SLEEP)
    found = cli("status", job_id)
    lose_supervisor(cli, job_id)
    kill_and_wait(found["pid"])
    code = "import os, sys, time\nif os.fork() == 0:\n    print(os.getpid(), flush=True); time.sleep(600)"
    leader = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE)
    assert leader.stdout is not None
    daemon = int(leader.stdout.readline())
    leader.wait()
    leader.stdout.close()
    try:
        _rewrite(cli, job_id, pid=leader.pid, **({"boot": "another"} if boot == "another" else {}))
        assert cli("kill", job_id, "--signal", "KILL")["ok"]
        assert cli("delete", job_id)["deleted"] == 1
        assert exists(daemon)
    finally:
        kill_and_wait(daemon)


def test_what_a_job_left_is_ended_by_kill_also_when_its_supervisor_is_lost(cli: Cli) -> None:
    job_id = str(cli("run", "--leave", "--", "sh", "-c", "sleep 600 & echo $!")["job_id"])
    found = cli("status", job_id)
    left = int(printed(cli, job_id))
    assert (found["state"], found["leaked"]) == ("exited", True)
    kill_and_wait(found["supervisor_pid"])
    assert exists(left)
    out = cli("kill", job_id)
    assert (out["state"], out["exit_code"]) == ("exited", 0), "how it ended is known"
    wait_until(lambda: not exists(left))


def test_a_job_that_stops_its_supervisor_can_be_killed(cli: Cli) -> None:
    wait = "while [ ! -e go ]; do sleep 0.01; done; "
    line = "p=$PPID; grep -q ^agent-exec /proc/$p/comm && kill -STOP $p; sleep 600"
    job_id = cli.start("sh", "-c", wait + line)
    supervisor = supervisor_of(cli, job_id)
    (cli.cwd / "go").touch()
    wait_until(lambda: Path(f"/proc/{supervisor}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    found = cli("status", job_id)
    assert (found["state"], found["supervisor"]) == ("running", "alive")
    assert cli("kill", job_id)["state"] == "killed"
    assert dead([found["pid"]])


def test_a_job_that_stops_its_supervisor_at_once_is_reported(cli: Cli) -> None:
    line = "p=$PPID; grep -q ^agent-exec /proc/$p/comm && kill -STOP $p; sleep 0.1; exit 3"
    for words in (("run", "--no-wait"), ("run", "--wait")):
        told = cli(*words, "--", "sh", "-c", line)
        assert told["ok"], told
        told = cli("wait", told["job_id"], "--forever")
        assert (told["state"], told["exit_code"]) == ("exited", 3)


def test_sigterm_to_the_supervisor_ends_the_job_politely_and_records_it(cli: Cli) -> None:
    polite = "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done"
    job_id = cli.start("sh", "-c", polite)
    wait_until(lambda: printed(cli, job_id))
    supervisor = supervisor_of(cli, job_id)
    os.kill(supervisor, signal.SIGTERM)
    out = cli("wait", job_id, "--forever")
    assert (out["state"], out["exit_code"], out["reason"]) == ("killed", 5, "supervisor_terminated")
    assert out["stdout"] == "up\nbye\n"
    wait_until(lambda: not exists(supervisor))


def test_other_signals_do_not_harm_the_supervisor(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    job_id = cli.start(*gate.job())
    supervisor = supervisor_of(cli, job_id)
    for number in (
        signal.SIGINT,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGPIPE,
        signal.SIGALRM,
    ):
        os.kill(supervisor, number)
    gate.open()
    assert cli("wait", job_id)["exit_code"] == 7


UNREAPED = """
import json, os, signal, subprocess, sys
def run(*words):
    return json.loads(subprocess.run([sys.argv[1], *words], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout)
assert os.getpid() == 1
job = run("run", "--no-wait", "--", "sleep", "600")["job_id"]
found = run("status", job)
# The answer to `wait` comes through processes that we do reap; orphans we do not.
for pid in (found["supervisor_pid"], found["pid"]):
    os.kill(pid, signal.SIGKILL)
while open(f"/proc/{found['pid']}/stat").read().rpartition(")")[2].split()[0] != "Z":
    pass
print(json.dumps([run("wait", job, "--until", "1s"), run("ps", "--all"), run("delete", job)]))
"""


def test_an_unreaped_process_is_not_a_live_job(cli: Cli) -> None:
    """In a container the first process often is a program that knows nothing of orphans."""
    unshare = shutil.which("unshare")
    words = [str(unshare), "-r", "-p", "-f", "--mount-proc"]
    if unshare is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no pid namespace to be had")
    out = subprocess.run(
        [*words, sys.executable, "-c", UNREAPED, str(PROGRAM)],
        cwd=cli.cwd,
        env=cli.env,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert out.returncode == 0, out.stderr.decode()
    waited, listed, deleted = json.loads(out.stdout)
    assert (waited["state"], waited.get("reason")) == ("failed", "supervisor_lost")
    assert listed["jobs"] == []
    assert deleted["deleted"] == 1


def test_many_lost_jobs_are_distinguished_from_live_ones(cli: Cli) -> None:
    jobs = at_once([lambda: cli.start(*SLEEP)] * 6)
    for job_id in jobs[:3]:
        lose_supervisor(cli, job_id)
    found = {job["job_id"]: job["supervisor"] for job in cli("ps", "--all")["jobs"]}
    assert found == {job_id: "lost" if job_id in jobs[:3] else "alive" for job_id in jobs}
