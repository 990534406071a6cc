"""Corners where a careless engine loses something, blocks, or says what is not so."""

import gc
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine, Head, Limits, Lines
from support import descriptors, exists, wait_until

SOURCE = str(Path(agent_exec.__file__).parent.parent)
MIB = 1 << 20


def test_a_resize_before_the_terminal_is_there_is_not_lost() -> None:
    with Engine() as engine:
        run = engine.start(Command(["sh", "-c", "sleep 0.3; stty size"], tty=True))
        run.resize(40, 120)
        assert run.outcome().stdout == b"40 120\r\n"


def test_writing_more_than_a_pipe_holds_does_not_block() -> None:
    with Engine() as engine:
        deaf = engine.start(Command(["sleep", "600"], interactive=True))
        deaf.write(b"x" * MIB)
        wait_until(lambda: deaf.pid)
        deaf.write(b"y" * (10 * MIB))
        assert engine.start(Command(["echo", "alive"])).outcome().stdout == b"alive\n"
        deaf.stop()
        assert deaf.outcome().cause == "stopped"


def test_what_is_written_at_once_comes_after_what_was_given() -> None:
    with Engine() as engine:
        for _ in range(30):
            run = engine.start(Command(["cat"], stdin=b"first ", interactive=True))
            run.write(b"second ")
            run.write(b"third")
            run.end_input()
            assert run.outcome().stdout == b"first second third"


@pytest.mark.parametrize("size", [16384 + MIB, 2 * MIB, 65536])
def test_a_full_pipe_at_the_end_is_no_leak(size: int) -> None:
    calls: list[int] = []

    def slow(_stream: str, chunk: bytes) -> None:
        if not calls:
            time.sleep(0.3)  # the command has filled its pipe and is gone before we look again
        calls.append(len(chunk))

    out = agent_exec.run(["head", "-c", str(size), "/dev/zero"], on_output=slow)
    assert (out.leaked, out.stdout_observed, sum(calls)) == (False, size, size)


def test_a_command_that_ended_by_itself_did_not_overflow() -> None:
    command = Command(["echo", "0123456789"], keep=Head(4), limits=Limits(overflow="stop"))
    with Engine() as engine:
        out = engine.start(command).outcome()
    assert (out.cause, out.exit_code, out.stdout, out.stdout_observed) == (None, 0, b"0123", 11)


def test_lines_that_fit_exactly_are_all_kept() -> None:
    lines = Lines(1000, 8192)
    line = b"x" * 63 + b"\n"
    for _ in range(3):
        lines.feed(line * 128)
    assert lines.value() == line * 128
    assert lines.overflowed
    few = Lines(2, 100)
    few.feed(b"one\ntwo")
    assert not few.overflowed
    few.feed(b"\nthree")
    assert few.overflowed
    assert few.value() == b"two\nthree"


@pytest.mark.parametrize("threaded", [True, False])
def test_another_thread_may_stop_what_this_one_waits_for(threaded: bool) -> None:
    with Engine(threaded=threaded) as engine:
        run = engine.start(Command(["sleep", "600"]))
        timer = threading.Timer(0.1, run.stop)
        timer.start()
        assert run.outcome().cause == "stopped"
        timer.join()


def test_looking_without_waiting_drives_an_engine_that_has_no_thread() -> None:
    with Engine(threaded=False) as engine:
        run = engine.start(Command(["true"]))
        wait_until(lambda: run.wait(0))
        assert run.outcome().ok


def test_a_second_exception_while_the_first_is_handled_leaves_nothing() -> None:
    code = """
import signal, sys
sys.path.append(sys.argv[1])
import agent_exec
class Trouble(Exception): pass
def trouble(*_): raise Trouble
signal.signal(signal.SIGALRM, trouble)
def ready(_stream, chunk):
    print(int(chunk), flush=True)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.2)
try:
    agent_exec.run(["sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.1; done"], grace=600, on_output=ready)
except Trouble:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("left", flush=True)
sys.stdout.flush(); sys.stdin.read()
"""
    with Engine() as engine:
        caller = engine.start(Command([sys.executable, "-c", code, SOURCE], interactive=True))
        wait_until(lambda: b"left" in caller.stdout)
        assert not exists(int(caller.stdout.split()[0]))
        caller.end_input()
        assert caller.outcome().ok


def test_a_grace_as_long_as_allowed_is_no_trouble_for_an_interrupt() -> None:
    def interrupt(_stream: str, _chunk: bytes) -> None:
        os.kill(os.getpid(), signal.SIGALRM)

    class Trouble(Exception):
        pass

    def trouble(*_: object) -> None:
        raise Trouble

    former = signal.signal(signal.SIGALRM, trouble)
    try:
        with pytest.raises(Trouble):
            agent_exec.run(["sh", "-c", "echo; exec sleep 600"], grace=366 * 86400, on_output=interrupt)
    finally:
        signal.signal(signal.SIGALRM, former)


