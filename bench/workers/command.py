"""Calls of a program, one after the other: command UNTIL EXPECTED TIDY PROGRAM WORDS...

UNTIL is exit or answer, the first line that it prints. TIDY is a line for
the shell after each block, or nothing.
"""

import subprocess
import sys
import time

from bench.worker import require, serve
from bench.workers.calling import Called

PAUSE = 0.03
"""After each call: what it left in the background is over then, and has its files on the disk."""


def main(until: str, expected: str, tidy: str, *argv: str) -> None:
    def block(count: int) -> dict[str, object]:
        seconds: list[float] = []
        exits: list[float] = []
        for _ in range(count):
            called = Called(argv)
            require(expected in called.printed, f"it printed {called.printed[:200]!r}")
            seconds.append(called.answered if until == "answer" else called.exited)
            exits.append(called.exited)
            time.sleep(PAUSE)
        if tidy:
            subprocess.run(["/bin/sh", "-c", tidy], check=True)
        return {"seconds": seconds, "exits": exits}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
