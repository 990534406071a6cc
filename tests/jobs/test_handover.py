"""A command that runs already becomes a job: nothing of it is lost, and somebody owns it at every moment."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent_exec.engine.engine import Engine, shared_spawner
from agent_exec.engine.handoff import HandOver
from agent_exec.engine.run import Run
from agent_exec.jobs import handoff as handover
from agent_exec.jobs.start import Order, Started
from agent_exec.model.command import Command, Limits
from agent_exec.model.errors import InvalidState, LaunchFailed, StoreFailed
from cli import Cli
from jobs.seen import ENDED, Gate, at_once, dead, kill_and_wait, printed, stat, supervisor_of
from support import child, exists, python, wait_until

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a hand-over needs process descriptors")

SERVER = """
import os, sys
from agent_exec.engine.engine import Engine, shared_spawner
from agent_exec.engine.handoff import HandOver
from agent_exec.jobs.handoff import hand_over
from agent_exec.jobs.start import Order
from agent_exec.model.command import Command
from agent_exec.model.errors import InvalidState

root, *argv = sys.argv[1:]
engine = Engine()
run = engine.start(Command(argv, keep=None, on_output=lambda stream, chunk: os.write(1, chunk)))
sys.stdin.readline()
handing = HandOver(run)
order = Order(argv, cwd="/", env={}, grace=0.5, quota=1 << 20, mark=False)
job = hand_over(shared_spawner().detach, root, order, handing.handed, [(0, run.stdout)])
os.write(1, f"job {job}\\n".encode())
handing.finish(InvalidState("handed"))
sys.stdin.readline()
"""


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as made:
        yield made


def give(
    run: Run, root: Path, meanwhile: Callable[[], object] = lambda: None, detach: Any = None, **terms: Any
) -> str:
    """Make a job of a run, whose output so far is what it has kept."""
    handing = HandOver(run)
    try:
        meanwhile()
        order = Order(
            run.command.argv,
            cwd="/",
            env={},
            timeout=handing.left,
            mark=False,
            **{"grace": 0.5, "quota": 1 << 20, **terms},
        )
        out = [(0, run.stdout)] if run.stdout else []
        job = handover.hand_over(detach or shared_spawner().detach, str(root), order, handing.handed, out)
    except BaseException:
        handing.take_back()
        raise
    handing.finish(InvalidState("it is a job now"))
    return job


def said(run: Run, text: bytes) -> None:
    wait_until(lambda: text in run.stdout)


def served(cli: Cli, argv: Sequence[str], text: bytes) -> subprocess.Popen[bytes]:
    """Start a process that runs a command, and wait until that has printed a text."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(cli.root), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=cli.env,
    )
    assert server.stdout is not None
    seen = b""
    while text not in seen:
        seen += os.read(server.stdout.fileno(), 4096)
    return server


def hand(server: subprocess.Popen[bytes]) -> None:
    assert server.stdin is not None
    server.stdin.write(b"\n")
    server.stdin.flush()


def done(server: subprocess.Popen[bytes]) -> bytes:
    """Return what a server that was killed had still to say."""
    server.kill()
    said, _ = server.communicate()
    return said