@pytest.mark.parametrize("disposition", ["SIG_DFL", "SIG_IGN"])
def test_a_command_that_closes_its_input_does_not_kill_a_caller_that_dies_of_sigpipe(
    disposition: str,
) -> None:
    code = f"""
import signal, sys
sys.path.append(sys.argv[1])
import agent_exec
signal.signal(signal.SIGPIPE, signal.{disposition})
for _ in range(5):
    out = agent_exec.run(["sh", "-c", "exec <&-; sleep 0.05; echo on"], stdin=b"x" * 1000000)
    assert out.stdout == b"on\\n", out
print(signal.getsignal(signal.SIGPIPE) == signal.{disposition}, signal.SIGPIPE in signal.sigpending())
"""
    out = agent_exec.run([sys.executable, "-c", code, SOURCE])
    assert out.stdout == b"True False\n", (out.signal, out.stderr_text)


def test_a_fork_while_another_thread_starts_its_first_command() -> None:
    code = """
import os, sys, threading
sys.path.append(sys.argv[1])
import agent_exec
from agent_exec.engine.engine import close_shared  # and with it, all modules
agent_exec.run
for _ in range(10):
    close_shared()
    thread = threading.Thread(target=lambda: [agent_exec.run(["true"]) for _ in range(5)])
    thread.start()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if agent_exec.run(["echo", "x"]).stdout == b"x\\n" else 1)
    assert os.waitpid(pid, 0)[1] == 0
    thread.join()
print("fine")
"""
    out = agent_exec.run([sys.executable, "-W", "ignore", "-c", code, SOURCE], timeout=60)
    assert out.stdout == b"fine\n", (out.cause, out.stderr_text)


def test_a_signal_handler_may_run_a_command_in_the_middle_of_another() -> None:
    code = """
import signal, sys
sys.path.append(sys.argv[1])
import agent_exec
from agent_exec.engine.engine import close_shared
agent_exec.run
inner = []
def handler(*_):
    inner.append(agent_exec.run(["echo", "inner"]).stdout)
signal.signal(signal.SIGALRM, handler)
for delay in (0.0001, 0.001, 0.005, 0.01, 0.02):
    close_shared()
    signal.setitimer(signal.ITIMER_REAL, delay)
    assert agent_exec.run(["sh", "-c", "sleep 0.05; echo outer"]).stdout == b"outer\\n"
print(len(inner), set(inner))
"""
    out = agent_exec.run([sys.executable, "-c", code, SOURCE], timeout=60)
    assert out.stdout == b"5 {b'inner\\n'}\n", (out.cause, out.stderr_text)


def test_an_engine_that_is_forgotten_keeps_no_descriptor() -> None:
    before = descriptors()
    for _ in range(5):
        Engine()
        Engine(threaded=False)
    gc.collect()
    assert descriptors() == before


def test_a_finished_run_is_no_garbage_for_the_collector() -> None:
    """Reference counting frees it, and what it kept, at once."""
    gc.collect()
    gc.disable()
    try:
        agent_exec.run(["echo", "x"])
        with Engine(threaded=False) as engine:
            engine.start(Command(["echo", "x"], tty=True)).outcome()
            assert [each for each in gc.get_objects() if isinstance(each, agent_exec.Run)] == []
    finally:
        gc.enable()


def test_bad_input_of_any_kind_is_a_typed_error(tmp_path: Path) -> None:
    bad: list[tuple[list[object], dict[str, object]]] = [
        (["\ud800"], {}),
        (["true", "\ud800"], {}),
        (["true"], {"cwd": "\ud800"}),
        (["true"], {"env": {"A": "\ud800"}}),
        (["true"], {"env": ["A=1"]}),
        (["true"], {"size": (24, 80)}),
        (["true"], {"limits": 5}),
        (["true"], {"keep": agent_exec.Head.__mro__[1]()}),
    ]
    for argv, terms in bad:
        with pytest.raises(agent_exec.AgentExecError) as caught:
            Command(argv, **terms)  # type: ignore[arg-type]
        assert caught.value.code == "invalid_argument"
    assert isinstance(hash(Command(["true"], env={})), int)
    with Engine() as engine:
        run = engine.start(Command(["sleep", "0.05"]))
        assert run.wait(1e11) is True


def test_a_script_in_path_whose_interpreter_is_missing(tmp_path: Path) -> None:
    script = tmp_path / "orphan"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(agent_exec.AgentExecError) as caught:
        agent_exec.run(["orphan"], env={"PATH": str(tmp_path)})
    assert caught.value.code == "command_not_executable"
    assert "interpreter" in caught.value.message


def test_a_nameless_variable_of_a_careless_parent_is_no_trouble() -> None:
    code = """
import os, sys
sys.path.append(sys.argv[1])
import agent_exec
os.environb._data[b""] = b"x"
print(agent_exec.run(["echo", "fine"]).stdout_text.strip())
"""
    assert agent_exec.run([sys.executable, "-c", code, SOURCE]).stdout == b"fine\n"
