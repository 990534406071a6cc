"""A line typed at the prompt of bash by `write_stdin`, until the next prompt is answered."""

import importlib.util
import shlex
import shutil

from bench.blocks import Contestant, at_most, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Result, fast_ratio, micro, ratio, times
from bench.worker import python

C, ENGINE = "C forkpty, poll, read until the prompt", "Engine, threaded, until the prompt"
OURS, THEIRS = "write_stdin", "SWE-ReX, run_in_session"
PROMPT = "<bench> "
LINE = "echo x\n"
# A dumb terminal, so that the line editor adds nothing of its own; as the tools have it anyway.
ENV = {"PS1": PROMPT, "TERM": "dumb", "INPUTRC": "/dev/null"}


def measure(stage: Stage) -> Result:
    """Return microseconds of a round trip, and the ratio to C."""
    result = Result(
        "24. `write_stdin` at a prompt of bash: `echo x` until the next prompt is answered",
        ("contestant", "median us", "p10 us", "x C", "p10 x C", "n"),
    )
    bash = shutil.which("bash")
    if bash is None:
        result.notes.append("bash is missing on this machine.")
        return result
    program = [bash, "--norc", "--noprofile", "-i"]
    words = [PROMPT, LINE, f"\nx\r\n{PROMPT}", *program]
    ours = [PROMPT, LINE, f"{LINE}x\n{PROMPT}", f"exec {shlex.join(program)}"]
    there = importlib.util.find_spec("swerex") is not None
    measured = interleave(
        [
            Contestant(C, stage.c("roundtrip", *words), ENV),
            Contestant(ENGINE, python("roundtrip", "threaded", *words), ENV),
            Contestant(OURS, python("exchange", *ours), ENV),
        ],
        stage.gate,
        rounds=stage.pick(50, 12),
        count=40,
    )
    # Apart, and less often: it takes hundreds of times as long.
    measured |= interleave(
        [Contestant(THEIRS, python("swerex", LINE, "x") if there else None)],
        stage.gate,
        rounds=stage.pick(4, 2),
        count=5,
    )
    result.notes += remarks(measured)
    result.errors += errors(measured)
    sums = {name: one.sum for name, one in measured.items()}
    for name, one in sums.items():
        if one is None:
            result.rows.append([name, "missing", *["-"] * 4])
            continue
        ratios = [times(ratio(one, sums[C])), times(fast_ratio(one, sums[C]))]
        result.rows.append([name, micro(one.median), micro(one.p10), *ratios, str(one.count)])
    result.goals.append(at_most(f"{OURS} / C", measured[OURS], measured[C], 2, 1.3))
    result.notes.append(
        "C and the engine know the prompt and stop when they have read it. `write_stdin` is told nothing: it"
        " answers because bash waits for input."
    )
    if not there:
        result.notes.append(f"{THEIRS} is missing: `swerex` is not installed.")
    return result
