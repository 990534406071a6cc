"""Calls of command-line programs as contestants, and their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from bench import installed
from bench.blocks import Contestant, Measured
from bench.table import fast_ratio, milli, ratio, times

PASS = "python -c pass"
COLUMNS = ("contestant", "median ms", "p10 ms", "until it exits: ms", f"x {PASS}", "p10 x", "n")


@dataclass(frozen=True)
class Call:
    """A program with its words, what it has to print, until when it is timed, and what tidies up after it."""

    argv: Sequence[str]
    expect: str = ""
    until: Literal["exit", "answer"] = "exit"
    tidy: str = ""


def ours(*words: str, expect: str = '"ok":true', until: Literal["exit", "answer"] = "exit") -> Call:
    """Return a call of `agent-exec`."""
    return Call([installed.program(), *words], expect, until)


def python_pass(*flags: str) -> Call:
    """Return the call of the same Python that does nothing."""
    return Call([installed.interpreter(), *flags, "-c", "pass"])


def contestants(calls: Mapping[str, Call | None], env: Mapping[str, str]) -> list[Contestant]:
    """Return a contestant for each call; those without one are missing."""
    return [
        Contestant(
            name,
            installed.worker("command", call.until, call.expect, call.tidy, *call.argv) if call else None,
            {**installed.ENV, **env},
        )
        for name, call in calls.items()
    ]


def rows(measured: Mapping[str, Measured], reference: str = PASS) -> list[list[str]]:
    """Return the rows of their table."""
    against = measured[reference].sum
    found: list[list[str]] = []
    for name, one in measured.items():
        sum_ = one.sum
        if sum_ is None:
            found.append([name, "missing", *["-"] * 5])
            continue
        exits = median(second for answer in one.answers for second in answer["exits"])
        ratios = [times(ratio(sum_, against)), times(fast_ratio(sum_, against))]
        found.append([name, milli(sum_.median), milli(sum_.p10), milli(exits), *ratios, str(sum_.count)])
    return found
