"""Ending a tree of many processes: ending GRACE SCRIPT.

The script starts the processes, each a `sleep` with the word MARK among its
arguments, as many as its first argument says. A grace of 0 means that they
are expected to end when asked to; another is subtracted from the time.
"""

import sys
import time

import agent_exec
from bench import proc
from bench.worker import require, serve
from bench.workers.mark import fresh_mark

PROCESSES = 100


def main(grace: str, script: str) -> None:
    patience = float(grace)
    engine = agent_exec.Engine()

    def once() -> tuple[float, int]:
        mark = fresh_mark()
        command = ["/bin/sh", "-c", script.replace("MARK", mark), "sh", str(PROCESSES)]
        run = engine.start(agent_exec.Command(command, limits=agent_exec.Limits(grace=patience or 30.0)))
        try:
            deadline = time.monotonic() + 20
            while len(proc.marked(mark, "sleep")) < PROCESSES:
                require(time.monotonic() < deadline and not run.done, "its processes did not come up")
                time.sleep(0.01)
            start = time.perf_counter()
            run.stop()
            outcome = run.outcome()
            seconds = time.perf_counter() - start - patience
            require(outcome.cause == "stopped", f"it ended by itself: {outcome!r}")
            return seconds, len(proc.marked(mark))
        finally:
            run.kill()
            run.wait(20)
            proc.end_marked(mark)

    def block(count: int) -> dict[str, object]:
        done = [once() for _ in range(count)]
        return {"seconds": [seconds for seconds, _ in done], "survivors": sum(left for _, left in done)}

    serve(block)
    engine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
