"""Opening a terminal for one short command, read to its end."""

import shutil

from bench.blocks import Contestant, at_most, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Result, fast_ratio, micro, ratio, times
from bench.worker import python

C = "C forkpty"
OURS = {"run": "agent_exec.run", "threaded": "Engine, threaded", "inline": "Engine, inline"}


def measure(stage: Stage) -> Result:
    """Return microseconds of each, and the ratio to C."""
    words = ["hi\r\n", shutil.which("echo") or "/bin/echo", "hi"]
    measured = interleave(
        [
            Contestant(C, stage.c("terminal", *words)),
            *(Contestant(name, python("terminal", word, *words)) for word, name in OURS.items()),
        ],
        stage.gate,
        rounds=stage.pick(25, 6),
        count=20,
    )
    sums = {name: one.sum for name, one in measured.items()}
    result = Result(
        "6. Opening a terminal: `echo hi`, read to the end, reaped",
        ("contestant", "median us", "p10 us", "x C", "p10 x C", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    for name, one in sums.items():
        if one is None:
            result.rows.append([name, "missing", *["-"] * 4])
            continue
        ratios = [times(ratio(one, sums[C])), times(fast_ratio(one, sums[C]))]
        result.rows.append([name, micro(one.median), micro(one.p10), *ratios, str(one.count)])
    result.goals += [at_most(f"{name} / C", measured[name], measured[C], 1.2, 0.8) for name in OURS.values()]
    return result
