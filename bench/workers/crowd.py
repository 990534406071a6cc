"""Many sessions of `cat` at once, each echoing lines: crowd CALLERS PACE SESSIONS; a block's count is rounds.

With a pace of some seconds every caller types once in so long, each at its own moment; with 0 at once.
"""

import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import perf_counter, sleep

import agent_exec
from bench.worker import require, serve
from bench.workers.talk import Talk

LINE = "0123456789\n"
PATIENCE_MS = 30_000


def main(callers: str, pace: str, sessions: str) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    at_once, count, apart = int(callers), int(sessions), float(pace)
    together = Barrier(at_once)
    with agent_exec.open_tools(limit=count) as tools, ThreadPoolExecutor(at_once) as threads:
        talk = Talk(tools)
        numbers = [talk.open("cat")[0] for _ in range(count)]

        def trip(number: int) -> float:
            start = perf_counter()
            answer = talk.call("write_stdin", session_id=number, chars=LINE, yield_time_ms=PATIENCE_MS)
            seconds = perf_counter() - start
            waits = answer.get("awaiting_input") is True
            require(waits and answer["output"] == LINE + LINE, f"it answered {answer}")
            return seconds

        def caller(at: int, rounds: int) -> list[float]:
            """Echo in every session that is this caller's, in turn."""
            together.wait()
            due = perf_counter() + apart * at / at_once
            seconds: list[float] = []
            for number in numbers[at::at_once] * rounds:
                sleep(max(0.0, due - perf_counter()) if apart else 0)
                seconds.append(trip(number))
                due += apart
            return seconds

        def block(rounds: int) -> dict[str, object]:
            asked = [threads.submit(caller, at, rounds) for at in range(at_once)]
            return {"seconds": [seconds for one in asked for seconds in one.result()]}

        serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
