"""100 MB printed in one session: kept on the disk within its bounds, shown within its budget."""

from bench.blocks import Contestant, Measured, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Goal, Result
from bench.worker import python

BARE = "agent_exec.run, first and last MiB kept"
PIPES, TERMINAL = "exec_command, on pipes", "exec_command, tty=true"
SIZE = 100_000_000
LINE = "0123456789abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQ"
PERIOD = len(LINE) + 1
LINES = SIZE // PERIOD


def measure(stage: Stage) -> Result:
    """Return MB/s of each, and how far our memory grew."""
    writer = stage.c("writer", str(SIZE), LINE)
    result = Result(
        "26. 100 MB in a session: transcript on disk (its first and last parts), answer of 10 000 tokens",
        ("contestant", "median MB/s", "p10 time: MB/s", "memory growth, first run", "any run", "n"),
    )
    words = [str(SIZE), str(LINES), *(writer or ())]
    measured = interleave(
        [
            Contestant(BARE, writer and python("output", "ends", "run", str(SIZE), str(PERIOD), *writer)),
            Contestant(PIPES, writer and python("flood", "pipes", *words)),
        ],
        stage.gate,
        rounds=stage.pick(5, 3),
        count=1,
    )
    # Apart, and less often: it takes many times as long.
    measured |= interleave(
        [Contestant(TERMINAL, writer and python("flood", "terminal", *words))],
        stage.gate,
        rounds=stage.pick(2, 1),
        count=1,
    )
    result.notes += remarks(measured)
    result.errors += errors(measured)
    for name, one in measured.items():
        if one.sum is None:
            result.rows.append([name, "missing", *["-"] * 4])
            continue
        rates = [f"{SIZE / 1e6 / seconds:.0f}" for seconds in (one.sum.median, one.sum.p10)]
        last = one.answers[-1]
        grown = [f"{last[key] / (1 << 20):.1f} MiB" for key in ("first_growth", "growth")]
        result.rows.append([name, *rates, *grown, str(one.sum.count)])
    result.goals += _goals(measured[PIPES])
    result.notes.append(
        "The first run includes what is loaded and made for it. On a terminal the kernel passes on at most"
        " 4 KiB at a time, and ends each line with one byte more; that one has no goal."
    )
    return result


def _goals(ours: Measured) -> list[Goal]:
    """Return the rate, and what is taken for flat memory."""
    rate = SIZE / 1e6 / ours.sum.median if ours.sum else None
    growth = ours.answers[-1]["growth"] / (1 << 20) if ours.sum else None
    return [
        Goal(PIPES, rate, 100, 400, "MB/s", higher=True, disturbed=ours.disturbed),
        Goal(f"{PIPES}: memory growth", growth, 16, 8, "MiB"),
    ]
