"""What must not be done is refused with a typed error, and breaks nothing."""

import os
import signal
import threading

import pytest

import agent_exec
from agent_exec import Command, Engine, Limits
from agent_exec.model.errors import InvalidState
from support import exists, wait_until


@pytest.mark.parametrize("threaded", [True, False])
@pytest.mark.parametrize("deed", ["outcome", "close"])
def test_waiting_for_oneself_is_refused_and_not_waited_for(deed: str, threaded: bool) -> None:
    seen: list[BaseException] = []
    with Engine(threaded=threaded) as engine:
        holder: list[agent_exec.Run] = []
        known = threading.Event()

        def misuse(_stream: str, _chunk: bytes) -> None:
            known.wait(10)
            try:
                if deed == "outcome":
                    holder[0].outcome()
                else:
                    engine.close()
            except InvalidState as error:
                seen.append(error)
            assert holder[0].wait(0) is False

        holder.append(engine.start(Command(["echo", "hello"], on_output=misuse)))
        known.set()
        assert holder[0].outcome().stdout == b"hello\n"
    assert len(seen) == 1
    assert "another thread" in str(seen[0])


def test_a_run_may_be_started_and_stopped_from_on_output() -> None:
    with Engine() as engine:
        later: list[agent_exec.Run] = []

        def more(_stream: str, _chunk: bytes) -> None:
            gate.wait(10)
            later.append(engine.start(Command(["echo", "second"])))
            first.stop()

        gate = threading.Event()
        first = engine.start(Command(["sh", "-c", "echo first; sleep 600"], on_output=more))
        gate.set()
        assert first.outcome().cause == "stopped"
        assert later[0].outcome().stdout == b"second\n"


def test_a_one_shot_call_inside_on_output() -> None:
    inner: list[bytes] = []

    def nested(_stream: str, chunk: bytes) -> None:
        inner.append(agent_exec.run(["cat"], stdin=chunk).stdout)

    assert agent_exec.run(["echo", "outer"], on_output=nested).ok
    assert inner == [b"outer\n"]


def test_two_threads_close_at_once_and_both_wait() -> None:
    engine = Engine()
    run = engine.start(Command(["sleep", "600"]))
    wait_until(lambda: run.pid)
    alive: list[bool] = []

    def close() -> None:
        engine.close()
        alive.append(exists(run.pid or 0))

    threads = [threading.Thread(target=close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert alive == [False] * 4


def test_starting_while_another_thread_closes_loses_no_run() -> None:
    for _ in range(20):
        engine = Engine()
        runs: list[agent_exec.Run] = []

        def start(engine: Engine = engine, runs: list[agent_exec.Run] = runs) -> None:
            try:
                while True:
                    runs.append(engine.start(Command(["true"])))
            except InvalidState:
                return

        threads = [threading.Thread(target=start) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until(lambda runs=runs: runs)  # type: ignore[misc]
        engine.close()
        for thread in threads:
            thread.join()
        assert all(run.done for run in runs)


@pytest.mark.parametrize("where", ["outcome", "close"])
def test_an_interrupt_while_an_engine_without_a_thread_is_driven_ends_everything(where: str) -> None:
    engine = Engine(threaded=False)
    runs = [engine.start(Command(["sh", "-c", "trap '' TERM; echo $$; sleep 600 & wait"])) for _ in range(3)]
    assert runs[0].wait(0.3) is False
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        if where == "outcome":
            runs[0].outcome()
        else:
            engine.close()
    timer.join()
    assert not any(exists(run.pid or 0) for run in runs)
    engine.close()
    for run in runs:
        with pytest.raises(KeyboardInterrupt):
            run.outcome()


def test_an_interrupt_while_an_engine_is_closed_ends_everything_by_force() -> None:
    engine = Engine()
    run = engine.start(
        Command(["sh", "-c", "trap '' TERM; echo $$; sleep 600 & wait"], limits=Limits(grace=600))
    )
    wait_until(lambda: run.stdout)
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.close()
    timer.join()
    assert run.done
    assert run.outcome().signal == "SIGKILL"
    engine.close()


def test_an_engine_that_was_never_used_closes() -> None:
    for threaded in (True, False):
        Engine(threaded=threaded).close()


def test_calls_after_the_end_are_harmless() -> None:
    with Engine() as engine:
        run = engine.start(Command(["true"], tty=True))
        run.outcome()
    run.stop()
    run.kill()
    run.resize(1, 1)
    run.signal("TERM")
    run.end_input()
    assert run.outcome().ok
    assert run.future.result().ok
