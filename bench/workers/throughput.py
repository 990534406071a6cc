"""Many spawns, several at once: throughput CONTESTANT SLOTS PROGRAM."""

import asyncio
import atexit
import sys
from collections.abc import Callable
from time import perf_counter

import agent_exec
from bench.worker import require, serve

Block = Callable[[int], int]


def by_engine(slots: int, program: str, *, threaded: bool) -> Block:
    engine = agent_exec.Engine(slots=slots, threaded=threaded)
    atexit.register(engine.close)

    def block(count: int) -> int:
        command = agent_exec.Command([program])
        runs = [engine.start(command) for _ in range(count)]
        return sum(run.outcome().ok for run in runs)

    return block


def by_asyncio(slots: int, program: str) -> Block:
    async def once(free: asyncio.Semaphore) -> bool:
        async with free:
            process = await asyncio.create_subprocess_exec(
                program, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
            )
            await process.communicate()
            return process.returncode == 0

    async def many(count: int) -> int:
        free = asyncio.Semaphore(slots)
        return sum(await asyncio.gather(*(once(free) for _ in range(count))))

    runner = asyncio.Runner()
    return lambda count: runner.run(many(count))


CONTESTANTS: dict[str, Callable[[int, str], Block]] = {
    "threaded": lambda slots, program: by_engine(slots, program, threaded=True),
    "inline": lambda slots, program: by_engine(slots, program, threaded=False),
    "asyncio": by_asyncio,
}


def main(contestant: str, slots: str, program: str) -> None:
    block = CONTESTANTS[contestant](int(slots), program)

    def timed(count: int) -> dict[str, object]:
        start = perf_counter()
        good = block(count)
        seconds = perf_counter() - start
        require(good == count, f"{count - good} of {count} runs failed")
        return {"seconds": [seconds]}

    serve(timed)


if __name__ == "__main__":
    main(*sys.argv[1:])
