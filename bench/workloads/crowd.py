"""300 sessions at once, each of which echoes lines."""

from statistics import quantiles

from bench.blocks import Contestant, Measured, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Goal, Result
from bench.worker import python

SESSIONS = 300
PACE = 1
# callers, the seconds between two lines of one, and whether there is a goal
MANNERS = {
    f"{SESSIONS} callers, a line a second each": (SESSIONS, PACE, True),
    f"{SESSIONS} callers, all at once, line after line": (SESSIONS, 0, True),
    "one caller, line after line": (1, 0, False),
}


def measure(stage: Stage) -> Result:
    """Return milliseconds of a round trip: the middle, and the slow end that counts."""
    result = Result(
        f"27. {SESSIONS} sessions at once (`cat` on a terminal), each echoing a line",
        ("contestant", "median ms", "p99 ms", "most ms", "round trips/s", "n"),
    )
    # One after the other: so many processes wait in each, that none is to stand beside another.
    for name, (callers, pace, aimed) in MANNERS.items():
        measured = interleave(
            [Contestant(name, python("crowd", str(callers), str(pace), str(SESSIONS)))],
            stage.gate,
            rounds=stage.pick(3, 2),
            count=1,
        )
        one = measured[name]
        result.notes += remarks(measured)
        result.errors += errors(measured)
        if one.sum is None:
            result.rows.append([name, "missing", *["-"] * 4])
        else:
            shown = [f"{value * 1e3:.2f}" for value in (one.sum.median, _p99(one), max(one.seconds))]
            rate = SESSIONS / pace if pace else callers * one.sum.count / sum(one.seconds)
            result.rows.append([name, *shown, f"{rate:.0f}", str(one.sum.count)])
        if aimed:
            p99 = _p99(one) * 1e3 if one.sum else None
            result.goals.append(Goal(f"{name}, p99", p99, 50, 15, "ms", disturbed=one.disturbed))
    result.notes.append(
        "A caller takes its sessions in turn and waits for each answer, which comes when `cat` waits again."
        " All at once, every session has a line on its way all the time, so that a round trip takes"
        f" {SESSIONS} times the work of one."
    )
    return result


def _p99(one: Measured) -> float:
    return quantiles(one.seconds, n=100, method="inclusive")[98]
