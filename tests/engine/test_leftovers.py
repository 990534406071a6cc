"""Promise 6: exited is not closed."""

import os
import signal
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine, Limits
from support import child, exists, wait_until


def test_a_background_child_does_not_hold_the_call() -> None:
    out = agent_exec.run(["sh", "-c", "sleep 60 & echo hi $!"])
    word, pid = out.stdout.split()
    assert (word, out.exit_code, out.leaked, out.cause) == (b"hi", 0, True, None)
    assert not exists(int(pid))
    assert out.duration < 30


@pytest.mark.parametrize("how", ["setsid sleep 60 & echo $!", "sleep 60 >/dev/null 2>&1 & echo $!"])
def test_it_is_ended_whatever_it_does_with_its_output(how: str) -> None:
    out = agent_exec.run(["sh", "-c", how])
    assert out.leaked
    assert not exists(int(out.stdout))


def test_a_daemon_is_ended() -> None:
    out = agent_exec.run(child("daemon"))
    assert out.leaked
    assert not exists(int(out.stdout))


def test_leftovers_are_left_when_asked() -> None:
    out = agent_exec.run(["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"], leftovers="leave")
    pid = int(out.stdout)
    assert out.leaked
    assert exists(pid)
    assert agent_exec.run(["true"]).ok, "the next run has a keeper of its own"
    assert exists(pid)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not exists(pid))


def test_what_is_left_lives_on_when_the_engine_is_closed() -> None:
    with Engine() as engine:
        out = engine.start(
            Command(["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"], leftovers="leave")
        ).outcome()
    pid = int(out.stdout)
    assert exists(pid)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not exists(pid))


def test_a_timeout_ends_even_what_could_be_left() -> None:
    out = agent_exec.run(["sh", "-c", "sleep 600 & echo $!; sleep 600"], leftovers="leave", timeout=0.3)
    assert out.timed_out
    assert not exists(int(out.stdout))


def test_a_writer_that_is_nearly_done_is_waited_for() -> None:
    """The shell is gone before tee has written; a bounded drain keeps tee's output, and it is no leak."""
    with Engine() as engine:
        out = engine.start(
            Command(["bash", "-c", "echo through > >(sleep 0.2; cat)"], limits=Limits(drain=20))
        ).outcome()
        assert (out.stdout, out.leaked, out.exit_code) == (b"through\n", False, 0)


def test_the_drain_is_bounded_while_the_leftover_floods() -> None:
    out = agent_exec.run(["sh", "-c", "yes & echo started"], keep=agent_exec.Head(8))
    assert out.stdout == b"started\n" or out.stdout.startswith(b"y\n")
    assert out.leaked


def test_a_stranger_that_holds_the_output_open_is_said_and_not_waited_for(tmp_path: Path) -> None:
    """The pipe's other end is handed to a process outside the tree, which nobody may end."""
    code = """
import array, os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1]))])
s.recv(1)
os.write(1, b"handed over")
"""
    import socket
    import threading

    held: list[int] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen(1)

        def hold() -> None:
            peer, _ = server.accept()
            with peer:
                _, fds, _, _ = socket.recv_fds(peer, 1, 1)
                held.extend(fds)
                peer.send(b"k")

        thread = threading.Thread(target=hold)
        thread.start()
        import sys

        out = agent_exec.run([sys.executable, "-c", code, str(tmp_path / "s")])
        thread.join()
    for fd in held:
        os.close(fd)
    assert (out.stdout, out.leaked, out.exit_code) == (b"handed over", True, 0)
