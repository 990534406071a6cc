"""Open a terminal, run a program on it, read to the end: terminal CONTESTANT EXPECTED PROGRAM WORDS..."""

import atexit
import sys
from collections.abc import Callable
from time import perf_counter

import agent_exec
from bench.worker import require, serve


def by_run(program: tuple[str, ...]) -> Callable[[], agent_exec.Outcome]:
    return lambda: agent_exec.run(program, tty=True)


def by_engine(program: tuple[str, ...], *, threaded: bool) -> Callable[[], agent_exec.Outcome]:
    engine = agent_exec.Engine(threaded=threaded)
    atexit.register(engine.close)
    return lambda: engine.start(agent_exec.Command(program, tty=True)).outcome()


def main(contestant: str, expected: str, *program: str) -> None:
    once = by_run(program) if contestant == "run" else by_engine(program, threaded=contestant == "threaded")

    def block(count: int) -> dict[str, object]:
        seconds: list[float] = []
        for _ in range(count):
            start = perf_counter()
            outcome = once()
            seconds.append(perf_counter() - start)
            require(outcome.ok and outcome.stdout == expected.encode(), f"it printed {outcome.stdout!r}")
        return {"seconds": seconds}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
