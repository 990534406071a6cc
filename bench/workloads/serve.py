"""What HTTP adds: a command over `agent-exec serve`, many at once, and a line through a terminal and back."""

from importlib.util import find_spec
from shutil import which

from agent_exec.faces.routes import ROUTES
from bench.blocks import Contestant, Measured, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Goal, Result, milli, ratio, times
from bench.worker import python
from bench.workers.serve import CROWD

ENGINE, EXEC = "Engine, `true`, no server", "POST /v1/exec `true`"
COMPAT, SWEREX = "POST /execute `true`, --compat swerex", "POST /execute `true`, SWE-ReX's own server"
MANY = f"POST /v1/exec `true`, {CROWD} at once, all"
ECHO, TTYD = "a line through a terminal's WebSocket and back", "the same, ttyd"


def measure(stage: Stage) -> Result:
    """Return milliseconds of each, and what is over the engine's own time."""
    result = Result("32. A server over HTTP and WebSockets", ("what", "median ms", "p10 ms", "x theirs", "n"))
    there = find_spec("uvicorn") is not None
    sockets = find_spec("websockets") is not None
    commands = interleave(
        [
            Contestant(ENGINE, python("serve", "engine")),
            Contestant(EXEC, python("serve", "exec") if there else None),
            Contestant(COMPAT, python("serve", "compat") if there else None),
            Contestant(SWEREX, python("serve", "swerex") if which("swerex-remote") else None),
        ],
        stage.gate,
        rounds=stage.pick(20, 4),
        count=20,
    )
    many = interleave(
        [Contestant(MANY, python("serve", "crowd") if there else None)],
        stage.gate,
        rounds=stage.pick(10, 2),
        count=1,
    )
    echoes = interleave(
        [
            Contestant(ECHO, python("serve", "echo") if there and sockets and "terminal" in ROUTES else None),
            Contestant(TTYD, python("serve", "ttyd") if sockets and which("ttyd") else None),
        ],
        stage.gate,
        rounds=stage.pick(20, 4),
        count=40,
    )
    for measured, base in ((commands, SWEREX), (many, MANY), (echoes, TTYD)):
        _show(result, measured, base)
    result.goals += [
        Goal(f"{EXEC}, over the engine's own time", _over(commands[EXEC], commands[ENGINE]), 2.5, 1.5, "ms"),
        Goal(f"{MANY} / {CROWD} of one", _each(many[MANY], commands[EXEC]), 1.5, 1),
        Goal(ECHO, _over(echoes[ECHO]), 5, 1, "ms"),
    ]
    result.notes.append(
        "Without a sandbox. Every request but those at once comes over a connection that stays."
    )
    return result


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


def _each(all_of_them: Measured, one: Measured) -> float | None:
    found = ratio(all_of_them.sum, one.sum)
    return None if found is None else found / CROWD
