"""Promise 10: a process is more than its pid, and a reused pid is never signalled."""

import os
import signal
import subprocess
import sys

import pytest

import agent_exec
from agent_exec import Command, Engine
from agent_exec.host import identify, is_alive, send_signal, signal_name, signal_number
from agent_exec.model.identity import Identity
from support import wait_until


def test_an_identity_is_pid_start_and_boot() -> None:
    me = identify(os.getpid())
    assert me is not None
    assert me.pid == os.getpid()
    assert me.start > 0
    assert len(me.boot) == 36
    assert is_alive(me)
    assert identify(os.getpid()) == me


def test_another_process_with_the_same_pid_is_another() -> None:
    me = identify(os.getpid())
    assert me is not None
    for other in (Identity(me.pid, me.start - 1, me.boot), Identity(me.pid, me.start, "another boot")):
        assert not is_alive(other)
        assert send_signal(other, signal.SIGKILL) is False


def test_a_pid_that_is_worn_again_is_not_signalled() -> None:
    """For real, in a pid namespace where we choose the next pid."""
    code = """
import os, sys
sys.path.append(sys.argv[1])
from agent_exec.host import identify, send_signal
first = os.fork()
if first == 0:
    os.pause() if hasattr(os, "pause") else __import__("signal").pause()
former = identify(first)
os.kill(first, 9); os.waitpid(first, 0)
import time; time.sleep(0.05)
open("/proc/sys/kernel/ns_last_pid", "w").write(str(first - 1))
second = os.fork()
if second == 0:
    __import__("signal").pause()
assert second == first, (first, second)
print(send_signal(former, 9), os.waitpid(second, os.WNOHANG), send_signal(identify(second), 9))
os.waitpid(second, 0)
"""
    source = agent_exec.__file__.rpartition("/agent_exec/")[0]
    out = agent_exec.run(
        [
            "unshare",
            "--user",
            "--map-root-user",
            "--pid",
            "--fork",
            "--mount-proc",
            sys.executable,
            "-c",
            code,
            source,
        ]
    )
    if b"unshare" in out.stderr and not out.ok:
        pytest.skip("no pid namespaces for us on this machine")
    assert out.stdout == b"False (0, 0) True\n", out.stderr_text


def test_a_process_that_is_gone_is_not_alive_and_not_signalled() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        identity = identify(process.pid)
        assert identity is not None
        assert is_alive(identity)
        assert send_signal(identity, signal.SIGKILL) is True
    assert not is_alive(identity)
    assert send_signal(identity, signal.SIGKILL) is False
    assert identify(process.pid) is None


def test_a_run_has_an_identity() -> None:
    with Engine() as engine:
        run = engine.start(Command(["sleep", "600"]))
        wait_until(lambda: run.pid)
        assert run.identity == identify(run.pid or 0)
        run.stop()
        run.outcome()
        assert run.identity is None


@pytest.mark.parametrize("name", ["TERM", "SIGTERM", "sigterm", "15"])
def test_a_signal_by_any_of_its_names(name: str) -> None:
    assert signal_number(name) == signal.SIGTERM


def test_signals_and_names_match_the_systems() -> None:
    for number in signal.valid_signals():
        name = signal_name(number)
        assert signal_number(name) == number or name.startswith("SIGRTMIN")
    assert signal_name(signal.SIGRTMIN + 2) == "SIGRTMIN+2"
    assert signal_name(signal.SIGCHLD) == "SIGCHLD"
    assert signal_name(signal.SIGABRT) == "SIGABRT"
    for wrong in ("NOPE", "0", "-1", "999", "", "SIG"):
        assert signal_number(wrong) is None
