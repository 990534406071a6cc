"""1 GiB of output into a job's log."""

from bench import installed
from bench.blocks import Contestant, at_least, errors, interleave, remarks
from bench.home import Home
from bench.stage import Stage
from bench.table import Result, ratio, times
from bench.workloads.volume import LINE, SIZE

FILE = "cmd > file"
OURS = "agent-exec run, by its duration_ms"
_CONTESTANTS = {"file": FILE, "cat": "cmd | cat > file", "job": OURS}


def measure(stage: Stage) -> Result:
    """Return MB/s of each, and the share of a command that writes into a file itself."""
    writer = stage.c("writer", str(SIZE), LINE) or ["/usr/bin/head", "-c", str(SIZE), "/dev/zero"]
    with Home() as home:
        words = [installed.program(), home.folder, str(SIZE), *writer]
        measured = interleave(
            [
                Contestant(name, installed.worker("log", word, *words), home.env)
                for word, name in _CONTESTANTS.items()
            ],
            stage.gate,
            rounds=stage.pick(9, 4),
            count=1,
        )
    sums = {name: one.sum for name, one in measured.items()}
    result = Result(
        "19. 1 GiB of output into the log of a job, without a quota",
        ("contestant", "median MB/s", "p10 time: MB/s", f"of {FILE}", "n"),
        goals=[at_least(f"{OURS}, of {FILE}", measured[OURS], measured[FILE], 0.4, 0.6)],
        notes=remarks(measured),
        errors=errors(measured),
    )
    for name, one in sums.items():
        if one is None:
            result.rows.append([name, "missing", *["-"] * 3])
            continue
        rates = [f"{SIZE / 1e6 / seconds:.0f}" for seconds in (one.median, one.p10)]
        result.rows.append([name, *rates, times(ratio(sums[FILE], one)), str(one.count)])
    result.notes.append("None of them waits for the disk; a supervisor does that after it has told the end.")
    return result
