"""Jobs started from a process that runs already: launch CONTESTANT MEGABYTES PROGRAM."""

import subprocess
import sys
import time
from collections.abc import Callable
from time import perf_counter

from bench import proc
from bench.home import settle
from bench.worker import require, serve
from bench.workers.job import Starter

PAUSE = 0.01


def by_job(program: str) -> Callable[[], float]:
    starter = Starter()

    def once() -> float:
        start = perf_counter()
        started = starter.start([program])
        seconds = perf_counter() - start
        started.wait(30)
        started.close()
        job = starter.store.find(started.id)
        require(job.facts.get("exit_code") == 0, f"the job ended as {job.facts}")
        settle(job.folder)
        return seconds

    return once


def by_subprocess(program: str) -> Callable[[], float]:
    def once() -> float:
        start = perf_counter()
        process = subprocess.Popen(
            [program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        seconds = perf_counter() - start
        require(process.wait() == 0, "the program failed")
        return seconds

    return once


CONTESTANTS = {"job": by_job, "subprocess": by_subprocess}


def main(contestant: str, megabytes: str, program: str) -> None:
    once = CONTESTANTS[contestant](program)
    missing = max(0, int(megabytes) * 1_000_000 - proc.resident())
    ballast = bytearray(b"\1") * missing

    def block(count: int) -> dict[str, object]:
        seconds: list[float] = []
        for _ in range(count):
            seconds.append(once())
            time.sleep(PAUSE)
        return {"seconds": seconds}

    serve(block)
    del ballast


if __name__ == "__main__":
    main(*sys.argv[1:])
