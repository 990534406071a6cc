"""`agent-exec status`: the least that a call of the program costs."""

from bench.blocks import at_most, errors, interleave, remarks
from bench.commands import COLUMNS, PASS, contestants, ours, python_pass, rows
from bench.home import Home
from bench.stage import Stage
from bench.table import Result

OURS = "agent-exec status"
BARE = "python -IS -c pass, the program's own flags"


def measure(stage: Stage) -> Result:
    """Return milliseconds of a call, and the ratio to a Python that does nothing."""
    with Home() as home:
        job = home.run("--", "true")
        calls = {
            PASS: python_pass(),
            BARE: python_pass("-IS"),
            OURS: ours("status", job.id, expect='"state":"exited"'),
        }
        measured = interleave(
            contestants(calls, home.env),
            stage.gate,
            rounds=stage.pick(20, 6),
            count=8,
        )
    return Result(
        "11. `agent-exec status` of a job that has ended",
        COLUMNS,
        rows(measured),
        [at_most(f"{OURS} / {PASS}", measured[OURS], measured[PASS], 1.4, 1.0)],
        remarks(measured),
        errors(measured),
    )
