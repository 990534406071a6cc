"""How many at once: the counter goes up and down, whatever happens, and who waits is served in order."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import agent_exec
from agent_exec.faces.executor.errors import CommandExecutionError
from agent_exec.faces.executor.execution import Slots
from agent_exec.faces.executor.executor import CommandExecutor
from faces.executor.recorder import ENDLESS, MISSING, made, python
from support import wait_until

WAIT = "import os, sys, time\nos.write(1, b'on')\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.002)"


class Crowd:
    """Threads that each run a command until they are let go."""

    def __init__(self, executor: CommandExecutor, gate: Path) -> None:
        self.executor = executor
        self.gate = gate
        self.pool = ThreadPoolExecutor(60)
        self.begun: list[str] = []

    def start(self) -> None:
        self.pool.submit(
            lambda: python(self.executor, WAIT, str(self.gate), on_output=lambda *_: self.begun.append("one"))
        )

    def close(self) -> None:
        self.gate.touch()
        self.pool.shutdown()


def test_c8_c36_c39_the_fourth_at_once_is_refused(tmp_path: Path) -> None:
    executor = made()
    crowd = Crowd(executor, tmp_path / "gate")
    try:
        for count in (1, 2, 3):
            crowd.start()
            wait_until(lambda count=count: len(crowd.begun) == count)  # type: ignore[misc]
            assert executor.concurrent_count == count
        for _ in range(5):
            with pytest.raises(CommandExecutionError) as caught:
                executor.execute_command("echo")
            assert str(caught.value) == "Concurrent limit exceeded"
            assert caught.value.code == "CONCURRENT_LIMIT_EXCEEDED"
            assert caught.value.retryable
            assert caught.value.details == {"command": "echo", "max_concurrent": 3}
        assert executor.concurrent_count == 3
    finally:
        crowd.close()
    assert executor.concurrent_count == 0
    assert executor.execute_command("echo").status == "success"


def test_c39_next_in_queue_is_processed_in_order(tmp_path: Path) -> None:
    executor = made(max_concurrent=1, on_limit="queue")
    crowd = Crowd(executor, tmp_path / "gate")
    order: list[int] = []
    try:
        crowd.start()
        wait_until(lambda: crowd.begun)
        for index in range(8):
            crowd.pool.submit(
                lambda index=index: executor.execute_command("echo", on_output=lambda *_: order.append(index))  # type: ignore[misc]
            )
            wait_until(lambda index=index: len(executor._slots._waiting) == index + 1)  # type: ignore[misc]
        assert executor.concurrent_count == 1
        with pytest.raises(CommandExecutionError, match="Concurrent limit"):
            executor.execute_command("echo", on_limit="raise")
    finally:
        crowd.close()
    assert order == list(range(8))
    assert executor.concurrent_count == 0


@pytest.mark.parametrize("on_limit", ["queue", "raise"])
def test_c8_c39_fifty_threads_never_run_more_than_three(on_limit: str) -> None:
    executor = made(on_limit=on_limit)
    most: list[int] = []
    refused: list[CommandExecutionError] = []
    done: list[str] = []

    def work(_: int) -> None:
        for _ in range(4):
            try:
                out = executor.execute_command(
                    "echo", ["x"], on_output=lambda *_: most.append(executor.concurrent_count)
                )
                done.append(out.output)
            except CommandExecutionError as error:
                refused.append(error)

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(work, range(50)))
    assert max(most) <= 3
    assert executor.concurrent_count == 0
    assert len(done) + len(refused) == 200
    assert set(done) == {"x\n"}
    assert not refused or on_limit == "raise"


def interrupted(call: Callable[[], object], ready: Callable[[], object]) -> None:
    """Have a real SIGINT raise KeyboardInterrupt while a call waits."""

    def send() -> None:
        wait_until(ready)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        sender.join()
        signal.signal(signal.SIGINT, before)


def test_c15_the_counter_is_right_after_every_kind_of_end(tmp_path: Path) -> None:
    executor = made(max_concurrent=1, max_output_bytes=100)
    ends: list[Callable[[], object]] = [
        lambda: executor.execute_command("true"),
        lambda: python(executor, "raise SystemExit(1)"),
        lambda: executor.execute_command(MISSING),
        lambda: executor.execute_command("echo", cwd=tmp_path / "missing"),
        lambda: python(executor, ENDLESS, timeout=50),
        lambda: python(executor, "print('x' * 1000)"),
        lambda: python(executor, "import os; os.kill(os.getpid(), 9)"),
    ]
    for end in ends:
        end()
        assert executor.concurrent_count == 0
    for name in ("sudo", "make"):
        with pytest.raises(CommandExecutionError):
            executor.execute_command(name)
        assert executor.concurrent_count == 0


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_c15_an_on_output_that_raises_ends_the_command_and_frees_the_slot(error: type[BaseException]) -> None:
    executor = made(max_concurrent=1)

    def fail(_stream: str, _chunk: bytes) -> None:
        raise error("from on_output")

    with pytest.raises(error, match="from on_output"):
        python(executor, ENDLESS, on_output=fail)
    assert executor.concurrent_count == 0


def test_c15_an_on_output_that_raises_stop_iteration_is_no_result() -> None:
    executor = made(max_concurrent=1)
    with pytest.raises(StopIteration):
        executor.execute_command("echo", on_output=lambda *_: next(iter(())))
    assert executor.concurrent_count == 0


def test_what_on_output_could_not_start_is_not_the_commands_failure() -> None:
    executor = made()
    with pytest.raises(agent_exec.AgentExecError) as caught:
        executor.execute_command("echo", on_output=lambda *_: agent_exec.run([MISSING]))
    assert caught.value.code == "command_not_found"
    assert executor.concurrent_count == 0


def test_c15_a_keyboard_interrupt_ends_the_command_and_frees_the_slot(nothing_left: str) -> None:
    executor = made(max_concurrent=1)
    seen: list[bytes] = []
    interrupted(
        lambda: python(executor, ENDLESS, on_output=lambda _, chunk: seen.append(chunk)), lambda: seen
    )
    assert executor.concurrent_count == 0
    assert executor.execute_command("echo").status == "success"


def test_c15_a_keyboard_interrupt_in_the_queue_leaves_it(tmp_path: Path) -> None:
    executor = made(max_concurrent=1, on_limit="queue")
    crowd = Crowd(executor, tmp_path / "gate")
    try:
        crowd.start()
        wait_until(lambda: crowd.begun)
        interrupted(lambda: executor.execute_command("echo"), lambda: executor._slots._waiting)
        assert not executor._slots._waiting
        assert executor.concurrent_count == 1
    finally:
        crowd.close()
    assert executor.concurrent_count == 0


INTERRUPTED = """
import random, signal, sys
from agent_exec.faces.executor.config import CommandExecutorConfig
from agent_exec.faces.executor.executor import CommandExecutor
executor = CommandExecutor(None, CommandExecutorConfig(max_concurrent=1, kill_timeout=20))
armed = False
def interrupt(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
executor.execute_command("echo")
moments = random.Random(int(sys.argv[1]))
hits = 0
for _ in range(100):
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, moments.uniform(0.00002, 0.0014))
        executor.execute_command("echo")
        armed = False
    except KeyboardInterrupt:
        hits += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert executor.concurrent_count == 0
