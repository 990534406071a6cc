"""The first run of a fresh interpreter, and what importing costs; for information, without goals."""

import json
import random
import shutil
import subprocess
import sys

from bench import package
from bench.stage import Stage
from bench.table import Result, Seconds, milli

_PROGRAM = """
import sys
from time import perf_counter
sys.path.append(sys.argv[1])
start = perf_counter()
{load}
loaded = perf_counter()
done = {call}
ended = perf_counter()
assert {good}
print("[%.9f, %.9f]" % (loaded - start, ended - loaded))
"""

_CONTESTANTS = {
    "agent_exec.run": _PROGRAM.format(
        load="import agent_exec; agent_exec.run", call="agent_exec.run([sys.argv[2]])", good="done.ok"
    ),
    "subprocess.run": _PROGRAM.format(
        load="import subprocess",
        call="subprocess.run([sys.argv[2]], capture_output=True)",
        good="done.returncode == 0",
    ),
}


def measure(stage: Stage) -> Result:
    """Return milliseconds of the import and of the first call, both inside a fresh interpreter."""
    words = [package.root(), shutil.which("true") or "/bin/true"]
    result = Result(
        "10. The first run of a process (informative)",
        ("contestant", "import ms", "p10", "first run ms", "p10", "n"),
    )
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in _CONTESTANTS}
    for at in range(1 + stage.pick(25, 6)):
        for name in random.sample(list(found), len(found)):
            stage.gate.wait()
            # Without the site, which may have imported any of this already.
            done = subprocess.run(
                [sys.executable, "-IS", "-c", _CONTESTANTS[name], *words],
                capture_output=True,
                text=True,
                check=False,
            )
            stage.gate.stayed_calm()
            if done.returncode:
                result.errors.append(f"{name}: {done.stderr.strip()[-200:]}")
                continue
            load, call = json.loads(done.stdout)
            if at:  # the first one may have compiled what it imported
                found[name].append((load, call))
    for name, pairs in found.items():
        cells = [name]
        for values in zip(*pairs, strict=True):
            sum_ = Seconds.of(values)
            assert sum_ is not None
            cells += [milli(sum_.median), milli(sum_.p10)]
        if pairs:
            result.rows.append([*cells, str(len(pairs))])
    result.notes.append(
        "Our first run starts the helper, which is an interpreter of its own; it is started once."
    )
    return result
