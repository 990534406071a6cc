"""1 GiB of output, of which the first and the last MiB are kept."""

from bench.blocks import Contestant, at_least, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Result, ratio, times
from bench.worker import python

C = "C poll, read into a page-aligned ring, pipe of 1 MiB"
OURS = {"run": "agent_exec.run", "threaded": "Engine, threaded"}
SIZE = 1 << 30
LINE = "0123456789abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQ"
PERIOD = len(LINE) + 1


def measure(stage: Stage) -> Result:
    """Return MB/s of each, the share of C, and how far our memory grew."""
    writer = stage.c("writer", str(SIZE), LINE) or ["/usr/bin/head", "-c", str(SIZE), "/dev/zero"]
    words = [str(SIZE), str(PERIOD), *writer]
    measured = interleave(
        [
            Contestant(C, stage.c("volume", *words)),
            *(Contestant(name, python("output", "ends", word, *words)) for word, name in OURS.items()),
        ],
        stage.gate,
        rounds=stage.pick(11, 4),
        count=1,
    )
    sums = {name: one.sum for name, one in measured.items()}
    result = Result(
        "3. 1 GiB of output, 1 MiB of head and 1 MiB of tail kept",
        ("contestant", "median MB/s", "p10 time: MB/s", "of C", "memory growth, first run", "any run", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    for name, one in sums.items():
        if one is None:
            result.rows.append([name, "missing", *["-"] * 5])
            continue
        rates = [f"{SIZE / 1e6 / seconds:.0f}" for seconds in (one.median, one.p10)]
        last = measured[name].answers[-1]
        grown = [
            f"{last[key] / (1 << 20):.1f} MiB" if key in last else "-" for key in ("first_growth", "growth")
        ]
        result.rows.append([name, *rates, times(ratio(sums[C], one)), *grown, str(one.count)])
    result.goals += [
        at_least(f"{name}, of C", measured[name], measured[C], 0.75, 0.95) for name in OURS.values()
    ]
    result.notes.append(
        "Memory growth is the peak of resident memory during a run, over what it was before the first one."
    )
    return result
