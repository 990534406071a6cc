"""Much output, little kept: output KEEPING CONTESTANT EXPECTED PERIOD WRITER WORDS...

EXPECTED is the count of bytes for the keeping "ends", of lines for the
keeping "lines"; the writer repeats itself after PERIOD bytes.
"""

import atexit
import sys
from collections.abc import Callable
from time import perf_counter

import agent_exec
from agent_exec.model.output import Keep
from bench import proc
from bench.worker import require, serve

MIB = 1 << 20
LINES = 4000


def by_run(command: agent_exec.Command) -> Callable[[], tuple[agent_exec.Outcome, int | None]]:
    keep = command.keep
    return lambda: (agent_exec.run(command.argv, keep=keep), None)


def by_engine(command: agent_exec.Command) -> Callable[[], tuple[agent_exec.Outcome, int | None]]:
    engine = agent_exec.Engine()
    atexit.register(engine.close)

    def once() -> tuple[agent_exec.Outcome, int | None]:
        run = engine.start(command)
        outcome = run.outcome()
        # The total of lines is counted by the keeping, which no public name leads to.
        return outcome, getattr(getattr(run, "_stdout", None), "newlines_observed", None)

    return once


def check_ends(outcome: agent_exec.Outcome, _lines: int | None, expected: int, period: int) -> None:
    require(outcome.ok and outcome.stdout_observed == expected, f"observed {outcome.stdout_observed} bytes")
    require(repeats(outcome.stdout, 2 * MIB, period), "what was kept is wrong")


def check_lines(outcome: agent_exec.Outcome, lines: int | None, expected: int, period: int) -> None:
    require(
        outcome.ok and outcome.stdout_observed == expected * period,
        f"observed {outcome.stdout_observed} bytes",
    )
    require(lines in (None, expected), f"observed {lines} lines")
    require(repeats(outcome.stdout, LINES * period, period), "the kept lines are wrong")


def repeats(data: bytes, size: int, period: int) -> bool:
    """True if it has that size and is one word over and over; makes no copy, which would be measured."""
    return len(data) == size and data.count(data[:period]) == size // period


KEEPINGS: dict[str, tuple[Keep, Callable[[agent_exec.Outcome, int | None, int, int], None]]] = {
    "ends": (agent_exec.HeadTail(MIB, MIB), check_ends),
    "lines": (agent_exec.Lines(LINES, 2 * MIB), check_lines),
}


def main(keeping: str, contestant: str, expected: str, period: str, *writer: str) -> None:
    keep, check = KEEPINGS[keeping]
    command = agent_exec.Command(writer, keep=keep)
    once = by_run(command) if contestant == "run" else by_engine(command)
    base = proc.resident()
    growths: list[int] = []

    def block(count: int) -> dict[str, object]:
        seconds: list[float] = []
        for _ in range(count):
            proc.reset_peak()
            start = perf_counter()
            outcome, lines = once()
            seconds.append(perf_counter() - start)
            growths.append(proc.peak() - base)
            check(outcome, lines, int(expected), int(period))
        return {"seconds": seconds, "first_growth": growths[0], "growth": max(growths)}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
