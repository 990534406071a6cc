"""`agent-exec list` in a large store and in a small one."""

import os

from agent_exec.jobs.record import RECORD, stamp
from agent_exec.jobs.store import CWD, created, new_id
from bench.blocks import at_most, errors, interleave, remarks
from bench.commands import Call, contestants, ours
from bench.home import Home
from bench.stage import Stage
from bench.table import Result, milli, ratio, times

FEW, MANY = 50, 100_000
_EVERY = 20.0
"""The seconds between two jobs."""
# what is called in both, by a word for it; most of the many jobs ran in the folder `crowded`
_CALLS = {
    "list": ["list", "--cwd", "crowded"],
    "list --all": ["list", "--all"],
    "ps --all": ["ps", "--all"],
}
QUIET = f"list, {FEW} of {MANY} jobs ran here"


def measure(stage: Stage) -> Result:
    """Return milliseconds of each call, and the ratio of the large store to the small one."""
    with Home() as small, Home() as large:
        fill(small, "crowded", FEW)
        fill(large, "crowded", MANY - FEW)
        fill(large, "quiet", FEW)
        calls: dict[str, tuple[Home, Call]] = {}
        for word, words in _CALLS.items():
            for home, name in ((small, few(word)), (large, many(word))):
                full = word != "ps --all" and home is large
                calls[name] = home, _call(home, words, truncated=full)
        calls[QUIET] = large, _call(large, ["list", "--cwd", "quiet"], truncated=False)
        measured = interleave(
            [one for name, (home, call) in calls.items() for one in contestants({name: call}, home.env)],
            stage.gate,
            rounds=stage.pick(12, 4),
            count=6,
        )
    result = Result(
        f"18. `agent-exec list` in a store of {MANY} jobs and of {FEW}",
        ("call", "median ms", "p10 ms", f"x {FEW} jobs", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    pairs = {many(word): few(word) for word in _CALLS} | {QUIET: few("list")}
    for name, one in measured.items():
        sum_ = one.sum
        if sum_ is None:
            result.rows.append([name, "missing", *["-"] * 3])
            continue
        against = times(ratio(sum_, measured[pairs[name]].sum)) if name in pairs else "-"
        result.rows.append([name, milli(sum_.median), milli(sum_.p10), against, str(sum_.count)])
    result.goals += [
        at_most(f"{name} / of {FEW}", measured[name], measured[of], 3, 3) for name, of in pairs.items()
    ]
    result.notes.append("At most 50 are shown. The jobs are copies of the record of one that was run.")
    return result


def few(word: str) -> str:
    """Return the name of a call in the small store."""
    return f"{word}, {FEW} jobs"


def many(word: str) -> str:
    """Return the name of a call in the large store."""
    return f"{word}, {MANY} jobs"


def _call(home: Home, words: list[str], *, truncated: bool) -> Call:
    named = [home.path(word) if word in ("crowded", "quiet") else word for word in words]
    return ours(*named, expect=f'"truncated":{str(truncated).lower()}')


def fill(home: Home, name: str, count: int) -> None:
    """Have one job run in a folder of this name, and copy its record until there are so many."""
    place = home.path(name)
    os.mkdir(place)
    job = home.run("--cwd", place, "--", "true")
    with open(os.path.join(job.folder, RECORD), encoding="utf-8") as file:
        record = file.read()
    indexes = os.path.join(home.store.root, CWD)
    index = next(
        one for one in os.listdir(indexes) if os.path.exists(os.path.join(indexes, one, job.id[:6], job.id))
    )
    letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    for number in range(1, count):
        moment = int((created(job.id) - number * _EVERY) * 1000)
        job_id = "".join(letters[moment >> shift & 31] for shift in range(45, -1, -5)) + new_id()[10:]
        bucket = os.path.join(index, job_id[:6])
        os.makedirs(bucket, 0o700, exist_ok=True)
        os.mkdir(home.store.folder(job_id), 0o700)
        copy = record.replace(job.id, job_id).replace(job.facts["created_at"], stamp(created(job_id)))
        with open(os.path.join(home.store.folder(job_id), RECORD), "w", encoding="utf-8") as file:
            file.write(copy)
        with open(os.path.join(bucket, job_id), "w", encoding="ascii"):
            pass
