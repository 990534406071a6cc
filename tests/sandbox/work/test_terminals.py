"""Terminals and the streams by their names, in a box."""

import pytest

from agent_exec import Command, Engine, Limits, Terminal
from sandbox.work.boxes import Space, left, need
from support import wait_until


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_streams_by_their_names(room: Space, shell: str) -> None:
    line = "echo a >/dev/stdout; echo b >/dev/fd/1; echo c >>/proc/self/fd/1; echo e >/dev/stderr; echo f >&2; echo n >/dev/null"
    out = room.run(shell, "-c", line)
    assert (out.stdout, out.stderr, out.exit_code) == (b"a\nb\nc\n", b"e\nf\n", 0)
    assert (
        room.sh("cat /dev/stdin | tee /dev/stderr >/dev/null; cat < /dev/fd/0", shell=shell, stdin=None) == ""
    )
    assert room.run("cat", "/dev/stdin", stdin=b"fed").stdout == b"fed"


def test_devices(room: Space) -> None:
    assert room.sh(
        "head -c 4 /dev/zero | od -An -tx1; head -c 8 /dev/urandom | wc -c; head -c 1 /dev/random | wc -c"
    ).split() == ["00"] * 4 + ["8", "1"]
    assert b"No space left" in room.run("bash", "-c", "echo x > /dev/full").stderr
    assert room.run("sh", "-c", ": > /dev/tty").exit_code != 0


def test_a_controlling_terminal(space: Space) -> None:
    out = space.run(
        "sh",
        "-c",
        "tty; echo err >&2; ps -o tty= -p $$; : </dev/tty && echo ctty; echo direct >/dev/tty; stty size",
        tty=True,
    )
    lines = out.stdout_text.split("\r\n")
    assert lines[0].startswith("/dev/pts/")
    assert lines[1] == "err"
    assert lines[0].endswith(lines[2].strip())
    assert lines[3:6] == ["ctty", "direct", "24 80"]
    assert (out.exit_code, out.stderr, out.leaked) == (0, b"", False)


def test_terminals_made_inside(space: Space) -> None:
    code = """
import os, pty, select
master, slave = os.openpty(); print(os.ttyname(slave)); os.write(slave, b"x"); print(os.read(master, 9))
pid, fd = pty.fork()
if pid == 0: os.execvp("sh", ["sh", "-c", "tty; read line; echo got $line"])
os.write(fd, b"hello\\n"); said = b""
try:
    while piece := os.read(fd, 1024): said += piece
except OSError: pass
print(b"got hello" in said, os.waitpid(pid, 0)[1])
"""
    lines = space.py(code).splitlines()
    assert lines[0].startswith("/dev/pts/")
    assert lines[1:] == ["b'x'", "True 0"]
    need("script")
    assert space.sh("script -qec 'tty; echo in' typescript").split()[1] == "in"
    assert "in" in (space.root / "typescript").read_text()


def test_ctrl_c_and_a_new_size(room: Space) -> None:
    code = """
import os, signal
heard = [signal.SIGWINCH, signal.SIGINT]
signal.pthread_sigmask(signal.SIG_BLOCK, heard)  # so that none can come before it is waited for
while True:
    os.write(1, b"%dx%d\\n" % tuple(reversed(os.get_terminal_size())))
    if signal.sigwait(heard) == signal.SIGINT: os.write(1, b"interrupted\\n"); os._exit(9)
"""
    with Engine() as engine:
        command = Command([room.python, "-IS", "-c", code], cwd=room.root, tty=True, size=Terminal(30, 100))
        run = engine.start(command, sandbox=room.profile)
        wait_until(lambda: b"30x100" in run.stdout)
        run.resize(40, 120)
        wait_until(lambda: b"40x120" in run.stdout)
        run.write(b"\x03")
        out = run.outcome()
    assert (out.exit_code, out.cause, out.leaked) == (9, None, False)
    assert b"interrupted" in out.stdout


def test_job_control_in_an_interactive_shell(room: Space) -> None:
    with Engine() as engine:
        shell = Command(
            ["bash", "--norc", "--noprofile", "-i"],
            cwd=room.root,
            tty=True,
            env={"PS1": "ready> ", "PATH": "/usr/bin:/bin", "TERM": "dumb"},
        )
        run = engine.start(shell, sandbox=room.profile)
        wait_until(lambda: run.stdout.count(b"ready> ") == 1)
        assert b"job control" not in run.stdout
        run.write(b"(echo be''gun; exec sleep 600)\n")
        wait_until(lambda: b"begun" in run.stdout)
        run.write(b"\x1a")
        wait_until(lambda: b"Stopped" in run.stdout and run.stdout.count(b"ready> ") == 2)
        run.write(b"bg; kill %1; wait; echo do''ne\n")
        wait_until(lambda: b"done" in run.stdout)
        run.write(b"exit 4\n")
        assert run.outcome().exit_code == 4


def test_a_lot_of_terminal_output_and_input(room: Space) -> None:
    out = room.run("seq", 1, 20000, tty=True)
    assert out.stdout.split() == [str(n).encode() for n in range(1, 20001)]
    assert room.run("cat", stdin=b"typed\n", tty=True).stdout == b"typed\r\ntyped\r\n"


@pytest.mark.parametrize("kind", ["plain", "daemon", "deaf"])
def test_the_whole_tree_of_a_terminal_ends(room: Space, kind: str, nothing_left: str) -> None:
    with Engine() as engine:
        command = Command(room.child("tree", kind, 5), cwd=room.root, tty=True, limits=Limits(grace=0.1))
        run = engine.start(command, sandbox=room.profile)
        wait_until(lambda: b"ready" in run.stdout and run.stdout.count(b"\n") == 6)
        assert len(left(nothing_left, "tree.py")) == 6
        run.stop()
        run.outcome()
        assert left(nothing_left, "tree.py") == {}


def test_many_terminals_one_after_the_other_keep_their_numbers_low(room: Space) -> None:
    names = {room.run("tty", tty=True).stdout.strip() for _ in range(20)}
    assert names == {b"/dev/pts/0"}
