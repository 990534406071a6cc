"""100 jobs that run and print nothing: what their supervisors cost."""

from statistics import median
from typing import Any

from bench import installed
from bench.home import Home
from bench.stage import Stage
from bench.table import Goal, Result
from bench.worker import Misbehaved, Worker

COUNT = 100
IDLE = 2.0
OURS = {"program": "agent-exec run --no-wait", "library": "from the library"}
_MIB = 1 << 20

# what is shown: its key, its unit, and the number that one unit is in the answer
_SHOWN = {
    "PSS each, MiB": ("share", _MIB),
    "largest": ("largest", _MIB),
    "resident": ("resident", _MIB),
    f"CPU of all in {IDLE:.0f} idle s, ms": ("used", 1e-3),
    "start each, ms": ("started", 1e-3),
    "end each, ms": ("ended", 1e-3),
}


def measure(stage: Stage) -> Result:
    """Return the proportional memory of a supervisor, and what it does while nothing happens."""
    result = Result(f"14. Supervisors of {COUNT} running jobs (`sleep`)", ("started", *_SHOWN, "n"))
    answers: dict[str, list[dict[str, Any]]] = {word: [] for word in OURS}
    with Home() as home:
        for _ in range(stage.pick(3, 1)):
            for word, found in answers.items():
                stage.gate.wait()
                worker = Worker(
                    installed.worker("supervisors", word, installed.program(), str(IDLE)), home.env
                )
                try:
                    found.append(worker.ask(COUNT))
                    stage.gate.stayed_calm()
                except Misbehaved as error:
                    result.errors.append(f"{OURS[word]}: {error}")
                finally:
                    worker.close()
    for word, found in answers.items():
        cells = [
            f"{median(answer[key] / one for answer in found):.2f}" if found else "missing"
            for key, one in _SHOWN.values()
        ]
        result.rows.append([OURS[word], *cells, str(len(found))])
        share = median(answer["share"] / _MIB for answer in found) if found else None
        result.goals.append(Goal(f"PSS of a supervisor, {OURS[word]}", share, 4.5, 3, "MiB"))
    return result