def test_a_command_on_pipes_goes_on_as_a_job(cli: Cli, engine: Engine, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run = engine.start(Command(gate.job(after="echo after; echo err >&2; exit 7")))
    said(run, b"before\n")
    job_id = give(run, cli.root, tags=["session"])
    assert run.done
    with pytest.raises(InvalidState, match="a job now"):
        run.outcome()
    found = cli("status", job_id)
    assert (found["state"], found["supervisor"], found["pid"]) == ("running", "alive", run.pid)
    assert found["command"] == gate.job(after="echo after; echo err >&2; exit 7")
    assert [one["job_id"] for one in cli("ps", "--all")["jobs"]] == [job_id]
    engine.close()
    gate.open()
    found = cli("wait", job_id)
    assert (found["state"], found["exit_code"], found["output_complete"]) == ("exited", 7, True)
    assert (found["stdout"], found["stderr"]) == ("before\nafter\n", "err\n")


def test_the_engine_goes_on_without_it(cli: Cli, engine: Engine) -> None:
    run = engine.start(Command(["sleep", "600"]))
    job_id = give(run, cli.root)
    assert engine.start(Command(["echo", "next"])).outcome().stdout == b"next\n"
    assert engine.running == 0
    assert cli("kill", job_id)["state"] == "killed"


def test_it_may_have_only_begun(cli: Cli, engine: Engine) -> None:
    jobs = []
    for _ in range(10):
        run = engine.start(Command(["sleep", "0.05"]))
        try:
            jobs.append(give(run, cli.root))
        except InvalidState:
            assert run.done
    assert jobs
    for job_id in jobs:
        assert cli("wait", job_id)["exit_code"] == 0


def test_what_waits_to_be_read_by_the_command_is_handed_over(
    cli: Cli, engine: Engine, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    run = engine.start(
        Command(["sh", "-c", 'echo up; read _ < "$0"; cksum', str(gate.path)], interactive=True)
    )
    said(run, b"up\n")
    data = random.Random(1).randbytes(3_000_000)
    run.write(data)
    run.end_input()
    job_id = give(run, cli.root)
    gate.open()
    expected = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout.decode()
    assert cli("wait", job_id)["stdout"] == f"up\n{expected}"


def test_what_was_typed_is_handed_over(cli: Cli, engine: Engine, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    line = 'stty raw -echo; printf up; read _ < "$0"; head -c 200000 | cksum'
    run = engine.start(Command(["sh", "-c", line, str(gate.path)], tty=True))
    said(run, b"up")
    data = random.Random(2).randbytes(200_000)
    run.write(data)
    job_id = give(run, cli.root)
    gate.open()
    expected = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout.decode()
    assert cli("wait", job_id)["stdout"] == f"up{expected}"


def test_its_time_goes_on(cli: Cli, engine: Engine) -> None:
    run = engine.start(Command(["sleep", "600"], limits=Limits(timeout=1.5)))
    job_id = give(run, cli.root)
    assert 0 < cli("status", job_id)["timeout_ms"] < 1500
    found = cli("wait", job_id)
    assert (found["state"], found["timed_out"], found["reason"]) == ("killed", True, "timeout")


@pytest.mark.parametrize("tty", [False, True])
def test_a_command_that_ignores_signals_is_killed(cli: Cli, engine: Engine, tty: bool) -> None:
    run = engine.start(
        Command(["sh", "-c", "trap '' TERM HUP INT; echo up; while :; do sleep 600; done"], tty=tty)
    )
    said(run, b"up")
    job_id = give(run, cli.root)
    assert cli("kill", job_id)["state"] == "killed"
    assert cli("status", job_id)["signal"] == "SIGKILL"
    assert run.pid is not None
    assert not exists(run.pid)


def test_a_command_that_has_ended_is_no_job(cli: Cli, engine: Engine) -> None:
    run = engine.start(Command(["true"]))
    run.wait()
    with pytest.raises(InvalidState, match="has ended already"):
        give(run, cli.root)
    assert not cli.root.exists()


def test_a_command_that_is_being_ended_is_no_job(cli: Cli, engine: Engine) -> None:
    run = engine.start(Command(["sh", "-c", "trap '' TERM; echo up; sleep 600"], limits=Limits(grace=1)))
    said(run, b"up")
    run.stop()
    with pytest.raises(InvalidState, match="is being ended"):
        give(run, cli.root)
    run.kill()
    assert run.outcome().signal == "SIGKILL"


def test_one_that_ends_meanwhile_has_its_end_recorded(cli: Cli, engine: Engine, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run = engine.start(Command(gate.job()))
    said(run, b"before\n")

    def end() -> None:
        gate.open()
        wait_until(lambda: run.pid is not None and not exists(run.pid))

    job_id = give(run, cli.root, end)
    found = cli("wait", job_id)
    assert (found["exit_code"], found["stdout"]) == (7, "before\nafter\n")


def nobody(_entry: str, _fds: Sequence[int]) -> None:
    """Start no process at all, as if it had been killed at once."""


def test_without_a_store_it_goes_on_as_before(cli: Cli, engine: Engine, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run = engine.start(Command(gate.job()))
    said(run, b"before\n")
    cli.root.write_text("no folder")
    with pytest.raises(StoreFailed):
        give(run, cli.root)
    gate.open()
    outcome = run.outcome()
    assert (outcome.exit_code, outcome.stdout) == (7, b"before\nafter\n")


def test_without_a_supervisor_it_goes_on_as_before(cli: Cli, engine: Engine, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    line = 'echo before; read _ < "$0"; read x; echo "$x after"; exit 7'
    run = engine.start(Command(["sh", "-c", line, str(gate.path)], tty=True, limits=Limits(timeout=60)))
    said(run, b"before\r\n")
    with pytest.raises(LaunchFailed):
        give(run, cli.root, lambda: run.write(b"typed\n"), nobody)
    gate.open()
    outcome = run.outcome()
    assert outcome.exit_code == 7
    assert outcome.stdout.endswith(b"typed after\r\n")
    assert cli("list", "--all")["jobs"] == []


def test_a_supervisor_that_is_killed_before_the_command_is_its_own(
    cli: Cli, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(tmp_path / "gate")
    run = engine.start(Command(gate.job()))
    said(run, b"before\n")
    hear = Started.hear_of

    def hear_and_kill(job: Started, known: Callable[[], object]) -> None:
        hear(job, known)
        if job.id and not job.hung_up:
            kill_and_wait(supervisor_of(cli, job.id))

    monkeypatch.setattr(Started, "hear_of", hear_and_kill)
    with pytest.raises(LaunchFailed, match="was killed"):
        give(run, cli.root)
    gate.open()
    assert run.outcome().stdout == b"before\nafter\n"
    assert cli("list", "--all")["jobs"] == []


def test_what_is_asked_meanwhile_comes_after_it_is_taken_back(cli: Cli, engine: Engine) -> None:
    run = engine.start(Command(["sleep", "600"]))
    with pytest.raises(LaunchFailed):
        give(run, cli.root, run.stop, nobody)
    assert run.outcome().cause == "stopped"


def test_its_time_ends_while_it_waits(cli: Cli, engine: Engine) -> None:
    run = engine.start(Command(["sleep", "600"], limits=Limits(timeout=2)))
    late = time.monotonic() + 2.1
    with pytest.raises(LaunchFailed):
        give(run, cli.root, lambda: wait_until(lambda: time.monotonic() > late), nobody)
    assert run.outcome().timed_out


def test_many_at_once(cli: Cli, engine: Engine, tmp_path: Path) -> None:
    gates = [Gate(tmp_path / f"gate{number}") for number in range(20)]
    runs = [engine.start(Command(gate.job(after=f"echo {number}"))) for number, gate in enumerate(gates)]
    for run in runs:
        said(run, b"before\n")
    jobs = at_once([partial(give, run, cli.root) for run in runs])
    assert len(set(jobs)) == len(runs)
    engine.close()
    for number, (gate, job_id) in enumerate(zip(gates, jobs, strict=True)):
        gate.open()
        assert cli("wait", job_id)["stdout"] == f"before\n{number}\n"


def test_a_supervisor_that_is_killed_takes_the_command_with_it(cli: Cli, engine: Engine) -> None:
    run = engine.start(Command(child("tree", "daemon", 3)))
    wait_until(lambda: b"ready" in run.stdout)
    pids = [int(word) for word in run.stdout.split() if word.isdigit()]
    job_id = give(run, cli.root)
    assert run.pid is not None
    kill_and_wait(supervisor_of(cli, job_id))
    wait_until(lambda: dead([run.pid or 0, *pids]))
    found = cli("status", job_id)
    assert (found["state"], found["reason"]) == ("failed", "supervisor_lost")


def test_a_keeper_that_is_killed_takes_the_command_with_it(cli: Cli, engine: Engine) -> None:
    run = engine.start(Command(child("tree", "daemon", 3)))
    wait_until(lambda: b"ready" in run.stdout)
    pids = [int(word) for word in run.stdout.split() if word.isdigit()]
    job_id = give(run, cli.root)
    engine.close()
    assert run.pid is not None
    kill_and_wait(int(stat(run.pid)[1]))
    found = cli("wait", job_id)
    assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "supervisor_lost", None)
    assert dead([run.pid, *pids])


def test_it_outlives_a_process_that_is_killed_right_after(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    server = served(cli, gate.job(), b"before\n")
    hand(server)
    assert server.stdout is not None
    told = os.read(server.stdout.fileno(), 4096)
    os.kill(server.pid, signal.SIGKILL)
    done(server)
    job_id = told.decode().split()[1]
    gate.open()
    found = cli("wait", job_id)
    assert (found["exit_code"], found["stdout"]) == (7, "before\nafter\n")


def test_it_outlives_the_job_that_had_started_it(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    words = Gate(tmp_path / "words")
    line = 'gate=$0; (read _ < "$gate"; echo; sleep 600) | "$@"'
    outer = cli.start("sh", "-c", line, words.path, sys.executable, "-c", SERVER, cli.root, *gate.job())
    wait_until(lambda: "before" in printed(cli, outer))
    words.open()
    wait_until(lambda: "job " in printed(cli, outer))
    job_id = printed(cli, outer).split()[-1]
    assert cli("kill", outer)["state"] == "killed"
    assert cli("status", job_id)["state"] == "running"
    gate.open()
    found = cli("wait", job_id)
    assert (found["exit_code"], found["stdout"]) == (7, "before\nafter\n")


def test_killed_at_any_moment_it_is_a_whole_job_or_nothing(cli: Cli, tmp_path: Path) -> None:
    chance = random.Random(3)
    for number in range(12):
        gate = Gate(tmp_path / f"gate{number}")
        server = served(
            cli,
            python(
                "import os; print(os.getpid(), flush=True); open(os.sys.argv[1]).read(); print('after')",
                gate.path,
            ),
            b"\n",
        )
        hand(server)
        time.sleep(chance.uniform(0, 0.25))  # the moment is the test
        told = done(server)
        jobs = [one for one in cli("list", "--all")["jobs"] if one["state"] not in ENDED]
        if told or jobs:
            job_id = told.decode().split()[1] if told else jobs[0]["job_id"]
            found = cli("status", job_id)
            if told or found["state"] == "running":
                gate.open()
                found = cli("wait", job_id)
                if told or found["exit_code"] is not None:
                    assert found["stdout"].endswith("\nafter\n"), number
                    assert found["exit_code"] == 0
                    continue
        wait_until(lambda: not [one for one in cli("list", "--all")["jobs"] if one["state"] not in ENDED])
        wait_until(partial(nowhere, str(gate.path)))


def nowhere(word: str) -> bool:
    """True if no process has a word in its command line."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if word.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                    return False
            except OSError:
                continue
    return True


def test_the_log_of_what_was_printed_may_have_a_gap(cli: Cli, engine: Engine, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    run = engine.start(Command(gate.job()))
    said(run, b"before\n")
    handing = HandOver(run)
    order = Order(run.command.argv, cwd="/", env={}, grace=0.5, quota=1 << 20, mark=False)
    pieces = [(0, b"first\n"), (100, b"before\n")]
    job_id = handover.hand_over(shared_spawner().detach, str(cli.root), order, handing.handed, pieces)
    handing.finish(InvalidState("it is a job now"))
    gate.open()
    found = cli("wait", job_id)
    assert found["stdout_total_bytes"] == 113
    assert not found["output_complete"]
    assert printed(cli, job_id) == "first\n"
    assert (cli.folder(job_id) / "stdout.log.100").read_text() == "before\nafter\n"
