"""Promise 7: whatever happens to the caller, nothing of the run is left."""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine, Limits
from support import child, exists, processes_marked, wait_until

SOURCE = str(Path(agent_exec.__file__).parent.parent)


def test_keyboard_interrupt_ends_the_tree_waits_and_is_raised_again(nothing_left: str) -> None:
    pids: list[int] = []

    def note(_stream: str, chunk: bytes) -> None:
        pids.extend(int(word) for word in chunk.split())
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        agent_exec.run(["sh", "-c", "setsid sleep 600 & echo $!; sleep 600"], on_output=note)
    assert pids
    assert not any(exists(pid) for pid in pids)


def test_keyboard_interrupt_while_waiting(nothing_left: str) -> None:
    """The signal arrives while the call sleeps in the kernel, at any moment of the run."""
    code = """
import os, signal, sys, threading
sys.path.append(sys.argv[1])
import agent_exec
agent_exec.run(["true"])
delay = float(sys.argv[2])
def interrupt():
    threading.Event().wait(delay)
    os.kill(os.getpid(), signal.SIGINT)
try:
    threading.Thread(target=interrupt).start()
    agent_exec.run(["sh", "-c", "trap '' TERM; setsid sleep 600 & sleep 600"], grace=0.05)
except KeyboardInterrupt:
    print("interrupted")
"""
    for delay in (0.0, 0.0005, 0.001, 0.002, 0.004, 0.1):
        out = agent_exec.run([sys.executable, "-c", code, SOURCE, str(delay)])
        assert out.stdout == b"interrupted\n", out.stderr_text
        assert not out.leaked, "nothing was left of the inner run when its caller ended"


class Trouble(Exception):
    pass


@pytest.mark.parametrize("threaded", [True, False, None])
def test_an_exception_in_on_output_ends_the_tree_and_is_raised(threaded: bool | None) -> None:
    pids: list[int] = []

    def fail(_stream: str, chunk: bytes) -> None:
        pids.append(int(chunk))
        raise Trouble("in the callback")

    argv = ["sh", "-c", "setsid sleep 600 & echo $!; sleep 600"]
    with pytest.raises(Trouble, match="in the callback"):
        if threaded is None:
            agent_exec.run(argv, on_output=fail)
        else:
            with Engine(threaded=threaded) as engine:
                engine.start(Command(argv, on_output=fail)).outcome()
    assert len(pids) == 1
    assert not exists(pids[0])


def test_closing_the_engine_ends_every_run() -> None:
    engine = Engine()
    runs = [engine.start(Command(child("tree", "daemon", 2))) for _ in range(3)]
    wait_until(lambda: all(run.stdout.count(b"\n") == 3 for run in runs))
    pids = [int(word) for run in runs for word in run.stdout.split() if word.isdigit()]
    engine.close()
    engine.close()
    assert len(pids) == 6
    assert not any(exists(pid) for pid in pids)
    assert {run.outcome().cause for run in runs} == {"stopped"}
    with pytest.raises(agent_exec.AgentExecError) as caught:
        engine.start(Command(["true"]))
    assert caught.value.code == "invalid_state"


def test_leaving_the_engine_by_an_exception_ends_every_run() -> None:
    with pytest.raises(Trouble), Engine() as engine:
        run = engine.start(Command(["sleep", "600"]))
        wait_until(lambda: run.pid)
        raise Trouble
    assert run.pid is not None
    assert not exists(run.pid)


KILLED_CALLER = """
import os, sys, time
sys.path.append(sys.argv[1])
import agent_exec
if sys.argv[2] == "run":
    agent_exec.run(sys.argv[3:], on_output=lambda s, c: (os.write(1, c), None))
else:
    engine = agent_exec.Engine(threaded=sys.argv[2] == "threaded")
    run = engine.start(agent_exec.Command(sys.argv[3:], tty=True, on_output=lambda s, c: (os.write(1, c), None)))
    if sys.argv[2] == "forked" and os.fork() == 0:
        time.sleep(3600)
    run.outcome()
"""


