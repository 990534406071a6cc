"""Detached for good: whatever happens to the caller, the job goes on and its end is recorded."""

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli import Cli, check
from jobs.seen import Gate, below, on_terminal, only_job, popen, printed, stat, status_line, supervisor_of
from support import exists, wait_until


def test_a_supervisor_and_its_job_have_sessions_of_their_own_and_no_terminal(
    cli: Cli, tmp_path: Path
) -> None:
    master, slave = pty.openpty()
    try:
        caller = on_terminal(cli, slave, cli.argv("run", "--wait", "--", *Gate(tmp_path / "gate").job()))
        job_id = only_job(cli)
        supervisor = supervisor_of(cli, job_id)
        command = cli("status", job_id)["pid"]
        theirs = stat(caller.pid)
        assert theirs[4] != "0", "the caller has the terminal"
        for pid in (supervisor, command):
            _, parent, group, session, terminal = stat(pid)[:5]
            assert terminal == "0"
            assert session != theirs[3]
            assert group != theirs[2]
            assert int(parent) != caller.pid
        assert int(stat(supervisor)[3]) != supervisor, "who leads no session never gets a terminal"
        assert int(stat(command)[3]) == command
        caller.kill()
        caller.wait()
    finally:
        os.close(master)
        os.close(slave)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("waits", [True, False], ids=["while it watches", "after it has answered"])
def test_a_job_outlives_the_end_of_its_caller_s_process_group(
    cli: Cli, tmp_path: Path, number: signal.Signals, waits: bool
) -> None:
    gate = Gate(tmp_path / "gate")
    words = cli.argv("run", "--wait" if waits else "--no-wait", "--", *gate.job())
    caller = subprocess.Popen(
        ["sh", "-c", '"$@"; sleep 600', "sh", *words],
        start_new_session=True,
        cwd=cli.cwd,
        env=cli.env,
        stdout=subprocess.DEVNULL,
    )
    job_id = only_job(cli)
    os.killpg(caller.pid, number)
    if number == signal.SIGINT:
        assert cli("status", job_id)["ok"]
        os.killpg(caller.pid, signal.SIGKILL)  # a shell whose program did not die of it goes on
    caller.wait()
    _check_goes_on(cli, job_id, gate)


def test_a_job_outlives_the_death_of_its_caller_s_whole_tree(cli: Cli, tmp_path: Path) -> None:
    """A harness that ends a tool call walks down the tree of its processes, and kills each."""
    gate = Gate(tmp_path / "gate")
    words = cli.argv("run", "--wait", "--", *gate.job())
    caller = subprocess.Popen(
        ["sh", "-c", 'sh -c \'"$@"; sleep 600\' sh "$@"; sleep 600', "sh", *words],
        cwd=cli.cwd,
        env=cli.env,
        stdout=subprocess.DEVNULL,
    )
    job_id = only_job(cli)
    tree = below(caller.pid)
    assert len(tree) >= 3, "two shells and the program"
    for pid in tree:
        os.kill(pid, signal.SIGKILL)
    caller.wait()
    wait_until(lambda: not any(exists(pid) for pid in tree))
    _check_goes_on(cli, job_id, gate)


@pytest.mark.parametrize("waits", [True, False])
def test_a_job_outlives_the_terminal_it_was_started_in(cli: Cli, tmp_path: Path, waits: bool) -> None:
    gate = Gate(tmp_path / "gate")
    words = cli.argv("run", "--wait" if waits else "--no-wait", "--", *gate.job())
    master, slave = pty.openpty()
    caller = on_terminal(cli, slave, ["sh", "-c", '"$@"; sleep 600', "sh", *words])
    os.close(slave)
    job_id = only_job(cli)
    os.close(master)
    wait_until(lambda: caller.poll() is not None)
    _check_goes_on(cli, job_id, gate)


def _check_goes_on(cli: Cli, job_id: str, gate: Gate) -> None:
    """The job that waits at the gate is alive, its output is kept, and how it ends is recorded."""
    found = cli("status", job_id)
    assert (found["state"], found["supervisor"]) == ("running", "alive")
    wait_until(lambda: printed(cli, job_id) == "before\n")
    gate.open()
    out = cli("wait", job_id)
    assert (out["state"], out["exit_code"], out["stdout"]) == ("exited", 7, "before\nafter\n")
    assert out["output_complete"] is True


