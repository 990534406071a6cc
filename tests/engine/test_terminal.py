"""Promise 9: a run on a terminal is a run like any other."""

import os
import sys
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine, Limits, Terminal
from support import child, exists, wait_until


def test_a_terminal_run_has_a_controlling_terminal_and_its_output_is_stdout() -> None:
    out = agent_exec.run(
        ["sh", "-c", "tty; echo err >&2; ps -o tty= -p $$; : </dev/tty && echo ctty"], tty=True
    )
    lines = out.stdout_text.split("\r\n")
    assert lines[0].startswith("/dev/pts/")
    assert lines[1] == "err"
    assert lines[0].endswith(lines[2].strip())
    assert lines[3] == "ctty"
    assert (out.stderr, out.exit_code) == (b"", 0)


@pytest.mark.parametrize("code", [0, 3])
def test_the_end_of_a_terminal_is_not_an_error(code: int) -> None:
    for _ in range(20):
        out = agent_exec.run(["sh", "-c", f"printf end; exit {code}"], tty=True)
        assert (out.stdout, out.exit_code, out.leaked) == (b"end", code, False)


def test_a_lot_of_terminal_output_arrives_whole() -> None:
    out = agent_exec.run(["seq", "1", "20000"], tty=True)
    assert out.stdout.split() == [str(n).encode() for n in range(1, 20001)]


def test_ctrl_c_reaches_the_foreground_job() -> None:
    with Engine() as engine:
        run = engine.start(
            Command(
                ["sh", "-c", "trap 'echo got it; exit 9' INT; echo up; while :; do sleep 0.05; done"],
                tty=True,
            )
        )
        wait_until(lambda: b"up" in run.stdout)
        run.write(b"\x03")
        out = run.outcome()
        assert b"got it" in out.stdout
        assert (out.exit_code, out.cause) == (9, None)


def test_job_control_in_an_interactive_shell() -> None:
    with Engine() as engine:
        shell = Command(
            ["bash", "--norc", "--noprofile", "-i"],
            tty=True,
            env={"PS1": "ready> ", "PATH": "/usr/bin:/bin", "TERM": "dumb"},
        )
        run = engine.start(shell)
        wait_until(lambda: run.stdout.count(b"ready> ") == 1)
        assert b"job control" not in run.stdout
        run.write(b"sleep 600\n")
        wait_until(lambda: _foreground(run) == "sleep")
        run.write(b"\x1a")
        wait_until(lambda: b"Stopped" in run.stdout and run.stdout.count(b"ready> ") == 2)
        run.write(b"fg\n")
        wait_until(lambda: _foreground(run) == "sleep")
        run.write(b"\x03")
        wait_until(lambda: run.stdout.count(b"ready> ") == 3)
        run.write(b"exit 4\n")
        assert run.outcome().exit_code == 4


def _foreground(run: agent_exec.Run) -> str:
    """Give the name of the program that leads the foreground of a run's terminal, as the kernel tells it."""
    group = Path(f"/proc/{run.pid}/stat").read_text().rpartition(")")[2].split()[5]
    try:
        return Path(f"/proc/{group}/comm").read_text().strip()
    except FileNotFoundError:
        return ""


def test_size_and_resize() -> None:
    code = """
import os, signal
show = lambda *_: os.write(1, b"%dx%d\\n" % tuple(reversed(os.get_terminal_size())))
signal.signal(signal.SIGWINCH, show)
show()
while True: signal.pause()
"""
    with Engine() as engine:
        run = engine.start(Command([sys.executable, "-IS", "-c", code], tty=True, size=Terminal(30, 100)))
        wait_until(lambda: b"30x100" in run.stdout)
        run.resize(40, 120)
        wait_until(lambda: b"40x120" in run.stdout)
        run.stop()
        run.outcome()
        plain = engine.start(Command(["sleep", "600"]))
        with pytest.raises(agent_exec.AgentExecError) as caught:
            plain.resize(1, 1)
        assert caught.value.code == "invalid_state"
        with pytest.raises(agent_exec.AgentExecError) as caught:
            run.resize(0, 10)
        assert caught.value.code == "invalid_argument"
    assert agent_exec.run(["stty", "size"], tty=True).stdout == b"24 80\r\n"


@pytest.mark.parametrize("text", [b"", b"line\n", b"no newline"])
def test_end_of_input_on_a_terminal(text: bytes) -> None:
    with Engine() as engine:
        run = engine.start(Command(["sh", "-c", "stty -echo; echo up; cat; echo over"], tty=True))
        wait_until(lambda: b"up" in run.stdout)
        if text:
            run.write(text)
        run.end_input()
        out = run.outcome()
        assert out.stdout.replace(b"\r", b"") == b"up\n" + text + b"over\n"


def test_stdin_is_typed_on_a_terminal() -> None:
    out = agent_exec.run(["cat"], stdin=b"typed\n", tty=True)
    assert out.stdout == b"typed\r\ntyped\r\n"


def test_more_input_than_a_terminal_takes_at_once() -> None:
    data = b"x" * 60 + b"\n"
    with Engine() as engine:
        run = engine.start(
            Command(
                ["sh", "-c", "stty -echo -icanon; echo up; head -c 610000 | wc -c"],
                tty=True,
                keep=agent_exec.Tail(4096),
            )
        )
        wait_until(lambda: b"up" in run.stdout)
        run.write(data * 10_000)
        assert run.outcome().stdout.split()[-1] == b"610000"


def test_a_terminal_that_is_not_read_by_the_command_does_not_block_the_engine() -> None:
    with Engine() as engine:
        deaf = engine.start(Command(["sleep", "600"], tty=True))
        deaf.write(b"y" * 1_000_000)
        assert engine.start(Command(["echo", "alive"])).outcome().stdout == b"alive\n"
        deaf.stop()
        assert deaf.outcome().cause == "stopped"


@pytest.mark.parametrize("kind", ["plain", "daemon", "deaf"])
def test_the_whole_tree_of_a_terminal_ends(kind: str) -> None:
    with Engine() as engine:
        run = engine.start(Command(child("tree", kind, 5), tty=True, limits=Limits(grace=0.1)))
        wait_until(lambda: b"ready" in run.stdout and run.stdout.count(b"\n") == 6)
        run.stop()
        pids = [int(word) for word in run.outcome().stdout.split() if word.isdigit()]
        assert len(pids) == 5
        assert not any(exists(pid) for pid in pids)


def test_a_timeout_on_a_terminal_keeps_partial_output() -> None:
    out = agent_exec.run(["sh", "-c", "echo partial; sleep 600"], tty=True, timeout=0.3)
    assert (out.stdout, out.cause) == (b"partial\r\n", "timeout")


def test_a_background_job_of_a_terminal_does_not_hold_the_call() -> None:
    out = agent_exec.run(child("daemon"), tty=True)
    assert out.leaked
    assert not exists(int(out.stdout))


def test_two_descriptors_a_terminal_session() -> None:
    with Engine() as engine:
        first = engine.start(Command(["cat"], tty=True))
        wait_until(lambda: first.pid)
        before = len(os.listdir("/proc/self/fd"))
        runs = [engine.start(Command(["cat"], tty=True)) for _ in range(10)]
        wait_until(lambda: all(run.pid for run in runs))
        assert len(os.listdir("/proc/self/fd")) == before + 2 * 10
