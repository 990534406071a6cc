"""100 MB printed by one `/shell` command, into the view that holds its last 4000 lines."""

from bench.blocks import Contestant, Measured, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Goal, Result
from bench.worker import python
from bench.workloads.flood import LINE, LINES, PERIOD, SIZE

BARE = "agent_exec.run, first and last MiB kept"
CLOSED, OPEN = "/shell, nobody looks", "/shell, 60 frames a second"


def measure(stage: Stage) -> Result:
    """Return MB/s and lines/s of each, the longest frame, and how far our memory grew."""
    writer = stage.c("writer", str(SIZE), LINE)
    result = Result(
        "28. 100 MB into the output view of /shell",
        ("contestant", "median MB/s", "p10 time: MB/s", "Mlines/s", "longest frame", "memory growth", "n"),
    )
    measured = interleave(
        [
            Contestant(BARE, writer and python("output", "ends", "run", str(SIZE), str(PERIOD), *writer)),
            Contestant(CLOSED, writer and python("viewed", "0", str(SIZE), *writer)),
            Contestant(OPEN, writer and python("viewed", "60", str(SIZE), *writer)),
        ],
        stage.gate,
        rounds=stage.pick(9, 3),
        count=1,
    )
    result.notes += remarks(measured)
    result.errors += errors(measured)
    for name, one in measured.items():
        if one.sum is None:
            result.rows.append([name, "missing", *["-"] * 5])
            continue
        rates = [f"{SIZE / 1e6 / seconds:.0f}" for seconds in (one.sum.median, one.sum.p10)]
        frame, growth = one.answers[-1].get("frame"), one.answers[-1].get("growth")
        result.rows.append(
            [
                name,
                *rates,
                f"{LINES / 1e6 / one.sum.median:.1f}",
                f"{frame * 1000:.1f} ms" if frame else "-",
                f"{growth / (1 << 20):.1f} MiB" if growth is not None else "-",
                str(one.sum.count),
            ]
        )
    result.goals += _goals(measured[OPEN])
    return result


def _goals(ours: Measured) -> list[Goal]:
    rate = SIZE / 1e6 / ours.sum.median if ours.sum else None
    last = ours.answers[-1] if ours.sum else None
    return [
        Goal(OPEN, rate, 200, 400, "MB/s", higher=True, disturbed=ours.disturbed),
        Goal(f"{OPEN}: longest frame", last["frame"] * 1000 if last else None, 100, 20, "ms"),
        Goal(f"{OPEN}: memory growth", last["growth"] / (1 << 20) if last else None, 24, 16, "MiB"),
    ]
