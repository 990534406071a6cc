"""A line to a terminal and its answer back: `cat` without echo, and bash from prompt to prompt."""

import shutil

from bench.blocks import Contestant, at_most, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Result, fast_ratio, micro, ratio, times
from bench.worker import python

C = "C forkpty, poll, read"
OURS = {"inline": "Engine, inline", "threaded": "Engine, threaded"}
PROMPT = "<bench> "
# A dumb terminal, so that the line editor adds nothing of its own.
ENV = {"PS1": PROMPT, "TERM": "dumb", "INPUTRC": "/dev/null"}

# program: ready, line, answer, the command line, must, stretch
_TALKS = {
    "cat": (
        ("ready\r\n", "0123456789\n", "0123456789\r\n", "/bin/sh", "-c", "stty -echo; echo ready; exec cat"),
        (2.2, 1.6),
    ),
    "bash": (
        (PROMPT, "echo hi\n", f"\nhi\r\n{PROMPT}", shutil.which("bash") or "", "--norc", "--noprofile", "-i"),
        (1.3, 1.1),
    ),
}


def measure(stage: Stage) -> Result:
    """Return microseconds of a round trip, and the ratio to C."""
    result = Result(
        "5. Round trip on a terminal: `cat` without echo, bash from prompt to prompt",
        ("contestant", "program", "median us", "p10 us", "x C", "p10 x C", "n"),
    )
    for program, (words, (must, stretch)) in _TALKS.items():
        if not all(words):
            result.notes.append(f"{program} is missing on this machine.")
            continue
        measured = interleave(
            [
                Contestant(C, stage.c("roundtrip", *words), ENV),
                *(Contestant(name, python("roundtrip", word, *words), ENV) for word, name in OURS.items()),
            ],
            stage.gate,
            rounds=stage.pick(60, 12),
            count=40,
        )
        result.notes += remarks(measured, program)
        result.errors += errors(measured)
        sums = {name: one.sum for name, one in measured.items()}
        for name, one in sums.items():
            if one is None:
                result.rows.append([name, program, "missing", *["-"] * 4])
                continue
            shown = [micro(one.median), micro(one.p10)]
            ratios = [times(ratio(one, sums[C])), times(fast_ratio(one, sums[C]))]
            result.rows.append([name, program, *shown, *ratios, str(one.count)])
        result.goals += [
            at_most(f"{name}, {program} / C", measured[name], measured[C], must, stretch)
            for name in OURS.values()
        ]
    return result
