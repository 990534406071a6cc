"""Promises 8 and 11: many at once, in order, from any thread, and nothing left behind."""

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine
from support import descriptors, processes_marked, wait_until


@pytest.mark.parametrize("threaded", [True, False])
def test_two_hundred_at_once(threaded: bool) -> None:
    with Engine(slots=200, threaded=threaded) as engine:
        runs = [engine.start(Command(["cat"], interactive=True)) for _ in range(200)]
        for index, run in enumerate(runs):
            run.write(f"{index}".encode())
        if threaded:
            wait_until(lambda: all(run.stdout for run in runs))
            assert engine.running == 200
        for run in runs:
            run.end_input()
        assert [run.outcome().stdout for run in runs] == [f"{index}".encode() for index in range(200)]


def test_slots_bound_how_many_run_and_the_rest_wait_in_order(tmp_path: Path) -> None:
    order = tmp_path / "order"
    with Engine(slots=3) as engine:
        blockers = [engine.start(Command(["cat"], interactive=True)) for _ in range(3)]
        waiting = [engine.start(Command(["sh", "-c", f"echo {index} >> {order}"])) for index in range(10)]
        wait_until(lambda: all(run.phase == "running" for run in blockers))
        assert {run.phase for run in waiting} == {"queued"}
        assert engine.running == 3
        blockers[0].end_input()
        for run in waiting:
            assert run.outcome().ok
        for run in blockers[1:]:
            assert run.phase == "running"
            run.end_input()
    assert order.read_text().split() == [str(index) for index in range(10)]


def test_a_run_that_cannot_start_frees_its_slot(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("no first line\n")
    script.chmod(0o755)
    with Engine(slots=1) as engine:
        bad = [engine.start(Command([str(script)])) for _ in range(3)]
        good = engine.start(Command(["echo", "fine"]))
        for run in bad:
            with pytest.raises(agent_exec.AgentExecError) as caught:
                run.outcome()
            assert caught.value.code == "command_not_executable"
        assert good.outcome().stdout == b"fine\n"


def test_two_thousand_runs_leave_nothing_behind(nothing_left: str) -> None:
    with Engine(slots=16) as engine:
        engine.start(Command(["true"])).outcome()
        runs = [
            engine.start(Command(["sh", "-c", f"exit {i % 7}"], limits=agent_exec.Limits(timeout=1000)))
            for i in range(2000)
        ]
        codes = [run.outcome().exit_code for run in runs]
        assert codes == [i % 7 for i in range(2000)]
        wait_until(lambda: engine.running == 0)
        wait_until(lambda: engine._loop.idle)
        helpers = processes_marked(nothing_left)
        assert len(helpers) <= 16 + 1, helpers
        sockets = [link for link in descriptors().values() if link.startswith("socket:")]
        assert len(sockets) <= 8 + 1 + 2, "idle keepers and the factory"
        assert not [link for link in descriptors().values() if link.startswith("/proc")]
    # What is left after the engine is closed is checked by the fixture.


def test_any_thread_may_start_write_stop_and_wait() -> None:
    problems: list[BaseException] = []
    with Engine(slots=32) as engine:

        def work(index: int) -> None:
            try:
                for turn in range(10):
                    run = engine.start(Command(["cat"], interactive=True))
                    if turn % 3 == 0:
                        run.stop()
                        assert run.outcome().cause == "stopped"
                    else:
                        run.write(f"{index}-{turn}".encode())
                        run.end_input()
                        assert run.outcome().stdout == f"{index}-{turn}".encode()
            except BaseException as error:
                problems.append(error)

        threads = [threading.Thread(target=work, args=(index,)) for index in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert problems == []


def test_a_run_is_awaited_through_its_future() -> None:
    async def main() -> list[bytes]:
        with Engine() as engine:
            runs = [engine.start(Command(["echo", str(index)])) for index in range(5)]
            done = [await asyncio.wrap_future(run.future) for run in runs]
            late = runs[0].future
            assert late is runs[0].future
            assert late.result() == done[0]
            slow = engine.start(Command(["sleep", "600"]))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asyncio.wrap_future(slow.future), 0.05)
            assert not slow.done, "giving up waiting does not stop the run"
            slow.stop()
            assert (await asyncio.wrap_future(slow.future)).cause == "stopped"
            return [out.stdout for out in done]

    assert asyncio.run(main()) == [f"{index}\n".encode() for index in range(5)]


def test_a_future_carries_the_error(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("no first line\n")
    script.chmod(0o755)
    with Engine() as engine:
        run = engine.start(Command([str(script)]))
        early = run.future
        with pytest.raises(agent_exec.AgentExecError):
            early.result()
        with pytest.raises(agent_exec.AgentExecError):
            run.future.result()


def test_waiting_can_be_bounded() -> None:
    for threaded in (True, False):
        with Engine(threaded=threaded) as engine:
            run = engine.start(Command(["sleep", "600"]))
            assert run.wait(0.05) is False
            run.stop()
            assert run.wait(60) is True
            assert run.wait(0) is True


def test_an_idle_engine_with_500_sessions_uses_no_cpu() -> None:
    """No busy wait: CPU time, which no load on the machine can lengthen, stays next to nothing."""
    with Engine(slots=500) as engine:
        runs = [engine.start(Command(["cat"], tty=True)) for _ in range(500)]
        wait_until(lambda: all(run.pid for run in runs), seconds=60)
        before = os.times()
        time.sleep(1.0)
        after = os.times()
        used = after.user + after.system - before.user - before.system
        assert used <= 0.1, f"{used} s of CPU in one idle second"


def test_an_engine_without_a_thread_is_driven_until_something_is_true() -> None:
    seen: list[bytes] = []
    with Engine(threaded=False) as engine:
        run = engine.start(Command(["cat"], tty=True, on_output=lambda _, chunk: seen.append(chunk)))
        run.write(b"hello\n")
        engine.drive(lambda: b"".join(seen).count(b"hello") == 2)
        assert not run.done
    with Engine() as threaded, pytest.raises(agent_exec.AgentExecError, match="threaded=False"):
        threaded.drive(lambda: True)


def test_a_thousand_launches_that_fail_at_once(tmp_path: Path) -> None:
    """Each frees its slot for the next; nothing may pile up."""
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    with Engine(slots=1) as engine:
        blocker = engine.start(Command(["cat"], interactive=True))
        runs = [engine.start(Command([str(script)])) for _ in range(1000)]
        script.unlink()
        blocker.end_input()
        for run in runs:
            with pytest.raises(agent_exec.AgentExecError) as caught:
                run.outcome()
            assert caught.value.code == "command_not_found"


def test_a_thread_that_cannot_be_started_is_said_and_harms_no_later_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_words: object) -> None:
        raise RuntimeError("can't start new thread")

    engine, unused = Engine(), Engine()
    try:
        with monkeypatch.context() as scarce:
            scarce.setattr(threading.Thread, "start", refuse)
            for one in (engine, engine, unused):
                with pytest.raises(agent_exec.AgentExecError) as caught:
                    one.start(Command(["true"]))
                assert (caught.value.code, caught.value.retryable) == ("busy", True)
        assert engine.start(Command(["echo", "now"])).outcome().stdout == b"now\n"
    finally:
        for one in (engine, unused):
            closing = threading.Thread(target=one.close, daemon=True)
            closing.start()
            closing.join(20)
            assert not closing.is_alive(), "close waits for a thread that never began"
