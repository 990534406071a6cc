"""Promise 5: TERM, grace, KILL, to the whole tree; afterwards none of it exists."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine, Limits
from support import child, exists, processes_marked, python, wait_until


def pids_of(text: bytes) -> list[int]:
    return [int(line) for line in text.split() if line.isdigit()]


def test_a_timeout_ends_politely_and_keeps_partial_output() -> None:
    out = agent_exec.run(["sh", "-c", "echo partial; echo err >&2; exec sleep 60"], timeout=0.3)
    assert (out.cause, out.timed_out, out.signal, out.exit_code) == ("timeout", True, "SIGTERM", 143)
    assert (out.stdout, out.stderr) == (b"partial\n", b"err\n")


def test_a_command_that_handles_sigterm_keeps_its_exit_code() -> None:
    out = agent_exec.run(["sh", "-c", "trap 'echo bye; exit 7' TERM; echo up; sleep 60 & wait"], timeout=0.3)
    assert (out.cause, out.exit_code, out.signal) == ("timeout", 7, None)
    assert out.stdout == b"up\nbye\n"


def test_a_command_that_ignores_sigterm_is_killed_after_the_grace() -> None:
    out = agent_exec.run(["sh", "-c", "trap '' TERM; echo deaf; sleep 60 & wait"], timeout=0.2, grace=0.1)
    assert (out.cause, out.signal, out.exit_code, out.stdout) == ("timeout", "SIGKILL", 137, b"deaf\n")
    assert out.duration >= 0.3


def test_no_grace_at_all() -> None:
    out = agent_exec.run(["sh", "-c", "trap '' TERM; sleep 60 & wait"], timeout=0.1, grace=0)
    assert out.signal == "SIGKILL"


def test_a_stopped_process_gets_the_polite_signal() -> None:
    out = agent_exec.run(["sh", "-c", "trap 'exit 5' TERM; kill -STOP $$; exit 6"], timeout=0.3, grace=20)
    assert (out.cause, out.exit_code) == ("timeout", 5)


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize("kind", ["plain", "group", "session", "daemon", "deaf"])
def test_the_whole_tree_ends(kind: str, count: int, nothing_left: str) -> None:
    with Engine() as engine:
        run = engine.start(Command(child("tree", kind, count), limits=Limits(grace=0.2)))
        wait_until(lambda: b"ready" in run.stdout and len(pids_of(run.stdout)) == count)
        pids = pids_of(run.stdout)
        assert all(exists(pid) for pid in pids)
        run.stop()
        out = run.outcome()
        assert out.cause == "stopped"
        assert out.signal == ("SIGKILL" if kind == "deaf" else "SIGTERM")
        # At this very moment, not a little later.
        assert [pid for pid in pids if exists(pid)] == []
        left = [line for line in processes_marked(nothing_left).values() if "tree.py" in line]
        assert left == []


@pytest.mark.parametrize("kind", ["daemon", "deaf"])
def test_the_whole_tree_ends_at_a_timeout_too(kind: str) -> None:
    out = agent_exec.run(child("tree", kind, 5), timeout=1.0, grace=0.1)
    assert out.timed_out
    assert len(pids_of(out.stdout)) == 5
    assert [pid for pid in pids_of(out.stdout) if exists(pid)] == []


def test_a_deep_chain_ends() -> None:
    code = """
import os, time
for depth in range(40):
    if os.fork(): break
os.write(1, b"%d\\n" % os.getpid())
while True: time.sleep(3600)
"""
    with Engine() as engine:
        run = engine.start(Command(python(code), limits=Limits(grace=0)))
        wait_until(lambda: len(pids_of(run.stdout)) == 41)
        run.stop()
        assert [pid for pid in pids_of(run.outcome().stdout) if exists(pid)] == []


@pytest.mark.parametrize(("program", "count"), [("spreader", 400), ("forker", 100_000)])
def test_a_child_that_forks_while_it_is_being_killed(program: str, count: int, nothing_left: str) -> None:
    with Engine() as engine:
        run = engine.start(Command(child(program, count), limits=Limits(grace=0.05)))
        wait_until(lambda: b"ready" in run.stdout)
        run.stop()
        run.outcome()
        assert [line for line in processes_marked(nothing_left).values() if f"{program}.py" in line] == []


@pytest.mark.skipif(sys.platform != "linux", reason="processes as Linux shows them")
@pytest.mark.parametrize("how", ["stop", "kill", "keeper"])
def test_a_storm_of_forks_is_ended_by_us_and_not_by_itself(how: str, nothing_left: str) -> None:
    with Engine() as engine:
        run = engine.start(Command(child("storm", 128, 300), limits=Limits(grace=0.05)))
        wait_until(lambda: b"full" in run.stdout, seconds=100)
        if how == "keeper":
            os.kill(
                int(Path(f"/proc/{run.pid}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL
            )
            with pytest.raises(agent_exec.AgentExecError):
                run.outcome()
        else:
            getattr(run, how)()
            assert run.outcome().signal == "SIGKILL"
        assert b"outlasted" not in run.stdout
        assert [line for line in processes_marked(nothing_left).values() if "storm.py" in line] == []


def test_processes_hidden_in_threads_and_subreapers_end() -> None:
    code = """
