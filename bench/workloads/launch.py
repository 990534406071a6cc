"""Starting a job from a process that runs already, small or large."""

import shutil

from bench import installed
from bench.blocks import Contestant, errors, interleave, remarks
from bench.home import Home
from bench.stage import Stage
from bench.table import Goal, Result, ratio, times

SMALL, LARGE = "a job, from a small process", "a job, from one of 600 MB"
POPEN = "subprocess.Popen, new session, from a small process"
_CONTESTANTS = {SMALL: ("job", "0"), LARGE: ("job", "600"), POPEN: ("subprocess", "0")}


def measure(stage: Stage) -> Result:
    """Return milliseconds until the command runs, which is then on record."""
    program = shutil.which("true") or "/bin/true"
    with Home() as home:
        measured = interleave(
            [
                Contestant(name, installed.worker("launch", *words, program), home.env)
                for name, words in _CONTESTANTS.items()
            ],
            stage.gate,
            rounds=stage.pick(20, 6),
            count=10,
        )
    result = Result(
        "16. Starting a job (`true`) from the library, until its command runs",
        ("contestant", "median ms", "p10 ms", "x Popen", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    for name, one in measured.items():
        sum_ = one.sum
        if name != POPEN:
            result.goals.append(
                Goal(name, sum_.median * 1e3 if sum_ else None, 5, 1.5, "ms", disturbed=one.disturbed)
            )
        if sum_ is None:
            result.rows.append([name, "missing", *["-"] * 3])
            continue
        shown = [f"{seconds * 1e3:.2f}" for seconds in (sum_.median, sum_.p10)]
        result.rows.append([name, *shown, times(ratio(sum_, measured[POPEN].sum)), str(sum_.count)])
    return result
