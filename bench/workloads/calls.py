"""What a call of `exec_command` adds to the engine, with a shell and with a login shell."""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence

from bench.blocks import Contestant, Measured, at_most, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Result, fast_ratio, micro, ratio, times
from bench.worker import python

ECHO = "echo hi"
SH, USUAL, BASH = "agent_exec.run sh -c", "agent_exec.run bash -c", "agent_exec.run bash -c, no profile read"
LOGIN, PROFILE = "exec_command, login=true, after the first", "agent_exec.run bash -lc"
# The variable that shows whose profile was read; a profile that takes as long as a heavy one is not needed.
VARIABLE = "BENCH_PROFILE"
LINE = f'echo "${VARIABLE}"'


def measure(stage: Stage) -> Result:
    """Return microseconds of each, and the ratio to the engine running the same shell."""
    result = Result(
        "23. `exec_command` of one short command, over the engine",
        ("contestant", "line", "median us", "p10 us", "x the engine", "p10 x", "n"),
    )
    bash = shutil.which("bash")
    sh = ["hi\n", "sh", ECHO]
    usual = ["hi\n", "bash", ECHO]
    over = {
        "exec_command sh, login=false": (SH, "tools", sh),
        "Engine, threaded, sh -c": (SH, "engine", sh),
        "exec_command bash, login=false": (USUAL, "tools", usual),
    }
    measured = _turns(
        stage,
        [
            Contestant(SH, python("calls", "run", *sh)),
            Contestant(USUAL, _if_there(bash, python("calls", "run", *usual))),
            *(
                Contestant(name, _if_there(bash or words is sh, python("calls", word, *words)))
                for name, (_, word, words) in over.items()
            ),
        ],
    )
    _show(result, f"`{ECHO}`", measured, {name: other for name, (other, _, _) in over.items()})
    result.goals += [
        at_most(f"{name} / {over[name][0]}", measured[name], measured[over[name][0]], 1.25, 1.1)
        for name in over
        if name.startswith("exec_command")
    ]
    with tempfile.TemporaryDirectory(prefix="bench-home-") as home:
        with open(os.path.join(home, ".bash_profile"), "w", encoding="ascii") as file:
            file.write(f"export {VARIABLE}=read\n")
        words = ["read\n", "bash", LINE]
        env = {"HOME": home}
        measured = _turns(
            stage,
            [
                Contestant(BASH, _if_there(bash, python("calls", "run", *words)), {**env, VARIABLE: "read"}),
                Contestant(PROFILE, _if_there(bash, python("calls", "run-login", *words)), env),
                Contestant(LOGIN, _if_there(bash, python("calls", "tools-login", *words)), env),
            ],
        )
    _show(result, f"`{LINE}`", measured, dict.fromkeys((PROFILE, LOGIN), BASH))
    result.goals.append(at_most(f"{LOGIN} / {BASH}", measured[LOGIN], measured[BASH], 2.5, 2))
    result.notes.append(
        "The login environment is taken once, which the caller has agreed to; the line shows that it was. The"
        " tools run on an engine with a thread, `agent_exec.run` inside the call."
    )
    return result


def _turns(stage: Stage, contestants: Sequence[Contestant]) -> dict[str, Measured]:
    return interleave(contestants, stage.gate, rounds=stage.pick(24, 6), count=12)


def _show(result: Result, line: str, measured: Mapping[str, Measured], over: Mapping[str, str]) -> None:
    """Add the rows of one line."""
    result.notes += remarks(measured, line)
    result.errors += errors(measured)
    for name, one in measured.items():
        sums = one.sum
        if sums is None:
            result.rows.append([name, line, "missing", *["-"] * 4])
            continue
        under = measured[over.get(name, name)].sum
        ratios = [times(ratio(sums, under)), times(fast_ratio(sums, under))]
        result.rows.append([name, line, micro(sums.median), micro(sums.p10), *ratios, str(sums.count)])


def _if_there(there: object, argv: list[str]) -> list[str] | None:
    return argv if there else None