def test_a_descriptor_is_closed_when_run_returns(cli: Cli) -> None:
    """Harnesses read the output of a tool call to its end; also other descriptors may have leaked to us."""
    reader, writer = os.pipe()
    input_reader, input_writer = os.pipe()
    try:
        caller = popen(cli, "run", "--no-wait", "--", "sleep", "600", stdin=input_reader, pass_fds=[writer])
        os.close(writer)
        os.close(input_reader)
        assert caller.stdout is not None
        assert caller.stderr is not None
        ends = {caller.stdout.fileno(): b"", caller.stderr.fileno(): b"", reader: b""}
        out = caller.stdout.fileno()
        left = set(ends)
        while left:
            ready, _, _ = select.select(list(left), [], [], 20)
            assert ready, "an end that never comes"
            for fd in ready:
                chunk = os.read(fd, 65536)
                ends[fd] += chunk
                if not chunk:
                    left.discard(fd)
        told = check(ends[out].decode())
        assert cli("status", told["job_id"])["state"] == "running"
        caller.wait()
        with pytest.raises(BrokenPipeError):
            os.write(input_writer, b"nobody reads")
        caller.stdout.close()
        caller.stderr.close()
    finally:
        os.close(reader)
        os.close(input_writer)


def test_a_supervisor_and_its_job_hold_nothing_of_the_caller_s(cli: Cli, tmp_path: Path) -> None:
    secret = tmp_path / "held"
    with secret.open("w") as held:
        caller = popen(
            cli, "run", "--no-wait", "--", "sleep", "600", pass_fds=[held.fileno()], close_fds=True
        )
        out, _ = caller.communicate()
    job_id = check(out.decode())["job_id"]
    found = cli("status", job_id)
    for pid in (found["pid"], found["supervisor_pid"]):
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        assert str(secret) not in links
    command = {
        fd: os.readlink(f"/proc/{found['pid']}/fd/{fd}") for fd in os.listdir(f"/proc/{found['pid']}/fd")
    }
    assert set(command) == {"0", "1", "2"}
    assert command["0"] == "/dev/null"


def test_run_works_with_all_standard_descriptors_closed(cli: Cli) -> None:
    line = 'exec "$@" <&- >&- 2>&-'
    subprocess.run(
        [
            "sh",
            "-c",
            line,
            "sh",
            *cli.argv("run", "--wait", "--", "sh", "-c", "echo out; echo err >&2; exit 3"),
        ],
        cwd=cli.cwd,
        env=cli.env,
        check=False,
    )
    (job,) = cli("list", "--all")["jobs"]
    out = cli("tail", job["job_id"])
    assert (job["state"], job["exit_code"], out["stdout"], out["stderr"]) == ("exited", 3, "out\n", "err\n")


def test_an_open_pipe_as_input_does_not_hang_run(cli: Cli) -> None:
    """Harnesses leave one there; the job reads nothing of it, and sees the end of its input at once."""
    reader, writer = os.pipe()
    try:
        out = cli("run", "--wait", "--", "sh", "-c", "cat; echo done", stdin=reader)
        assert (out["state"], out["stdout"]) == ("exited", "done\n")
    finally:
        os.close(reader)
        os.close(writer)


def test_a_job_goes_on_in_a_folder_that_is_gone(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    folder = tmp_path / "gone"
    folder.mkdir()
    job_id = str(cli("run", "--no-wait", "--cwd", folder, "--", *gate.job())["job_id"])
    wait_until(lambda: printed(cli, job_id))
    folder.rmdir()
    _check_goes_on(cli, job_id, gate)


def test_an_ignored_hangup_stays_ignored_for_run_and_is_none_for_the_job(cli: Cli, tmp_path: Path) -> None:
    """As nohup means it; but a job must not inherit what its caller ignores."""
    gate = Gate(tmp_path / "gate")
    caller = subprocess.Popen(
        ["sh", "-c", 'trap "" HUP INT TERM; exec "$@"', "sh", *cli.argv("run", "--wait", "--", *gate.job())],
        cwd=cli.cwd,
        env=cli.env,
        stdout=subprocess.PIPE,
    )
    job_id = only_job(cli)
    pid = cli("status", job_id)["pid"]
    ignored = int(status_line(pid, "SigIgn"), 16)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        assert not ignored >> (number - 1) & 1
        os.kill(caller.pid, number)
    gate.open()
    out, _ = caller.communicate()
    told = check(out.decode())
    assert (told["state"], told["exit_code"], "interrupted" in told) == ("exited", 7, False)


INTERRUPTED = """
import ctypes, functools, os, signal
from agent_exec.host import detach
os.register_at_fork(after_in_child=functools.partial(getattr(ctypes.CDLL(None), "raise"), signal.SIGINT))
try:
    detach("entry", [])
    print("detached", flush=True)
except BaseException as error:
    print(f"{error!r} in a copy", flush=True)
"""


def test_a_copy_blocks_signals_from_its_start(tmp_path: Path) -> None:
    (tmp_path / "entry.py").write_text(f"def main(fds): open({str(tmp_path / 'in')!r}, 'w').close()\n")
    out = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (out.stdout, out.stderr) == ("detached\n", "")
    wait_until((tmp_path / "in").exists)
