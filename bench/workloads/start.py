"""Starting a background job from a shell, until its name is known."""

from bench.blocks import at_most, errors, interleave, remarks
from bench.commands import COLUMNS, PASS, contestants, ours, python_pass, rows
from bench.home import Home
from bench.peers import Peers
from bench.stage import Stage
from bench.table import Result

OURS = "agent-exec run --no-wait"


def measure(stage: Stage) -> Result:
    """Return milliseconds until the id is printed, beside a Python that does nothing and beside others."""
    with Home() as home, Peers(home.folder) as peers:
        call = ours("run", "--no-wait", "--", "true", until="answer", expect='"job_id":')
        measured = interleave(
            contestants({PASS: python_pass(), OURS: call, **peers.starting()}, {**home.env, **peers.env}),
            stage.gate,
            rounds=stage.pick(16, 6),
            count=8,
        )
    return Result(
        "12. Starting `true` in the background, until its id is printed",
        COLUMNS,
        rows(measured),
        [at_most(f"{OURS} / {PASS}", measured[OURS], measured[PASS], 1.8, 1.3)],
        [
            *remarks(measured),
            "None of the others owns all that its command starts, and the line of the shell keeps no record.",
        ],
        errors(measured),
    )
