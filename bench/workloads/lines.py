"""10 million short lines, of which the last 4000 are kept and all are counted."""

from bench.blocks import Contestant, at_least, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Result, ratio, times
from bench.worker import python

C = "C memchr, index of each line"
OURS = {"run": "agent_exec.run", "threaded": "Engine, threaded"}
COUNT = 10_000_000
LINE = "abcdefghijklmnopqrs"
PERIOD = len(LINE) + 1


def measure(stage: Stage) -> Result:
    """Return million lines a second of each, and the share of C."""
    size = COUNT * PERIOD
    writer = stage.c("writer", str(size), LINE) or ["/bin/sh", "-c", f"yes {LINE} | head -c {size}"]
    words = [str(COUNT), str(PERIOD), *writer]
    measured = interleave(
        [
            Contestant(C, stage.c("lines", *words)),
            *(Contestant(name, python("output", "lines", word, *words)) for word, name in OURS.items()),
        ],
        stage.gate,
        rounds=stage.pick(15, 5),
        count=2,
    )
    sums = {name: one.sum for name, one in measured.items()}
    result = Result(
        "4. 10 million lines of 20 bytes into Lines(4000, 2 MiB), totals exact",
        ("contestant", "median Mlines/s", "p10 time: Mlines/s", "MB/s", "of C", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    for name, one in sums.items():
        if one is None:
            result.rows.append([name, "missing", *["-"] * 4])
            continue
        rates = [f"{COUNT / 1e6 / seconds:.0f}" for seconds in (one.median, one.p10)]
        result.rows.append(
            [name, *rates, f"{size / 1e6 / one.median:.0f}", times(ratio(sums[C], one)), str(one.count)]
        )
    result.goals += [
        at_least(f"{name}, of C", measured[name], measured[C], 0.60, 0.85) for name in OURS.values()
    ]
    return result
