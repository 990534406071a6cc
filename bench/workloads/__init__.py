"""The workloads, in the order in which they are shown; each has a `measure(stage)` that gives a Result."""

from collections.abc import Callable

from bench.stage import Stage
from bench.table import Result
from bench.workloads import (
    ending,
    first,
    lines,
    overrun,
    roundtrip,
    sessions,
    spawn,
    terminal,
    throughput,
    volume,
)

WORKLOADS: dict[str, Callable[[Stage], Result]] = {
    "spawn": spawn.measure,
    "throughput": throughput.measure,
    "volume": volume.measure,
    "lines": lines.measure,
    "roundtrip": roundtrip.measure,
    "terminal": terminal.measure,
    "ending": ending.measure,
    "overrun": overrun.measure,
    "sessions": sessions.measure,
    "first": first.measure,
}
