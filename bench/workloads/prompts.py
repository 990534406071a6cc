"""`python3 -q` on a terminal, until its prompt is answered."""

import shlex
import sys

from bench.blocks import Contestant, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Goal, Result, milli
from bench.worker import python

C, OURS = "C forkpty, until the prompt is read", "exec_command, until it answers"
PROMPT = ">>> "
# As the tools have it, so that both run the same prompt.
ENV = {"TERM": "dumb", "NO_COLOR": "1", "PYTHONSTARTUP": ""}


def measure(stage: Stage) -> Result:
    """Return milliseconds of each, and how many more ours takes."""
    program = [sys.executable, "-q"]
    measured = interleave(
        [
            Contestant(C, stage.c("prompt", PROMPT, *program), ENV),
            Contestant(OURS, python("prompts", PROMPT, f"exec {shlex.join(program)}"), ENV),
        ],
        stage.gate,
        rounds=stage.pick(20, 5),
        count=4,
    )
    sums = {name: one.sum for name, one in measured.items()}
    ours, theirs = sums[OURS], sums[C]
    result = Result(
        "25. `python3 -q` until its prompt is answered",
        ("contestant", "median ms", "p10 ms", "more than C: ms", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    for name, one in sums.items():
        if one is None:
            result.rows.append([name, "missing", *["-"] * 3])
            continue
        more = milli(one.median - theirs.median) if theirs else "-"
        result.rows.append([name, milli(one.median), milli(one.p10), more, str(one.count)])
    more_ms = (ours.median - theirs.median) * 1e3 if ours and theirs else None
    disturbed = any(one.disturbed for one in measured.values())
    result.goals.append(Goal("the answer after the prompt", more_ms, 60, 25, "ms", disturbed=disturbed))
    return result
