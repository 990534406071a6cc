"""500 terminal sessions open in one process."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from bench.stage import Stage
from bench.table import Goal, Result
from bench.worker import Misbehaved, Worker, python

COUNT = 500
IDLE = 2.0

# what is shown: its unit, the number that one unit is in the answer, and the goals if there are any
_SHOWN: dict[str, tuple[str, str, float, tuple[float, float] | None]] = {
    "memory": ("resident memory each", "KiB", 1024, (16, 4)),
    "descriptors": ("descriptors each", "", 1, (2, 2)),
    "threads": ("threads each", "", 1, (0, 0)),
    "ours_used": (f"CPU of our process in {IDLE:.0f} idle seconds", "ms", 1e-3, (10, 1)),
    "helpers_used": (f"CPU of all helpers in {IDLE:.0f} idle seconds", "ms", 1e-3, (10, 1)),
    "helpers": ("helper processes", "", 1, None),
    "keeper_memory": ("memory (PSS) of one keeper", "KiB", 1024, None),
    "keeper_memory_each": ("memory (PSS) of the keepers, each session", "KiB", 1024, None),
    "opened": ("opening, each", "ms", 1e-3, None),
    "closed": ("closing all", "ms", 1e-3, None),
    "left": ("processes left after closing", "", 1, None),
}


def measure(stage: Stage) -> Result:
    """Return what a session costs while nothing happens in it."""
    result = Result(
        f"9. {COUNT} open terminal sessions (`cat`) in one process", ("what", "median", "least", "most", "n")
    )
    answers: list[dict[str, Any]] = []
    for _ in range(stage.pick(3, 1)):
        stage.gate.wait()
        worker = Worker(python("sessions", str(IDLE)))
        try:
            answers.append(worker.ask(COUNT))
            stage.gate.stayed_calm()
        except Misbehaved as error:
            result.errors.append(str(error))
        finally:
            worker.close()
    for key, (what, unit, one, goals) in _SHOWN.items():
        values = [answer[key] / one for answer in answers]
        if goals:
            result.goals.append(Goal(what, median(values) if values else None, *goals, unit))
        if values:
            result.rows.append([what, *_row(values, unit), str(len(values))])
    if any(answer["left"] for answer in answers):
        result.errors.append("processes were left after closing")
    result.notes.append(
        "The idle CPU is to be about 0; the goals say what is taken for that. The sessions have "
        "printed nothing, so no buffer is in the memory."
    )
    return result


def _row(values: Sequence[float], unit: str) -> list[str]:
    return [f"{value:.2f} {unit}".rstrip() for value in (median(values), min(values), max(values))]
