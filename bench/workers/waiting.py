"""From a job's last action until its end is known: waiting CONTESTANT AGENT_EXEC JOB...

The job prints the time of the monotonic clock as its last action.
"""

import sys
import time
from collections.abc import Callable

from agent_exec.jobs.record import Record
from agent_exec.jobs.start import Started
from agent_exec.jobs.wait import wait_for_end
from bench.home import settle
from bench.worker import require, serve
from bench.workers.calling import Called
from bench.workers.job import Starter

PATIENCE = 30.0


def by_wait(starter: Starter, _started: Started, job: Record, _program: str) -> float:
    wait_for_end(starter.store, job, PATIENCE)
    return time.monotonic()


def by_report(_starter: Starter, started: Started, _job: Record, _program: str) -> float:
    started.wait(PATIENCE)
    return time.monotonic()


def by_program(_starter: Starter, _started: Started, job: Record, program: str) -> float:
    called = Called([program, "wait", job.id])
    return called.started + called.answered


CONTESTANTS: dict[str, Callable[[Starter, Started, Record, str], float]] = {
    "wait": by_wait,
    "report": by_report,
    "program": by_program,
}


def main(contestant: str, program: str, *argv: str) -> None:
    starter = Starter()
    wait = CONTESTANTS[contestant]

    def once() -> float:
        started = starter.start(argv)
        job = starter.store.find(started.id)
        begin = time.monotonic()
        end = wait(starter, started, job, program)
        started.close()
        settle(job.folder)
        with open(f"{job.folder}/stdout.log", encoding="ascii") as file:
            last = float(file.read())
        require(begin < last < end, f"waited from {begin} to {end}, and the job ended at {last}")
        return end - last

    serve(lambda count: {"seconds": [once() for _ in range(count)]})


if __name__ == "__main__":
    main(*sys.argv[1:])
