"""The first command of fresh interpreters: cold KIND ROOT PROGRAM; what they import is not counted."""

import subprocess
import sys

from bench import package
from bench.worker import require, serve
from bench.workers.boxes import by_bubblewrap

_PROGRAM = """
import sys
from time import perf_counter
sys.path.append(sys.argv[1])
import agent_exec
agent_exec.run, agent_exec.Profile
start = perf_counter()
done = {call}
ended = perf_counter()
assert done.ok and not done.stdout and not done.stderr, done
print("%.9f" % (ended - start))
"""
_PLAIN = _PROGRAM.format(call="agent_exec.run(sys.argv[3:], cwd=sys.argv[2])")
_BOXED = _PROGRAM.format(
    call="agent_exec.run(sys.argv[3:], cwd=sys.argv[2],"
    ' sandbox=agent_exec.Profile("workspace-write", [sys.argv[2]]))'
)


def main(kind: str, root: str, program: str) -> None:
    code = _BOXED if kind == "boxed" else _PLAIN
    words = [*by_bubblewrap(root), program] if kind == "bubblewrap" else [program]
    # Without the site, which may have imported any of this already.
    argv = [sys.executable, "-IS", "-c", code, package.root(), root, *words]

    def block(count: int) -> dict[str, object]:
        seconds: list[float] = []
        for _ in range(count):
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            require(done.returncode == 0, f"it failed: {done.stderr.strip()[-300:]}")
            seconds.append(float(done.stdout))
        return {"seconds": seconds}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
