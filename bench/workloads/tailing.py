"""`agent-exec tail` of a long log and of a short one."""

import json
import os
import shutil

from agent_exec.jobs.record import RECORD, Record
from agent_exec.logs.stream import path
from bench.blocks import at_most, errors, interleave, remarks
from bench.commands import COLUMNS, PASS, Call, contestants, ours, python_pass, rows
from bench.home import Home
from bench.stage import Stage
from bench.table import Result

SHORT, LONG = "agent-exec tail, 10 KiB", "agent-exec tail, 10 GiB"
TAIL = "tail -n 50 of the 10 GiB, without a record"
SIZE = 10 << 30
LINES = 160
_PRINT = f"i=1; while [ $i -le {LINES} ]; do printf '%063d\\n' $i; i=$((i+1)); done"


def measure(stage: Stage) -> Result:
    """Return milliseconds of a call, and the ratio of the two."""
    with Home() as home:
        short, long = (home.run("--", "/bin/sh", "-c", _PRINT) for _ in range(2))
        lengthen(long)
        last = f"{LINES:063d}"
        plain = shutil.which("tail")
        calls = {
            PASS: python_pass(),
            SHORT: ours("tail", short.id, expect=last),
            LONG: ours("tail", long.id, expect=last),
            TAIL: Call([plain, "-n", "50", path(long.folder, "stdout")], last) if plain else None,
        }
        measured = interleave(contestants(calls, home.env), stage.gate, rounds=stage.pick(16, 6), count=8)
    return Result(
        "17. `agent-exec tail` of a log of 10 GiB and of 10 KiB",
        COLUMNS,
        rows(measured),
        [at_most(f"{LONG} / 10 KiB", measured[LONG], measured[SHORT], 1.1, 1.1)],
        [*remarks(measured), "The long log is a sparse file with real lines at its end."],
        errors(measured),
    )


def lengthen(job: Record) -> None:
    """Put a hole of that size before a job's output, and say in its record that it came from there."""
    log = path(job.folder, "stdout")
    with open(log, "r+b") as file:
        lines = file.read()
        file.truncate(0)
        file.seek(SIZE)
        file.write(lines)
    record = os.path.join(job.folder, RECORD)
    with open(record, "rb") as file:
        facts = [json.loads(line) for line in file]
    facts[-1]["stdout_total_bytes"] += SIZE
    with open(record, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in facts)