import ctypes, os, threading, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
def fork():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(1, b"%d\\n" % os.getpid())
            while True: time.sleep(3600)
        os._exit(0)
    time.sleep(3600)
for _ in range(3): threading.Thread(target=fork, daemon=True).start()
while True: time.sleep(3600)
"""
    with Engine() as engine:
        run = engine.start(Command(python(code)))
        wait_until(lambda: len(pids_of(run.stdout)) == 3)
        run.stop()
        assert [pid for pid in pids_of(run.outcome().stdout) if exists(pid)] == []


def test_a_timeout_may_be_as_long_as_a_year() -> None:
    assert agent_exec.run(["true"], timeout=366 * 86400).ok
    with Engine() as engine:
        assert engine.start(Command(["sleep", "0.05"], limits=Limits(timeout=366 * 86400))).outcome().ok


def test_a_second_stop_ends_the_patience_and_the_first_cause_stays() -> None:
    with Engine() as engine:
        run = engine.start(
            Command(["sh", "-c", "trap '' TERM; echo up; sleep 60 & wait"], limits=Limits(grace=1000))
        )
        wait_until(lambda: run.stdout == b"up\n")
        run.stop()
        wait_until(lambda: run.phase == "stopping")
        run.stop()
        out = run.outcome()
        assert (out.cause, out.signal) == ("stopped", "SIGKILL")
        run.stop()
        run.kill()


def test_kill_is_at_once() -> None:
    with Engine() as engine:
        run = engine.start(Command(["sleep", "60"], limits=Limits(grace=1000)))
        run.kill()
        out = run.outcome()
        assert (out.cause, out.signal) == ("stopped", "SIGKILL")


def test_stop_while_queued_never_starts_it(tmp_path: Path) -> None:
    with Engine(slots=1) as engine:
        blocker = engine.start(Command(["sleep", "60"]))
        queued = engine.start(Command(["touch", str(tmp_path / "ran")]))
        queued.stop()
        out = queued.outcome()
        assert (out.exit_code, out.signal, out.cause, out.pid) == (None, None, "stopped", None)
        blocker.stop()
        blocker.outcome()
    assert not (tmp_path / "ran").exists()


def test_a_signal_reaches_the_whole_tree() -> None:
    with Engine() as engine:
        run = engine.start(
            Command(["sh", "-c", "sh -c 'trap \"echo got\" USR1; echo up; while :; do sleep 0.01; done'"])
        )
        wait_until(lambda: run.stdout == b"up\n")
        run.signal("USR1")
        # The outer shell has no handler for it and ends; what it leaves is ended then.
        assert run.outcome().signal == "SIGUSR1"
        with pytest.raises(agent_exec.AgentExecError, match="no signal"):
            run.signal("NOPE")


def test_the_call_ends_soon_after_the_timeout_when_a_daemon_holds_the_pipe() -> None:
    """The clock of the outcome itself: the bench shows how soon, this shows that it is not for ever."""
    began = time.monotonic()
    out = agent_exec.run(["sh", "-c", "setsid sleep 600 & setsid sleep 600 & sleep 600"], timeout=0.2)
    assert out.timed_out
    assert time.monotonic() - began < 60


def test_a_deadline_is_moved_while_it_runs() -> None:
    with Engine() as engine:
        later = engine.start(Command(["sh", "-c", "sleep 1; exit 7"], limits=Limits(timeout=0.8)))
        later.expire(None)
        sooner = engine.start(Command(["sleep", "600"]))
        sooner.expire(0.01)
        assert sooner.outcome().timed_out
        assert (later.outcome().exit_code, later.outcome().timed_out) == (7, False)
        later.expire(1)  # harmless once it is over
