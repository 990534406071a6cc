"""Commands and callers that mean harm, or are only clumsy: one run may suffer, never the others."""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine, Limits
from support import exists, wait_until

SOURCE = str(Path(agent_exec.__file__).parent.parent)
TRACED = "import ctypes, os, signal, time; ctypes.CDLL(None).ptrace(0, 0, 0, 0); "


def test_a_command_that_makes_its_keeper_its_tracer_is_let_go() -> None:
    """Its signals stop it before the eyes of its tracer, who must not take that for its end."""
    handled = TRACED + (
        "signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b'handled')); os.kill(os.getpid(), signal.SIGUSR1); "
        "time.sleep(0.05); os._exit(7)"
    )
    with Engine() as engine:
        bystander = engine.start(Command(["cat"], interactive=True))
        out = engine.start(Command([sys.executable, "-c", handled])).outcome()
        assert (out.exit_code, out.stdout, out.signal) == (7, b"handled", None)
        for action in ("stop", "timeout"):
            waiting = TRACED + "print(1, flush=True); time.sleep(600)"
            limits = Limits(timeout=0.5 if action == "timeout" else None)
            run = engine.start(Command([sys.executable, "-c", waiting], limits=limits))
            wait_until(lambda run=run: run.stdout)  # type: ignore[misc]
            if action == "stop":
                run.stop()
            assert run.outcome().signal == "SIGTERM"
        bystander.end_input()
        assert bystander.outcome().ok


