"""Runs the workloads, prints their tables and writes RESULTS.md: `python -m bench`."""

import argparse
import os
import sys
import tempfile
import time

import agent_exec
from bench import machine, package, proc
from bench.compiler import compile_all
from bench.results import write
from bench.stage import Stage
from bench.table import GOAL_COLUMNS, Result, table
from bench.worker import ROOT
from bench.workloads import WORKLOADS


def main() -> int:
    """Run what was asked for; 1 if a contestant misbehaved, whatever the numbers."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--only", metavar="NAME", choices=WORKLOADS, help=f"one of {', '.join(WORKLOADS)}")
    parser.add_argument("--no-write", action="store_true", help="leave RESULTS.md as it is")
    asked = parser.parse_args()
    names = [asked.only] if asked.only else list(WORKLOADS)
    proc.mark_ours()
    source = package.digest()
    facts = [("agent_exec", f"{agent_exec.__version__}, source {source}"), *machine.describe()]
    start = time.monotonic()
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        programs, compiler = compile_all(folder)
        facts.append(("C compiler", compiler))
        stage = Stage(asked.quick, programs, machine.Gate(16 if asked.quick else 120))
        for name in names:
            result = WORKLOADS[name](stage)
            result.notes.extend(filter(None, [stage.gate.report()]))
            results.append(result)
            print(f"{result.text()}\n", flush=True)
    goals = [row for result in results for row in result.goal_rows()]
    if len(results) > 1:
        print(f"## All goals\n\n{table(GOAL_COLUMNS, goals)}\n")
    facts.append(("seconds taken", f"{time.monotonic() - start:.0f}"))
    if package.digest() != source:
        facts.append(("WARNING", "the source changed while it was measured"))
        print("The source changed while it was measured: the numbers are a mixture.\n")
    if not (asked.no_write or asked.only):
        write(os.path.join(ROOT, "bench", "RESULTS.md"), facts, results, quick=asked.quick)
    wrong = [error for result in results for error in result.errors]
    for error in wrong:
        print(f"wrong: {error}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
