"""Starting a background job from a shell and waiting for its end."""

from bench.blocks import at_most, errors, interleave, remarks
from bench.commands import COLUMNS, PASS, contestants, ours, python_pass, rows
from bench.home import Home
from bench.peers import Peers
from bench.stage import Stage
from bench.table import Result

OURS = "agent-exec run"


def measure(stage: Stage) -> Result:
    """Return milliseconds until the answer, beside a Python that does nothing and beside others."""
    with Home() as home, Peers(home.folder) as peers:
        call = ours("run", "--", "true", until="answer", expect='"state":"exited","exit_code":0')
        measured = interleave(
            contestants({PASS: python_pass(), OURS: call, **peers.finishing()}, {**home.env, **peers.env}),
            stage.gate,
            rounds=stage.pick(16, 6),
            count=8,
        )
    return Result(
        "13. Starting `true` in the background and waiting for its end",
        COLUMNS,
        rows(measured),
        [at_most(f"{OURS} / {PASS}", measured[OURS], measured[PASS], 2.2, 1.5)],
        [
            *remarks(measured),
            "The others are called by a shell, first to start and then to wait; our one call does both.",
        ],
        errors(measured),
    )