@pytest.mark.parametrize("how", ["run", "threaded", "inline", "forked"])
@pytest.mark.parametrize("kind", ["plain", "daemon", "deaf"])
def test_a_caller_killed_by_sigkill_leaves_nothing(how: str, kind: str, nothing_left: str) -> None:
    """Its own process cannot tidy up any more; its keepers do, even when a forked copy of it lives on."""
    seen: list[bytes] = []
    with Engine() as engine:
        caller = engine.start(
            Command(
                [sys.executable, "-c", KILLED_CALLER, SOURCE, how, *child("tree", kind, 4)],
                on_output=lambda _, chunk: seen.append(chunk),
                leftovers="leave",
                limits=Limits(drain=0),
            )
        )
        wait_until(lambda: b"ready" in b"".join(seen) and b"".join(seen).count(b"\n") == 5)
        pids = [int(word) for word in b"".join(seen).split() if word.isdigit()]
        assert len(pids) == 4
        assert caller.pid is not None
        os.kill(caller.pid, signal.SIGKILL)
        wait_until(lambda: not any(exists(pid) for pid in pids))
        caller.outcome()
    for pid, line in processes_marked(nothing_left).items():
        if how == "forked" and "run.outcome()" in line:
            os.kill(pid, signal.SIGKILL)  # the copy, which sleeps


def test_a_caller_that_exits_without_closing_leaves_nothing(nothing_left: str) -> None:
    code = """
import sys
sys.path.append(sys.argv[1])
import agent_exec
engine = agent_exec.Engine()
run = engine.start(agent_exec.Command(["sleep", "600"]))
while run.pid is None: pass
print(run.pid)
"""
    out = agent_exec.run([sys.executable, "-W", "error", "-c", code, SOURCE], leftovers="leave")
    assert out.stderr == b""
    wait_until(lambda: not exists(int(out.stdout)))


def test_a_forked_copy_of_the_caller_makes_its_own_keepers() -> None:
    code = """
import os, sys
sys.path.append(sys.argv[1])
import agent_exec
engine = agent_exec.Engine(); engine.start(agent_exec.Command(["true"])).outcome()
agent_exec.run(["true"])
pid = os.fork()
if pid == 0:
    out = agent_exec.run(["echo", "copy"])
    try:
        engine.start(agent_exec.Command(["true"]))
    except agent_exec.AgentExecError as error:
        os.write(1, out.stdout + error.code.encode() + b"\\n")
    os._exit(0)
os.waitpid(pid, 0)
os.write(1, agent_exec.run(["echo", "original"]).stdout)
engine.close()
"""
    out = agent_exec.run([sys.executable, "-c", code, SOURCE])
    assert out.stdout == b"copy\ninvalid_state\noriginal\n", out.stderr_text


def test_the_callers_own_children_and_waiting_are_its_own() -> None:
    """We add no child to the caller, so that its own wait for children never meets one of ours."""
    code = """
import os, sys, time
sys.path.append(sys.argv[1])
import agent_exec
engine = agent_exec.Engine()
run = engine.start(agent_exec.Command(["cat"], interactive=True))
agent_exec.run(["true"])
while run.pid is None: time.sleep(0.001)
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("no child")
run.end_input(); run.outcome(); engine.close()
"""
    out = agent_exec.run([sys.executable, "-c", code, SOURCE])
    assert out.stdout == b"no child\n", out.stderr_text


def test_ctrl_c_of_a_terminal_reaches_the_caller_and_not_the_keepers() -> None:
    """A person's ^C goes to the caller's whole process group; the command hears of it from us, politely."""
    code = """
import sys
sys.path.append(sys.argv[1])
import agent_exec
print("up", flush=True)
try:
    agent_exec.run(["sh", "-c", "trap 'echo polite; exit 0' TERM; trap 'echo rude' INT; echo in; sleep 60 & wait"],
                   on_output=lambda s, c: (sys.stdout.write(c.decode()), sys.stdout.flush()), grace=20)
except KeyboardInterrupt:
    print("caught")
"""
    with Engine() as engine:
        run = engine.start(Command([sys.executable, "-c", code, SOURCE], tty=True))
        wait_until(lambda: b"in\r\n" in run.stdout)
        run.write(b"\x03")
        out = run.outcome()
    assert b"caught" in out.stdout
    assert b"rude" not in out.stdout
    assert not out.leaked


def test_two_threads_in_one_call_each() -> None:
    results: list[bytes] = []

    def work(index: int) -> None:
        results.extend(agent_exec.run(["echo", str(index)]).stdout for _ in range(5))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(f"{index}\n".encode() for index in range(12) for _ in range(5))
