"""Ending a tree of 100 processes, whatever they are."""

import shutil

from bench.blocks import Contestant, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Goal, Result, milli
from bench.worker import python

_GRACE = "0.2"
_PLAIN = 'i=0; while [ $i -lt "$1" ]; do sleep 4000 MARK & i=$((i+1)); done; wait'
_DAEMONS = (
    'i=0; while [ $i -lt "$1" ]; do (setsid sleep 4000 MARK &); i=$((i+1)); done; exec tail -f /dev/null'
)
_DEAF = "trap '' TERM; "

_SHAPES = {
    "plain, from stop()": ("0", _PLAIN),
    "ignoring TERM, after the grace": (_GRACE, _DEAF + _PLAIN),
    "double-forked setsid daemons, from stop()": ("0", _DAEMONS),
    "such daemons ignoring TERM, after the grace": (_GRACE, _DEAF + _DAEMONS),
}


def measure(stage: Stage) -> Result:
    """Return milliseconds until the outcome is there, and how many processes outlived it."""
    setsid = shutil.which("setsid")
    measured = interleave(
        [
            Contestant(name, python("ending", *words) if setsid or "setsid" not in words[1] else None)
            for name, words in _SHAPES.items()
        ],
        stage.gate,
        rounds=stage.pick(9, 3),
        count=1,
    )
    result = Result(
        "7. Ending 100 processes (Engine, threaded)",
        ("shape", "median ms", "p10 ms", "slowest ms", "survivors", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    for name, one in measured.items():
        sum_ = one.sum
        survivors = sum(answer["survivors"] for answer in one.answers)
        result.goals.append(
            Goal(name, sum_.median * 1e3 if sum_ else None, 40, 15, "ms", disturbed=one.disturbed)
        )
        if sum_ is None:
            result.rows.append([name, "missing", *["-"] * 4])
            continue
        shown = [milli(sum_.median), milli(sum_.p10), milli(max(one.seconds))]
        result.rows.append([name, *shown, str(survivors), str(sum_.count)])
        if survivors:
            result.errors.append(f"{name}: {survivors} survivors")
    return result
