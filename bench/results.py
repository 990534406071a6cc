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
- In the workloads 11 to 19 the program and the library are as pip installs them into a virtual environment
  that holds nothing else, and `python -c pass` is of the same one. Stores of jobs are on the disk of the
  user's own. A pause of 30 ms after each call lets end what it started.
- reached: the stretch goal is met; must only: the must is, the stretch is not; short: neither is; disturbed:
  other load left too few calm blocks to tell; missing: a contestant is not on this machine."""


_SHORT = """\
- Workload 1: a run through a keeper is two messages between processes more than a spawn from the caller
  (about 35 us of waking) and some 100 us of Python on both sides, most of it with cold caches. That is
  the price of a tree that ends with a killed caller; `subprocess.run` leaves it alive. The stretch goals
  of this workload would need a spawn without a keeper. A threaded Engine adds two hand-overs between
  threads, which puts it at the edge of the must.
- Workload 5: the same two hand-overs, 15 to 30 us, put a threaded Engine over the must, by a tenth or so;
  who drives the Engine itself (inline) stays below it.
- Workload 4: counting the newlines of each chunk is a second pass over it, which C does together with the
  first.
- Workload 6: the keeper opens the terminal in Python and holds it, so that it outlives the descriptors of
  its command.
- Workload 12: of the ten milliseconds after the interpreter's own start, two are spent before the supervisor
  is forked, one by the two forks, and four by the supervisor loading what a start takes, in a copy of a
  process whose every touched page is copied; making the job, spawning and the answer take two. The peers
  are C programs. Without a daemon, or a start that is not acknowledged, there is little left to take away.
- Workload 13: the same, and the wait for the end; it stands at the edge of the must, on either side of it.
- Workload 21, single use: a plain run on a keeper that was just forked takes 1.7 to 1.9 of one on a keeper
  that has served: every page that it touches is copied. The rest is the box's.
- Workload 23: before the spawn a call is parsed, its shell and folder are looked at, and the command passes
  patch interception and the gate; after it the output is rendered. The tools run on an engine with a thread.
- Workload 24: C stops at a prompt that it knows. `write_stdin` has to see that the program waits: a dozen
  system calls, each of which can only be made after the prompt has come, are half of the difference. The
  rest is the reading of the call and the rendering of the answer, in Python, with cold caches.
- Workload 27, all at once: 300 callers queue for one interpreter; their wait is that queue's length."""


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
        "## Why what falls short does",
        _SHORT,
        *(result.text() for result in results),
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n\n".join(parts) + "\n")