@pytest.mark.parametrize("how", ["timeout", "stop", "exception"])
def test_a_command_that_stops_all_its_helpers_ends_all_the_same(how: str) -> None:
    script = "K=$PPID; F=$(ps -o ppid= -p $K); echo up; kill -STOP $F $K; sleep 600"
    if how == "timeout":
        assert agent_exec.run(["sh", "-c", script], timeout=0.5).timed_out
    elif how == "stop":
        with Engine() as engine:
            run = engine.start(Command(["sh", "-c", script]))
            wait_until(lambda: run.stdout)
            run.stop()
            assert run.outcome().cause == "stopped"
    else:
        with pytest.raises(ZeroDivisionError):
            agent_exec.run(["sh", "-c", script], on_output=lambda *_: 1 // 0)


def test_a_command_that_stops_its_helpers_before_their_report_is_ended() -> None:
    """Within the first milliseconds, while they listen for nothing but its end."""
    script = "read -r _ _ _ F _ </proc/$PPID/stat; kill -STOP $F $PPID; echo up; sleep 600"
    with pytest.raises(ZeroDivisionError):
        agent_exec.run(["sh", "-c", script], on_output=lambda *_: 1 // 0)


def test_a_terminal_outlives_the_descriptors_of_its_command() -> None:
    script = "exec </dev/null >/dev/null 2>&1; sleep 0.2; echo late >/dev/tty; exit 7"
    out = agent_exec.run(["sh", "-c", script], tty=True)
    assert (out.exit_code, out.signal, out.stdout, out.leaked) == (7, None, b"late\r\n", False)


@pytest.mark.parametrize("tty", [False, True])
def test_a_forked_copy_of_the_caller_holds_nothing_of_a_run(tty: bool) -> None:
    """Neither its input, whose end the command would not see, nor its output, which would look leaked."""
    with Engine() as engine:
        run = engine.start(Command(["cat"], interactive=True, tty=tty))
        wait_until(lambda: run.pid)
        reader, writer = os.pipe()
        copy = os.fork()
        if copy == 0:
            os.write(writer, b"!")
            signal.pause()
            os._exit(0)
        try:
            assert os.read(reader, 1) == b"!"
            run.end_input()
            out = run.outcome()
            assert (out.exit_code, out.leaked) == (0, False)
        finally:
            os.kill(copy, signal.SIGKILL)
            os.waitpid(copy, 0)
            os.close(reader)
            os.close(writer)


INTERRUPTED = """
import os, signal, sys
sys.path.append(sys.argv[1])
import agent_exec
from agent_exec.engine.engine import close_shared
class Trouble(Exception): pass
def trouble(*_): raise Trouble
signal.signal(signal.SIGALRM, trouble)
agent_exec.run(["true"])
close_shared()
for index in range(150):
    if index % 10 == 0:
        close_shared()
    try:
        # Again after 5 s: Python hears of a signal that comes just before it sleeps only with the next one.
        signal.setitimer(signal.ITIMER_REAL, 0.0001 + index % 30 * 0.0007, 5)
        agent_exec.run(["sleep", "600"], grace=0.05)
    except Trouble:
        signal.setitimer(signal.ITIMER_REAL, 0)
    children = open(f"/proc/self/task/{os.getpid()}/children").read()
    assert not children, children
close_shared()
print("fine")
"""


def test_interrupts_at_any_moment_leave_no_process() -> None:
    """The command's are looked for by the fixture, by their mark."""
    out = agent_exec.run([sys.executable, "-c", INTERRUPTED, SOURCE], leftovers="leave")
    assert out.stdout == b"fine\n", out.stderr_text
    assert not out.leaked


HELD = """
import gc, sys
sys.path.append(sys.argv[1])
import agent_exec
from agent_exec.engine.engine import close_shared
from agent_exec.host.posix.process import spawner
class Trouble(Exception): pass
class Keeper(spawner.Keeper):
    def __init__(self, *given):
        super().__init__(*given)
        raise Trouble
spawner.Keeper = Keeper
gc.disable()
for _ in range(3):
    try:
        agent_exec.run(["true"])
    except Trouble:
        pass
close_shared()
print("fine")
"""


def test_a_keeper_held_by_an_exception_does_not_delay_the_exit() -> None:
    out = agent_exec.run([sys.executable, "-c", HELD, SOURCE], leftovers="leave")
    assert (out.stdout, out.leaked) == (b"fine\n", False), out.stderr_text


def test_a_callback_of_a_future_that_raises_does_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    def leave(_future: object) -> None:
        raise SystemExit(1)

    with Engine() as engine:
        bystander = engine.start(Command(["cat"], interactive=True))
        run = engine.start(Command(["echo", "x"], interactive=True))
        run.future.add_done_callback(leave)
        assert run.outcome().stdout == b"x\n"
        bystander.end_input()
        assert bystander.outcome().ok
    assert "SystemExit" in capsys.readouterr().err


def test_an_interrupt_gives_all_runs_one_grace_and_ends_those_that_wait() -> None:
    engine = Engine(slots=5, threaded=False)
    deaf = ["sh", "-c", "trap '' TERM; echo; while :; do sleep 0.05; done"]
    runs = [engine.start(Command(deaf, limits=Limits(grace=0.4))) for _ in range(8)]
    engine.drive(lambda: all(run.stdout for run in runs[:5]))
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        runs[0].outcome()
    timer.join()
    assert all(run.done for run in runs)
    assert not any(exists(run.pid or 0) for run in runs[:5])
    engine.close()


def test_a_stop_while_something_is_left_says_that_it_was() -> None:
    with Engine() as engine:
        run = engine.start(Command(["sh", "-c", "sleep 600 & echo"], limits=Limits(drain=600)))
        wait_until(lambda: run.phase == "lingering")
        run.stop()
        out = run.outcome()
    assert (out.leaked, out.cause, out.exit_code) == (True, None, 0)


def test_what_is_left_has_no_more_time_than_the_run() -> None:
    with Engine() as engine:
        run = engine.start(Command(["sh", "-c", "sleep 600 & echo"], limits=Limits(timeout=0.5, drain=600)))
        assert run.outcome().leaked


def test_a_huge_command_is_refused_before_it_is_sent() -> None:
    with pytest.raises(agent_exec.AgentExecError) as caught:
        agent_exec.run(["true", *["x" * 100_000] * 300])
    assert caught.value.code == "launch_failed"
    assert "too long" in caught.value.message


def test_many_small_writes_to_a_queued_run() -> None:
    with Engine(slots=1) as engine:
        blocker = engine.start(Command(["cat"], interactive=True))
        queued = engine.start(Command(["wc", "-c"], interactive=True))
        for _ in range(50_000):
            queued.write(b"x")
        queued.end_input()
        blocker.end_input()
        assert queued.outcome().stdout.strip() == b"50000"


def test_leaving_and_killing_at_once_are_not_confused() -> None:
    """One keeper leaves its tree alone while another is killed; who was left lives, who was doomed does not."""
    for _ in range(8):
        with Engine() as engine:
            doomed = engine.start(Command(["sleep", "600"]))
            wait_until(lambda doomed=doomed: doomed.pid)  # type: ignore[misc]
            stat = Path(f"/proc/{doomed.pid}/stat").read_text()
            keeper = int(stat.rpartition(")")[2].split()[1])
            left = engine.start(
                Command(
                    ["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"],
                    leftovers="leave",
                    limits=Limits(drain=0),
                    on_output=lambda *_, keeper=keeper: os.kill(keeper, signal.SIGKILL),
                )
            )
            out = left.outcome()
            with pytest.raises(agent_exec.AgentExecError):
                doomed.outcome()
            assert not exists(doomed.pid or 0)
            assert exists(int(out.stdout))
            os.kill(int(out.stdout), signal.SIGKILL)
            wait_until(lambda out=out: not exists(int(out.stdout)))  # type: ignore[misc]