assert hits and executor.execute_command("echo", ["x"]).output == "x\\n"
"""


def test_c15_interrupts_at_any_moment_cost_no_slot() -> None:
    """In a process of its own, where no interrupt can hit anybody else."""
    subprocess.run([sys.executable, "-c", INTERRUPTED, "7"], check=True, timeout=100)


def test_on_output_may_run_another_command() -> None:
    executor = made(max_concurrent=2)
    inner: list[str] = []
    executor.execute_command(
        "echo", on_output=lambda *_: inner.append(executor.execute_command("echo", ["inner"]).output)
    )
    assert inner == ["inner\n"]


@pytest.mark.parametrize("limit", [1, 2])
def test_an_interrupt_while_releasing_a_slot_loses_no_slot(limit: int) -> None:
    slots = Slots(limit)
    assert all(slots.take(one) for one in range(limit))
    second = slots.queue("second")
    third = slots.queue("third")

    def fail(_: object) -> None:
        raise KeyboardInterrupt

    second.add_done_callback(fail)
    with pytest.raises(KeyboardInterrupt):
        slots.give_back(0)
    assert second.done()
    assert slots.taken == limit
    assert not third.done()
    assert not slots.take("fourth"), "nobody overtakes who waits"
    slots.give_back("second" if limit == 1 else 1)
    assert third.done()
    for one in ("second", "third", "third"):
        slots.give_back(one)
    assert slots.taken == 0


def test_a_place_in_the_queue_may_be_free_at_once() -> None:
    slots = Slots(1)
    assert slots.queue("first").done()
    assert slots.taken == 1
    assert not slots.queue("second").done()
    slots.give_back("second")
    slots.give_back("first")
    assert slots.taken == 0
