"""The overrun of a timeout while a daemon holds the output: overrun CONTESTANT GRACE SCRIPT.

A grace of 0 means that the daemon is expected to end when asked to; another
is subtracted from the time.
"""

import subprocess
import sys
from collections.abc import Callable
from time import perf_counter

import agent_exec
from bench import proc
from bench.worker import require, serve
from bench.workers.mark import fresh_mark

TIMEOUT = 0.3


def by_run(command: list[str], grace: float) -> None:
    outcome = agent_exec.run(command, timeout=TIMEOUT, grace=grace or 30.0)
    require(outcome.timed_out, f"it ended by itself: {outcome!r}")


def by_subprocess(command: list[str], _grace: float) -> None:
    try:
        subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return
    require(False, "it ended by itself")


CONTESTANTS: dict[str, Callable[[list[str], float], None]] = {
    "run": by_run,
    "subprocess": by_subprocess,
}


def main(contestant: str, grace: str, script: str) -> None:
    once = CONTESTANTS[contestant]
    patience = float(grace)

    def block(count: int) -> dict[str, object]:
        seconds: list[float] = []
        survivors = 0
        for _ in range(count):
            mark = fresh_mark()
            command = ["/bin/sh", "-c", script.replace("MARK", mark)]
            try:
                start = perf_counter()
                once(command, patience)
                seconds.append(perf_counter() - start - TIMEOUT - patience)
                survivors += len(proc.marked(mark))
            finally:
                proc.end_marked(mark)
        return {"seconds": seconds, "survivors": survivors}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
