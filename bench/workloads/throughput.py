"""Many spawns of `true`, 8 and 64 at once."""

import shutil

from bench.blocks import Contestant, at_least, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Result, ratio, times
from bench.worker import python

C = "C posix_spawn, epoll, pidfd"
OURS = {"threaded": "Engine, threaded", "inline": "Engine, inline"}


def measure(stage: Stage) -> Result:
    """Return runs per second of each, and their share of what C does."""
    program = shutil.which("true") or "/bin/true"
    # Not in smaller blocks: helpers beyond the idle ones are started anew in each, and would weigh more.
    count = stage.pick(2000, 500)
    result = Result(
        f"2. {count} x `true`, 8 and 64 at once",
        ("contestant", "at once", "median runs/s", "p10 time: runs/s", "of C", "blocks"),
    )
    for slots in (8, 64):
        measured = interleave(
            [
                Contestant(C, stage.c("throughput", str(slots), program)),
                *(
                    Contestant(name, python("throughput", word, str(slots), program))
                    for word, name in OURS.items()
                ),
                Contestant("asyncio", python("throughput", "asyncio", str(slots), program)),
            ],
            stage.gate,
            rounds=stage.pick(7, 3),
            count=count,
            warm=200,
        )
        result.notes += remarks(measured, f"{slots} at once")
        result.errors += errors(measured)
        sums = {name: one.sum for name, one in measured.items()}
        for name, one in sums.items():
            if one is None:
                result.rows.append([name, str(slots), "missing", *["-"] * 3])
                continue
            rates = [f"{count / seconds:.0f}" for seconds in (one.median, one.p10)]
            result.rows.append([name, str(slots), *rates, times(ratio(sums[C], one)), str(one.count)])
        result.goals += [
            at_least(f"{name}, {slots} at once, of C", measured[name], measured[C], 0.70, 0.85)
            for name in OURS.values()
        ]
    return result
