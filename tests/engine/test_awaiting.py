"""Awaitable forms: a cancelled task leaves no process, and goes on only then."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_exec
from agent_exec.engine.engine import Engine
from agent_exec.faces.session.tools import SessionTools, open_tools
from agent_exec.faces.verbs import Jobs
from agent_exec.jobs.store import Store
from agent_exec.model.command import Command, Limits
from agent_exec.model.errors import CommandNotFound, InvalidState
from support import processes_marked, python, wait_until

DEAF = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
)
Main = Callable[[], Coroutine[Any, Any, None]]
RUNNERS: dict[str, Callable[[Main], None]] = {
    "asyncio": lambda main: asyncio.run(main()),
    "trio": lambda main: anyio.run(main, backend="trio"),
    "anyio": anyio.run,
}

no_trio = pytest.mark.skipif(find_spec("trio") is None, reason="trio is not installed: pip install trio")
anywhere = pytest.mark.parametrize("library", ["asyncio", "anyio", pytest.param("trio", marks=no_trio)])


async def cancelled(started: Callable[[], object], awaited: Callable[[], Awaitable[object]]) -> None:
    """Await something in a task, cancel that once it has started, and wait until the task is over."""
    async with anyio.create_task_group() as group:

        async def task() -> None:
            with pytest.raises(anyio.get_cancelled_exc_class()) as caught:
                await awaited()
            raise caught.value

        group.start_soon(task)
        while not started():
            await anyio.sleep(0.002)
        group.cancel_scope.cancel()


@anywhere
def test_a_command_is_awaited(library: str) -> None:
    async def main() -> None:
        out = await agent_exec.arun(["sh", "-c", "echo hello; exit 3"], timeout=30)
        assert (out.exit_code, out.stdout) == (3, b"hello\n")
        assert (await agent_exec.arun(["sleep", "600"], timeout=0.1)).timed_out
        with pytest.raises(CommandNotFound):
            await agent_exec.arun(["./no-such-program"])

    RUNNERS[library](main)


@anywhere
def test_an_engine_runs_many_at_once(library: str) -> None:
    outcomes = []

    async def main() -> None:
        with Engine(8) as engine:

            async def one(number: int) -> None:
                outcomes.append((await engine.arun(Command(["echo", str(number)]))).stdout)

            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(one, number)

    RUNNERS[library](main)
    assert sorted(outcomes) == sorted(b"%d\n" % number for number in range(20))


@anywhere
def test_a_cancelled_task_leaves_no_process(library: str, nothing_left: str) -> None:
    """Not even one that ignores SIGTERM: what is left is killed before the cancellation goes on."""

    async def main() -> None:
        begun: list[bytes] = []

        def note(_stream: str, chunk: bytes) -> None:
            begun.append(chunk)

        words = python(DEAF)
        await cancelled(lambda: begun, lambda: agent_exec.arun(words, grace=0.05, on_output=note))
        assert not [line for line in processes_marked(nothing_left).values() if DEAF in line]

    RUNNERS[library](main)


def test_a_second_cancellation_ends_the_patience(nothing_left: str) -> None:
    """With a grace of an hour, only a kill lets this test end."""

    async def main() -> None:
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        events: list[str] = []
        command = Command(
            python(DEAF),
            limits=Limits(grace=3600),
            on_output=lambda *_: loop.call_soon_threadsafe(begun.set),
            on_event=lambda event, _: events.append(event),
        )
        with Engine() as engine:
            task = asyncio.create_task(engine.arun(command))
            await begun.wait()
            task.cancel()
            while "terminate" not in events:
                await asyncio.sleep(0.002)
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert "kill" in events

    asyncio.run(main())


def test_an_engine_without_a_thread_cannot_be_awaited() -> None:
    async def main() -> None:
        with Engine(threaded=False) as engine, pytest.raises(InvalidState, match="make one with a thread"):
            await engine.arun(Command(["true"]))

    asyncio.run(main())


@anywhere
def test_a_cancelled_wait_leaves_the_job_alone(library: str, tmp_path: Path) -> None:
    jobs = Jobs(Store(str(tmp_path / "jobs")))
    job = jobs.run(["sleep", "600"], observe=0)["job_id"]

    async def main() -> None:
        answer = await jobs.await_end(job, seconds=0)
        assert answer["state"] == "running"
        waiting: list[bool] = []

        async def wait() -> object:
            waiting.append(True)
            return await jobs.await_end(job, seconds=None)

        await cancelled(lambda: waiting, wait)

    RUNNERS[library](main)
    assert jobs.status(job)["state"] == "running"
    assert jobs.kill(job)["state"] == "killed"
    asyncio.run(ended(jobs, job))


async def ended(jobs: Jobs, job: str) -> None:
    assert (await jobs.await_end(job, seconds=None))["state"] == "killed"


@anywhere
def test_a_session_whose_start_is_cancelled_is_killed(library: str, nothing_left: str) -> None:
    def live(tools: SessionTools) -> int:
        return len(tools.sessions.registry.live())

    async def main() -> None:
        with open_tools() as tools:
            answer = await tools.acall("exec_command", {"cmd": "echo hello", "login": False})
            assert answer.structured is not None
            assert answer.structured["output"] == "hello\n"
            asked = {"cmd": "sleep 600", "login": False, "yield_time_ms": 30_000}
            await cancelled(lambda: live(tools), lambda: tools.acall("exec_command", asked))
            assert live(tools) == 0

    RUNNERS[library](main)
    wait_until(lambda: not processes_marked(nothing_left))


@anywhere
def test_a_cancelled_write_leaves_its_session_open(library: str) -> None:
    async def main() -> None:
        with open_tools() as tools:
            begun = tools.call("exec_command", {"cmd": "sleep 600", "login": False, "yield_time_ms": 250})
            assert begun.structured is not None
            asked = {"session_id": begun.structured["session_id"], "yield_time_ms": 30_000}
            waiting: list[bool] = []

            async def write() -> object:
                waiting.append(True)
                return await tools.acall("write_stdin", asked)

            await cancelled(lambda: waiting, write)
            assert len(tools.sessions.registry.live()) == 1

    RUNNERS[library](main)


def test_callers_that_wait_import_no_event_loop() -> None:
    code = (
        "import sys, agent_exec; agent_exec.run(['true'])\n"
        "with agent_exec.Engine() as engine: engine.start(agent_exec.Command(['true'])).outcome()\n"
        "assert not {'asyncio', 'trio', 'anyio'} & set(sys.modules), sys.modules"
    )
    out = agent_exec.run([sys.executable, "-c", code])
    assert out.ok, out.stderr_text
