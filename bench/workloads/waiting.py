"""From the last action of a job's command until whoever waits knows of its end."""

from bench import installed
from bench.blocks import Contestant, errors, interleave, remarks
from bench.home import Home
from bench.stage import Stage
from bench.table import Goal, Result, milli

OURS = {"wait": "wait_for_end", "report": "Started.wait, of who started it"}
BESIDE = {"program": "agent-exec wait, until it answers"}
_LIFE = "60"
_LAST = """
import os, time
time.sleep(0.06)
os.write(1, b"%.9f\\n" % time.monotonic())
os._exit(0)
"""


def measure(stage: Stage) -> Result:
    """Return milliseconds from the one to the other."""
    # Of a C program, for a Python that exits takes a millisecond for itself.
    job = stage.c("last", _LIFE) or [installed.interpreter(), "-IS", "-c", _LAST]
    with Home() as home:
        measured = interleave(
            [
                Contestant(name, installed.worker("waiting", word, installed.program(), *job), home.env)
                for word, name in (OURS | BESIDE).items()
            ],
            stage.gate,
            rounds=stage.pick(15, 5),
            count=8,
        )
    result = Result(
        "15. From a job's last action until its end is known",
        ("who waits", "median ms", "p10 ms", "slowest ms", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    for name, one in measured.items():
        sum_ = one.sum
        if name in OURS.values():
            result.goals.append(
                Goal(name, sum_.median * 1e3 if sum_ else None, 10, 2, "ms", disturbed=one.disturbed)
            )
        if sum_ is None:
            result.rows.append([name, "missing", *["-"] * 3])
            continue
        shown = [f"{seconds * 1e3:.2f}" for seconds in (sum_.median, sum_.p10)]
        result.rows.append([name, *shown, milli(max(one.seconds)), str(sum_.count)])
    return result
