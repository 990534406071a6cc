"""What the faces and the judge add to the bare engine."""

from bench.blocks import Contestant, Measured, at_most, errors, interleave, remarks
from bench.stage import Stage
from bench.table import Result, micro, ratio, times
from bench.worker import python

BARE, SHELL = "agent_exec.run true", "agent_exec.run sh -c true"
OVER = {
    "direct": ("exec_command, direct", BARE),
    "judged": ("exec_command, direct, judged by 43 rules", BARE),
    "default": ("exec_command, through the shell", SHELL),
    "default-judged": ("exec_command, through the shell, judged", SHELL),
    "executor": ("CommandExecutor, judged by its lists", BARE),
}
JUDGED = {
    "argv": "judge: `true` as an argv",
    "line:plain": "judge: `ls -l src`",
    "line:pipeline": "judge: `git status -s && ls -l | head -5`",
    "line:loop": 'judge: `for f in *.c; do grep -n main "$f"; done`',
    "line:message": "judge: `git commit -m \"$(cat <<'EOF' …)\"`",
    "line:long": "judge: `cd src && find … | xargs grep … | head -20 > out.txt 2>&1`",
}


def measure(stage: Stage) -> Result:
    """Give microseconds of each, the ratio of each face to the engine, and microseconds of each judgement."""
    measured = interleave(
        [
            Contestant(BARE, python("faces", "bare", "true")),
            Contestant(SHELL, python("faces", "shell", "true")),
            *(Contestant(name, python("faces", word, "true")) for word, (name, _) in OVER.items()),
            *(Contestant(name, python("faces", word, "true", "20")) for word, name in JUDGED.items()),
        ],
        stage.gate,
        rounds=stage.pick(25, 6),
        count=20,
    )
    result = Result(
        "20. The faces and the judge, over the bare engine",
        ("contestant", "median us", "p10 us", "x the engine", "n"),
        notes=remarks(measured),
        errors=errors(measured),
    )
    under: dict[str, Measured] = {name: measured[other] for name, other in OVER.values()}
    for name, one in measured.items():
        sums = one.sum
        if sums is None:
            result.rows.append([name, "missing", "-", "-", "-"])
            continue
        over = times(ratio(sums, under[name].sum)) if name in under else "-"
        result.rows.append([name, micro(sums.median), micro(sums.p10), over, str(sums.count)])
    result.goals += [
        at_most(f"{name} / {other}", measured[name], measured[other], 1.15, 1.05)
        for name, other in OVER.values()
    ]
    return result
