"""The workloads, in the order in which they are shown; each has a `measure(stage)` that gives a Result."""

from collections.abc import Callable

from bench.stage import Stage
from bench.table import Result
from bench.workloads import (
    boxes,
    ending,
    faces,
    finish,
    first,
    launch,
    lines,
    listing,
    log,
    overrun,
    roundtrip,
    sessions,
    spawn,
    start,
    status,
    supervisors,
    tailing,
    terminal,
    throughput,
    volume,
    waiting,
    wayout,
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
    "status": status.measure,
    "start": start.measure,
    "finish": finish.measure,
    "supervisors": supervisors.measure,
    "waiting": waiting.measure,
    "launch": launch.measure,
    "tail": tailing.measure,
    "list": listing.measure,
    "log": log.measure,
    "faces": faces.measure,
    "boxes": boxes.measure,
    "wayout": wayout.measure,
}
