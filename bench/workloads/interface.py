"""50 MB flood the terminal interface, its output view open, while someone presses keys."""

from bench.blocks import Contestant, Measured, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Goal, Result
from bench.worker import python
from bench.workloads.flood import LINE

SIZE = 50_000_000
FEED = "ShellOutputView.feed alone"
APP = "agent-exec shell, output view open"


def measure(stage: Stage) -> Result:
    """Return MB/s and lines/s, frames a second, how soon a key answers, and how far our memory grew."""
    size = SIZE // (len(LINE) + 1) * (len(LINE) + 1)
    writer = stage.c("writer", str(size), LINE)
    result = Result(
        "29. 50 MB into the terminal interface, keys pressed meanwhile",
        (
            "contestant",
            "median MB/s",
            "Mlines/s",
            "frames/s",
            "median key",
            "slowest key",
            "memory growth",
            "n",
        ),
    )
    measured = interleave(
        [
            Contestant(FEED, python("interface", "feed", str(size), LINE)),
            Contestant(APP, writer and python("interface", "app", *writer)),
        ],
        stage.gate,
        rounds=stage.pick(7, 2),
        count=3,
    )
    result.notes += remarks(measured)
    result.errors += errors(measured)
    for name, one in measured.items():
        if one.sum is None:
            result.rows.append([name, "missing", *["-"] * 6])
            continue
        last = one.answers[-1]
        told = ["-"] * 4
        if "key" in last:
            told = [
                f"{last['frames']:.0f}",
                f"{last['usual'] * 1000:.1f} ms",
                f"{max(answer['key'] for answer in one.answers) * 1000:.1f} ms",
                f"{max(answer['growth'] for answer in one.answers) / (1 << 20):.1f} MiB",
            ]
        rate = size / 1e6 / one.sum.median
        lines = size / (len(LINE) + 1) / 1e6 / one.sum.median
        result.rows.append([name, f"{rate:.0f}", f"{lines:.1f}", *told, str(one.sum.count)])
    result.goals += _goals(measured[APP], size)
    return result


def _goals(ours: Measured, size: int) -> list[Goal]:
    rate = size / 1e6 / ours.sum.median if ours.sum else None
    slowest = max(answer["key"] for answer in ours.answers) * 1000 if ours.sum else None
    growth = max(answer["growth"] for answer in ours.answers) / (1 << 20) if ours.sum else None
    return [
        Goal(APP, rate, 50, 100, "MB/s", higher=True, disturbed=ours.disturbed),
        Goal(f"{APP}: slowest key", slowest, 100, 30, "ms"),
        Goal(f"{APP}: memory growth", growth, 24, 16, "MiB"),
    ]
