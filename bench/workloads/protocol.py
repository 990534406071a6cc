"""What the Model Context Protocol adds: calls over stdin and stdout, the start of a server, its memory."""

from importlib.util import find_spec
from shutil import which

from bench.blocks import Contestant, Measured, at_most, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Goal, Result, milli, ratio, times
from bench.worker import Misbehaved, Worker, python

BOXED = ", workspace-write"
ENGINE, BARE = "Engine, `sh -c true`, no server", "bare SDK server, a tool that does nothing"
EXEC, RUN, MANY = "exec_command of `true`", "run of `true`", "exec_command of `true`, 20 at once, all"
_WARM = {
    ENGINE: "engine",
    ENGINE + BOXED: "engine-boxed",
    BARE: "bare",
    EXEC: "exec",
    EXEC + BOXED: "exec-boxed",
    MANY: "exec-20",
    RUN: "run",
    RUN + BOXED: "run-boxed",
}
_PEERS = {"mcp-shell-server, `true`": "mcp-shell-server", "Desktop Commander, `true`": "desktop-commander"}
OURS, THEIRS = "start to the list of tools", "start to the list of tools, bare SDK server"
_STARTS = {OURS: "start", OURS + BOXED: "start-boxed", THEIRS: "start-bare"}


def measure(stage: Stage) -> Result:
    """Return milliseconds of each, what is over the engine's own time, and the memory of an idle server."""
    result = Result(
        "30. A server of the Model Context Protocol over stdin and stdout",
        ("what", "median ms", "p10 ms", "x bare SDK", "n"),
    )
    there = find_spec("mcp") is not None
    contestants = _contestants(_WARM, there=there) + [
        Contestant(name, python("protocol", program) if which(program) else None)
        for name, program in _PEERS.items()
    ]
    warm = interleave(contestants, stage.gate, rounds=stage.pick(20, 6), count=10)
    starts = interleave(_contestants(_STARTS, there=there), stage.gate, rounds=stage.pick(10, 3), count=1)
    _show(result, warm, BARE)
    _show(result, starts, THEIRS)
    result.goals += [
        Goal(f"{EXEC}, over the engine's own time", _over(warm[EXEC], warm[ENGINE]), 3, 2, "ms"),
        Goal(f"the same{BOXED}", _over(warm[EXEC + BOXED], warm[ENGINE + BOXED]), 3, 2, "ms"),
        Goal(RUN, _over(warm[RUN]), 10, 5, "ms"),
        Goal(f"{MANY} / one", ratio(warm[MANY].sum, warm[EXEC].sum), 20, 12),
        at_most(f"{OURS} / bare SDK", starts[OURS], starts[THEIRS], 1.2, 1.1),
    ]
    if there:
        _memory(stage, result)
    result.notes.append(
        "Without a sandbox, unless it is said; then in a repository of 5 000 files in 526 folders, planned "
        "anew for each command. The client writes and reads bare lines."
    )
    return result


def _contestants(words: dict[str, str], *, there: bool) -> list[Contestant]:
    return [Contestant(name, python("protocol", word) if there else None) for name, word in words.items()]


def _show(result: Result, measured: dict[str, Measured], base: str) -> None:
    result.notes += remarks(measured)
    result.errors += errors(measured)
    for name, one in measured.items():
        sums = one.sum
        if sums is None:
            result.rows.append([name, "missing", *["-"] * 3])
            continue
        against = times(ratio(sums, measured[base].sum))
        result.rows.append([name, milli(sums.median), milli(sums.p10), against, str(sums.count)])


def _over(ours: Measured, theirs: Measured | None = None) -> float | None:
    if ours.sum is None or (theirs is not None and theirs.sum is None):
        return None
    less = theirs.sum.median if theirs is not None and theirs.sum is not None else 0.0
    return (ours.sum.median - less) * 1000


def _memory(stage: Stage, result: Result) -> None:
    worker = Worker(python("protocol", "memory"))
    try:
        stage.gate.wait()
        told = worker.ask(1)
    except Misbehaved as error:
        result.errors.append(str(error))
        return
    finally:
        worker.close()
    held, own = (told[name] / (1 << 20) for name in ("resident", "own"))
    result.notes.append(
        f"An idle server holds {held:.0f} MiB ({own:.0f} MiB of its own), "
        f"and uses {told['used'] * 1000:.1f} ms of CPU a second."
    )
