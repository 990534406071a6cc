"""Jobs beside the program of the same name in Rust, and beside programs that do nothing."""

from bench.blocks import Measured, at_most, errors, interleave, remarks
from bench.commands import PASS, Call, contestants, ours, python_pass
from bench.home import Home
from bench.rust import RUST, Rust
from bench.stage import Stage
from bench.table import Result, milli, ratio, times
from bench.workloads.listing import fill

MANY = 2000
TRUE = "/bin/true"
_GOALS = {
    "status": 1.2,
    "run -- true": 1.3,
    "run --no-wait -- true": 1.2,
    f"list --limit 0, {MANY} jobs": 1.0,
}


def measure(stage: Stage) -> Result:
    """Return milliseconds of each call of both programs, in turns."""
    result = Result(
        "31. Jobs beside the Rust program",
        ("call", "who", "median ms", "p10 ms", f"x {RUST}", f"x {PASS}", "n"),
    )
    with Home() as home, Home() as many:
        rust, rust_many = Rust(home.folder), Rust(many.folder)
        theirs, job = rust.run(), home.run("--", "true")
        rust_many.fill(rust_many.run(), MANY)
        fill(many, "here", MANY)
        began = '"job_id":'
        pairs: dict[str, tuple[Call, Call | None, Home]] = {
            "status": (ours("status", job.id), rust.call("status", theirs), home),
            "run -- true": (
                ours("run", "--", "true", expect=began, until="answer"),
                rust.call("run", "--", "true", expect=began, until="answer"),
                home,
            ),
            "run --no-wait -- true": (
                ours("run", "--no-wait", "--", "true", expect=began, until="answer"),
                rust.call("run", "--wait=false", "--", "true", expect=began, until="answer"),
                home,
            ),
            f"list --limit 0, {MANY} jobs": (
                ours("list", "--all", "--limit", "0"),
                rust_many.call("list", "--all", "--limit", "0"),
                many,
            ),
        }
        for name, (mine, other, place) in pairs.items():
            measured = interleave(
                contestants(
                    {"agent-exec": mine, RUST: other, PASS: python_pass(), TRUE: Call([TRUE])}, place.env
                ),
                stage.gate,
                rounds=stage.pick(12, 4),
                count=6,
            )
            _show(result, name, measured)
    result.notes.append(
        "The Rust program mostly answers `run` a tenth of a second after its start, however short the job. "
        "What a start of Python costs is the row of `python -c pass`, of which ours saves the end: it exits "
        "without taking the interpreter apart."
    )
    return result


def _show(result: Result, name: str, measured: dict[str, Measured]) -> None:
    """Add the rows, the goal and the remarks of one call."""
    for who, one in measured.items():
        sum_ = one.sum
        if sum_ is None:
            result.rows.append([name, who, "missing", *["-"] * 4])
            continue
        ratios = [times(ratio(sum_, measured[other].sum)) for other in (RUST, PASS)]
        result.rows.append([name, who, milli(sum_.median), milli(sum_.p10), *ratios, str(sum_.count)])
    against = PASS if name == "status" else RUST
    goal = _GOALS[name]
    result.goals.append(at_most(f"{name} / {against}", measured["agent-exec"], measured[against], goal, goal))
    result.notes.extend(remarks(measured, name))
    result.errors.extend(errors(measured))
