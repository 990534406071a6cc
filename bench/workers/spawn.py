"""Spawn and capture, one after the other: spawn CONTESTANT MEGABYTES PROGRAM."""

import asyncio
import atexit
import importlib
import subprocess
import sys
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import agent_exec
from bench import proc
from bench.worker import require, serve

Block = Callable[[int], list[float]]


def timed(once: Callable[[], object]) -> Block:
    """Make a block of a call that gives the exit code, stdout and stderr."""

    def block(count: int) -> list[float]:
        seconds: list[float] = []
        for _ in range(count):
            start = perf_counter()
            done = once()
            seconds.append(perf_counter() - start)
            require(done == (0, b"", b""), f"the program ended with {done!r}")
        return seconds

    return block


def ended(outcome: agent_exec.Outcome) -> tuple[object, ...]:
    """Return what every contestant gives."""
    return outcome.exit_code, outcome.stdout, outcome.stderr


def by_run(program: str) -> Block:
    return timed(lambda: ended(agent_exec.run([program])))


def by_engine(program: str, *, threaded: bool) -> Block:
    engine = agent_exec.Engine(threaded=threaded)
    atexit.register(engine.close)
    return timed(lambda: ended(engine.start(agent_exec.Command([program])).outcome()))


def by_subprocess(program: str) -> Block:
    def once() -> tuple[object, ...]:
        done = subprocess.run([program], capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr

    return timed(once)


async def timed_async(once: Callable[[], Awaitable[tuple[object, ...]]], count: int) -> list[float]:
    """Do what `timed` does, inside an event loop."""
    seconds: list[float] = []
    for _ in range(count):
        start = perf_counter()
        done = await once()
        seconds.append(perf_counter() - start)
        require(done == (0, b"", b""), f"the program ended with {done!r}")
    return seconds


def by_asyncio(program: str) -> Block:
    async def once() -> tuple[object, ...]:
        process = await asyncio.create_subprocess_exec(
            program, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await process.communicate()
        return process.returncode, out, err

    runner = asyncio.Runner()
    return lambda count: runner.run(timed_async(once, count))


def by_anyio(program: str) -> Block:
    anyio: Any = importlib.import_module("anyio")

    async def once() -> tuple[object, ...]:
        done = await anyio.run_process([program], check=False)
        return done.returncode, done.stdout, done.stderr

    def block(count: int) -> list[float]:
        seconds: list[float] = anyio.run(timed_async, once, count)
        return seconds

    return block


CONTESTANTS: dict[str, Callable[[str], Block]] = {
    "run": by_run,
    "threaded": lambda program: by_engine(program, threaded=True),
    "inline": lambda program: by_engine(program, threaded=False),
    "subprocess": by_subprocess,
    "asyncio": by_asyncio,
    "anyio": by_anyio,
}


def main(contestant: str, megabytes: str, program: str) -> None:
    block = CONTESTANTS[contestant](program)
    missing = max(0, int(megabytes) * 1_000_000 - proc.resident())
    ballast = bytearray(b"\1") * missing
    serve(lambda count: {"seconds": block(count)})
    del ballast


if __name__ == "__main__":
    main(*sys.argv[1:])
