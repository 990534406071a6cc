"""Many jobs that print nothing: supervisors CONTESTANT AGENT_EXEC IDLE; a block's count is how many."""

import json
import sys
import time
from collections.abc import Callable

from bench import proc
from bench.home import end_jobs
from bench.worker import require, serve
from bench.workers.calling import Called
from bench.workers.job import Starter

COMMAND = ["sleep", "4000"]
SETTLE = 1.0


def by_program(_starter: Starter, program: str) -> str:
    told = json.loads(Called([program, "run", "--no-wait", "--", *COMMAND]).printed)
    return str(told["job_id"])


def by_library(starter: Starter, _program: str) -> str:
    started = starter.start(COMMAND)
    started.close()
    return started.id


CONTESTANTS: dict[str, Callable[[Starter, str], str]] = {"program": by_program, "library": by_library}


def measure(contestant: str, program: str, count: int, idle: float) -> dict[str, object]:
    """Start the jobs, let them idle, look at their supervisors, and end them."""
    starter = Starter()
    store = starter.store
    start = time.perf_counter()
    ids = [CONTESTANTS[contestant](starter, program) for _ in range(count)]
    started = time.perf_counter() - start
    try:
        time.sleep(SETTLE)
        jobs = [store.find(job_id) for job_id in ids]
        require(all(job.state == "running" for job in jobs), "a job ended by itself")
        pids = [job.facts["supervisor_pid"] for job in jobs]
        used = -sum(map(proc.used, pids))
        time.sleep(idle)
        used += sum(map(proc.used, pids))
        shares = sorted(map(proc.proportional, pids))
        resident = sum(map(proc.resident, pids))
        start = time.perf_counter()
    finally:
        end_jobs(store)
    return {
        "share": sum(shares) / count,
        "largest": shares[-1],
        "resident": resident / count,
        "used": used,
        "started": started / count,
        "ended": (time.perf_counter() - start) / count,
    }


def main(contestant: str, program: str, idle: str) -> None:
    serve(lambda count: measure(contestant, program, count, float(idle)))


if __name__ == "__main__":
    main(*sys.argv[1:])
