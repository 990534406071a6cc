"""The overrun of a timeout of 300 ms while a daemon holds the output open."""

import shutil

from bench.blocks import Contestant, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Goal, Result, milli
from bench.worker import python

_GRACE = "0.2"
_DAEMON = "(setsid sleep 4000 MARK &); exec sleep 4000 MARK"
_DEAF = "trap '' TERM; "

OURS = {
    "agent_exec.run, daemon": ("run", "0", _DAEMON),
    "agent_exec.run, daemon ignoring TERM, after the grace": ("run", _GRACE, _DEAF + _DAEMON),
}
BESIDE = {"subprocess.run(timeout=), daemon": ("subprocess", "0", _DAEMON)}


def measure(stage: Stage) -> Result:
    """Return milliseconds beyond the timeout, and how many processes outlived the call."""
    setsid = shutil.which("setsid")
    measured = interleave(
        [
            Contestant(name, python("overrun", *words) if setsid else None)
            for name, words in (OURS | BESIDE).items()
        ],
        stage.gate,
        rounds=stage.pick(15, 4),
        count=1,
    )
    result = Result(
        "8. Overrun of a timeout of 300 ms, a setsid daemon holding the pipe",
        ("contestant", "median ms", "p10 ms", "slowest ms", "survivors", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    for name, one in measured.items():
        sum_ = one.sum
        survivors = sum(answer["survivors"] for answer in one.answers)
        if name in OURS:
            result.goals.append(
                Goal(name, sum_.median * 1e3 if sum_ else None, 50, 15, "ms", disturbed=one.disturbed)
            )
        if sum_ is None:
            result.rows.append([name, "missing", *["-"] * 4])
            continue
        shown = [milli(sum_.median), milli(sum_.p10), milli(max(one.seconds))]
        result.rows.append([name, *shown, str(survivors), str(sum_.count)])
        if survivors and name in OURS:
            result.errors.append(f"{name}: {survivors} survivors")
    return result
