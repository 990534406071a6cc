"""Spawn and capture of `true`, one after the other."""

import importlib.util
import os
import shutil

from bench.blocks import Contestant, at_most, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Result, fast_ratio, micro, ratio, times
from bench.worker import python

C = "C posix_spawn, 2 pipes, poll"
STANDARD = "subprocess.run"
OURS = {"run": "agent_exec.run", "threaded": "Engine, threaded", "inline": "Engine, inline"}
SMALL, LARGE = "agent_exec.run, caller of 40 MB", "agent_exec.run, caller of 600 MB"
_NODE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "node", "spawn.js")


def measure(stage: Stage) -> Result:
    """Return microseconds of each, ratios to C and to subprocess, and what the caller's memory costs."""
    program = shutil.which("true") or "/bin/true"
    node = shutil.which("node")
    anyio = importlib.util.find_spec("anyio")
    measured = interleave(
        [
            Contestant(C, stage.c("spawn", program)),
            *(Contestant(name, python("spawn", word, "0", program)) for word, name in OURS.items()),
            Contestant(SMALL, python("spawn", "run", "40", program)),
            Contestant(LARGE, python("spawn", "run", "600", program)),
            Contestant(STANDARD, python("spawn", "subprocess", "0", program)),
            Contestant("asyncio.create_subprocess_exec", python("spawn", "asyncio", "0", program)),
            Contestant("anyio.run_process", python("spawn", "anyio", "0", program) if anyio else None),
            Contestant("Node child_process.spawn", [node, _NODE, program] if node else None),
        ],
        stage.gate,
        rounds=stage.pick(25, 6),
        count=20,
    )
    sums = {name: one.sum for name, one in measured.items()}
    result = Result(
        "1. Spawn and capture of `true`, one after the other",
        ("contestant", "median us", "p10 us", "x C", "p10 x C", "x subprocess", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    for name, one in sums.items():
        if one is None:
            result.rows.append([name, "missing", *["-"] * 5])
            continue
        result.rows.append(
            [
                name,
                micro(one.median),
                micro(one.p10),
                times(ratio(one, sums[C])),
                times(fast_ratio(one, sums[C])),
                times(ratio(one, sums[STANDARD])),
                str(one.count),
            ]
        )
    result.goals += [at_most(f"{name} / C", measured[name], measured[C], 1.5, 1.2) for name in OURS.values()]
    result.goals += [
        at_most(f"{name} / subprocess.run", measured[name], measured[STANDARD], 1.25, 1.0)
        for name in OURS.values()
    ]
    result.goals.append(at_most("caller of 600 MB / of 40 MB", measured[LARGE], measured[SMALL], 1.05, 1.02))
    return result
