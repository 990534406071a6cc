"""Many terminal sessions open and idle in one process: sessions IDLE_SECONDS; a block's count is how many."""

import gc
import os
import resource
import sys
import time

import agent_exec
from bench import proc
from bench.worker import require, serve

WARM = 4


def open_sessions(engine: agent_exec.Engine, count: int) -> list[agent_exec.Run]:
    """Start so many sessions and wait until each is there."""
    runs = [engine.start(agent_exec.Command(["/bin/cat"], tty=True)) for _ in range(count)]
    deadline = time.monotonic() + 60
    while any(run.pid is None for run in runs):
        require(time.monotonic() < deadline, "the sessions did not come up")
        time.sleep(0.002)
    return runs


def measure(count: int, idle: float) -> dict[str, object]:
    """Open the sessions, look, let them idle, look again, and end them."""
    with agent_exec.Engine(slots=count + WARM) as engine:
        warm = open_sessions(engine, WARM)
        gc.collect()
        memory, fds, threads = proc.resident(), proc.descriptors(), proc.threads()
        start = time.perf_counter()
        runs = open_sessions(engine, count)
        opened = time.perf_counter() - start
        gc.collect()
        memory, fds, threads = proc.resident() - memory, proc.descriptors() - fds, proc.threads() - threads
        pids = [run.pid for run in (*warm, *runs) if run.pid is not None]
        # Whoever is above a command and is not this process was put there for it.
        keepers = {proc.parent(pid) for pid in pids} - {0, 1, os.getpid()}
        helpers = keepers | {proc.parent(pid) for pid in keepers} - {0, 1, os.getpid()}
        shares = sum(map(proc.proportional, keepers))
        helpers_used = -sum(map(proc.used, helpers))
        ours_used = -time.process_time()
        time.sleep(idle)
        ours_used += time.process_time()
        helpers_used += sum(map(proc.used, helpers))
        require(not any(run.done for run in runs), "a session ended by itself")
        start = time.perf_counter()
    closed = time.perf_counter() - start
    left = [pid for pid in pids if proc.exists(pid)]
    # The commands are gone when close returns; the last helper may still be on its way out.
    deadline = time.monotonic() + 2
    while any(map(proc.exists, helpers)) and time.monotonic() < deadline:
        time.sleep(0.01)
    left += [pid for pid in helpers if proc.exists(pid)]
    return {
        "opened": opened / count,
        "closed": closed,
        "memory": memory / count,
        "descriptors": fds / count,
        "threads": threads / count,
        "helpers": len(helpers),
        "keeper_memory": shares / max(1, len(keepers)),
        "keeper_memory_each": shares / (count + WARM),
        "ours_used": ours_used,
        "helpers_used": helpers_used,
        "left": len(left),
    }


def main(idle: str) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    serve(lambda count: measure(count, float(idle)) if count else {})


if __name__ == "__main__":
    main(*sys.argv[1:])
