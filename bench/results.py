"""RESULTS.md: when, where, how, and every table."""

import time
from collections.abc import Sequence

from bench.table import GOAL_COLUMNS, Result, table

_METHOD = """\
- Every contestant is a worker process that is told how many iterations to do and answers with the seconds of
  each; its own start and a first block are not counted.
- The contestants of a workload take turns in blocks, in shuffled order, within one run. Before each block the
  bench waits for an idle CPU, at most 2 s and within a budget for the whole run. A block is calm when the CPU
  is idle before and after it and, if it is long, other processes used at most 5 % of it meanwhile. Others are
  repeated, and only calm ones count, unless fewer than half are.
- Numbers are medians; p10 is the fast end of the same sample, where less of it is noise. A ratio is one
  median over the other in the same run. A rate is the amount over the median (or p10) time.
  The 80 % range is that of the ratio when the blocks are drawn anew many times: a bound inside it is open.
- Every iteration's output is checked; a contestant that is wrong is named, and the bench then exits with 1.
  No number makes it fail.
- The C programs are in `bench/c`, compiled with `-O2`. "Inline" is an Engine with `threaded=False`, driven by
  the thread that waits.
- reached: the stretch goal is met; must only: the must is, the stretch is not; short: neither is; disturbed:
  other load left too few calm blocks to tell; missing: a contestant is not on this machine."""


def write(path: str, facts: Sequence[tuple[str, str]], results: Sequence[Result], *, quick: bool) -> None:
    """Write the file anew."""
    goals = [row for result in results for row in result.goal_rows()]
    parts = [
        "# What was measured",
        f"Written by `python -m bench{' --quick' if quick else ''}` on {time.strftime('%Y-%m-%d %H:%M %z')}.",
        table(("machine", ""), [list(fact) for fact in facts]),
        "## Method",
        _METHOD,
        "## All goals",
        table(GOAL_COLUMNS, goals),
        *(result.text() for result in results),
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n\n".join(parts) + "\n")
