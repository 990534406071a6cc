"""The awaitable form: the same steps, and a cancelled command leaves nothing."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.executor.errors import CommandExecutionError, CommandValidationError
from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.model.errors import InvalidArgument, InvalidState
from faces.executor.recorder import DEAF, ENDLESS, MISSING, Recorder, made
from support import processes_marked, wait_until

Main = Callable[[CommandExecutor], Coroutine[Any, Any, object]]


def awaited(main: Main, **terms: object) -> CommandExecutor:
    """Run a coroutine with an executor, and close that."""
    with made(**terms) as executor:  # type: ignore[arg-type]
        asyncio.run(main(executor))
        assert executor.concurrent_count == 0
        return executor


def code(program: str) -> list[str]:
    return ["-IS", "-c", program]


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.002)


def alive(mark: str, program: str) -> bool:
    return any(program in line for line in processes_marked(mark).values())


def test_both_forms_give_the_same() -> None:
    cases: list[tuple[str, list[str], dict[str, Any]]] = [
        ("echo", ["hello"], {}),
        ("python3", code("import os, sys; os.write(2, b'why'); sys.exit(3)"), {}),
        ("python3", code("import os; os.kill(os.getpid(), 9)"), {}),
        ("python3", code("import os\nwhile True: os.write(1, b'x' * 2000)"), {}),
        ("python3", code("import time; time.sleep(600)"), {"timeout": 50}),
        (MISSING, [], {}),
        ("echo", [], {"cwd": "/no/such/folder"}),
    ]
    logs = Recorder(), Recorder()
    blocking = made(logs[0], max_output_bytes=1000)

    async def main(executor: CommandExecutor) -> None:
        for command, args, terms in cases:
            one = blocking.execute_command(command, args, **terms).to_wire()
            other = (await executor.execute_command_async(command, args, **terms)).to_wire()
            one["metadata"].pop("duration_ms")
            other["metadata"].pop("duration_ms")
            assert one == other
        for command in ("sudo", "make", "'x y"):
            with pytest.raises(CommandValidationError) as caught:
                await executor.execute_command_async(command)
            assert caught.value.message == "Command not allowed"
        with pytest.raises(InvalidArgument):
            await executor.execute_command_async("echo", timeout=-1)

    awaited(main, logger=logs[1], max_output_bytes=1000)
    told = [
        [(level, text.split("(")[0]) for level, text in log.lines if not text.startswith("Received")]
        for log in logs
    ]
    assert told[0] == told[1][: len(told[0])]


def test_three_at_once_and_the_fourth_is_refused() -> None:
    async def main(executor: CommandExecutor) -> None:
        begun: list[bytes] = []
        tasks = [
            asyncio.create_task(
                executor.execute_command_async(
                    "python3", code(ENDLESS), on_output=lambda _, c: begun.append(c)
                )
            )
            for _ in range(3)
        ]
        await until(lambda: len(begun) == 3)
        assert executor.concurrent_count == 3
        with pytest.raises(CommandExecutionError) as caught:
            await executor.execute_command_async("echo")
        assert caught.value.code == "CONCURRENT_LIMIT_EXCEEDED"
        with pytest.raises(CommandExecutionError):
            executor.execute_command("echo")
        for task in tasks:
            task.cancel()
        assert {type(one) for one in await asyncio.gather(*tasks, return_exceptions=True)} == {
            asyncio.CancelledError
        }

    awaited(main)


def test_awaiting_and_waiting_stand_in_one_queue(tmp_path: Path) -> None:
    order: list[str] = []

    async def main(executor: CommandExecutor) -> None:
        def note(name: str) -> Callable[[str, bytes], None]:
            return lambda *_: order.append(name)

        gate = tmp_path / "gate"
        wait = "import os, sys, time\nprint(flush=True)\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.002)"
        tasks = [
            asyncio.create_task(
                executor.execute_command_async("python3", [*code(wait), str(gate)], on_output=note("first"))
            )
        ]
        await until(lambda: order)
        tasks.append(asyncio.create_task(executor.execute_command_async("echo", on_output=note("second"))))
        await until(lambda: len(executor._slots._waiting) == 1)
        tasks.append(
            asyncio.create_task(asyncio.to_thread(executor.execute_command, "echo", on_output=note("third")))
        )
        await until(lambda: len(executor._slots._waiting) == 2)
        given_up = asyncio.create_task(executor.execute_command_async("echo", on_output=note("nobody")))
        await until(lambda: len(executor._slots._waiting) == 3)
        tasks.append(asyncio.create_task(executor.execute_command_async("echo", on_output=note("fourth"))))
        await until(lambda: len(executor._slots._waiting) == 4)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        assert len(executor._slots._waiting) == 3
        gate.touch()
        assert {out.status for out in await asyncio.gather(*tasks)} == {"success"}

    awaited(main, max_concurrent=1, on_limit="queue")
    assert order == ["first", "second", "third", "fourth"]


def test_a_cancelled_holder_passes_its_turn_on() -> None:
    async def main(executor: CommandExecutor) -> None:
        holder = object()
        assert executor._slots.take(holder)
        first = asyncio.create_task(executor.execute_command_async("echo", ["first"]))
        second = asyncio.create_task(executor.execute_command_async("echo", ["second"]))
        await until(lambda: len(executor._slots._waiting) == 2)
        executor._slots.give_back(holder)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await second).output == "second\n"

    awaited(main, max_concurrent=1, on_limit="queue")


def test_cancelling_ends_the_whole_tree(nothing_left: str) -> None:
    fork = "import os; os.fork() or os.setsid(); " + ENDLESS
    logger = Recorder()

    async def main(executor: CommandExecutor) -> None:
        begun: list[bytes] = []
        task = asyncio.create_task(
            executor.execute_command_async("python3", code(fork), on_output=lambda _, c: begun.append(c))
        )
        await until(lambda: b"".join(begun).count(b"on") == 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not alive(nothing_left, "time.sleep(600)"), "it is gone before the cancellation is"
        assert executor.concurrent_count == 0
        assert (await executor.execute_command_async("echo")).status == "success"

    awaited(main, logger=logger)
    assert "Signal SIGTERM sent to process" in logger.at("debug")
    assert "Command execution error: python3" in logger.at("error")
    assert not [line for _, line in logger.lines if "timeout" in line]


def test_cancelling_twice_ends_the_patience() -> None:
    async def main(executor: CommandExecutor) -> None:
        begun: list[bytes] = []
        task = asyncio.create_task(
            executor.execute_command_async("python3", code(DEAF), on_output=lambda _, c: begun.append(c))
        )
        await until(lambda: begun)
        task.cancel()
        await asyncio.sleep(0.05)
        assert not task.done(), "it is deaf, and has a minute"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    awaited(main, kill_timeout=60000)


def test_waiting_with_a_bound_ends_it() -> None:
    async def main(executor: CommandExecutor) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(executor.execute_command_async("python3", code(ENDLESS)), 0.05)

    awaited(main)


def test_a_coroutine_that_is_dropped_leaves_nothing(nothing_left: str) -> None:
    with made(max_concurrent=1) as executor:
        loop = asyncio.new_event_loop()
        begun: list[bytes] = []
        coroutine = executor.execute_command_async(
            "python3", code(ENDLESS), on_output=lambda _, c: begun.append(c)
        )

        async def start() -> None:
            coroutine.send(None)
            await until(lambda: begun)

        loop.run_until_complete(start())
        coroutine.close()
        loop.close()
        assert executor.concurrent_count == 0
        wait_until(lambda: not alive(nothing_left, "time.sleep(600)"))


@pytest.mark.parametrize("error", [ValueError, StopIteration, asyncio.CancelledError])
def test_an_exception_of_on_output_reaches_the_awaiting_caller(error: type[BaseException]) -> None:
    async def main(executor: CommandExecutor) -> None:
        def fail(_stream: str, _chunk: bytes) -> None:
            raise error("from on_output")

        with pytest.raises((error, RuntimeError)):
            await executor.execute_command_async("python3", code(ENDLESS), on_output=fail)
        assert (await executor.execute_command_async("echo")).status == "success"

    awaited(main, max_concurrent=1)


def test_an_executor_serves_several_event_loops() -> None:
    results: list[str] = []
    with made(on_limit="queue") as executor:

        async def main(name: str) -> None:
            for _ in range(5):
                out = await executor.execute_command_async("echo", [name])
                results.append(out.output)

        threads = [threading.Thread(target=lambda name=str(i): asyncio.run(main(name))) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert executor.concurrent_count == 0
    assert sorted(results) == sorted(f"{i}\n" for i in range(6) for _ in range(5))


def test_closing_ends_what_is_awaited_and_takes_nothing_more() -> None:
    executor = made(on_limit="queue", max_concurrent=1)

    async def main() -> None:
        begun: list[bytes] = []
        task = asyncio.create_task(
            executor.execute_command_async("python3", code(ENDLESS), on_output=lambda _, c: begun.append(c))
        )
        await until(lambda: begun)
        queued = asyncio.create_task(executor.execute_command_async("echo"))
        await until(lambda: executor._slots._waiting)
        await asyncio.to_thread(executor.close)
        out = await task
        assert (out.status, out.code, out.signal, out.exit_code) == (
            "error",
            "EXECUTION_FAILED",
            "SIGTERM",
            None,
        )
        with pytest.raises(InvalidState, match="closed"):
            await queued

    asyncio.run(main())
    executor.close()
    for call in (executor.execute_command, lambda name: asyncio.run(executor.execute_command_async(name))):
        with pytest.raises(InvalidState, match="closed"):
            call("echo")
    assert executor.concurrent_count == 0


def test_closing_what_was_never_awaited_is_harmless() -> None:
    with made() as executor:
        assert executor.execute_command("echo").status == "success"
    executor.close()
