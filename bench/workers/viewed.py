"""Much output of one `/shell` command into its view: viewed FRAMES BYTES WRITER WORDS...

FRAMES is how many times a second a window of the view is taken meanwhile; 0
is never.
"""

import os
import sys
from time import perf_counter, sleep

from agent_exec.faces.slash.core import ShellExecution, SlashCore
from agent_exec.faces.slash.line import joined
from agent_exec.faces.slash.permission import ShellPermission
from agent_exec.faces.slash.view import Scroll
from bench import proc
from bench.worker import require, serve

HEIGHT = 50


def watch(core: SlashCore, execution: ShellExecution, frames: int) -> float:
    """Take the frames until it has ended; return the longest time that one took."""
    scroll = Scroll(core.view, HEIGHT)
    longest = 0.0
    while frames and not execution.done:
        start = perf_counter()
        scroll.window()
        longest = max(longest, perf_counter() - start)
        sleep(1 / frames)
    execution.wait()
    return longest


def main(frames: str, size: str, writer: str, *words: str) -> None:
    folder, name = os.path.split(os.path.realpath(writer))
    core = SlashCore(ShellPermission(True, env={}))
    growths: list[int] = []
    longest: list[float] = []

    def run(line: str) -> float:
        execution = core.submit(f"/shell {line}", folder).execution
        require(execution is not None, "it was refused")
        assert execution is not None
        return watch(core, execution, int(frames))

    def once() -> float:
        run("true")
        base = proc.resident()
        proc.reset_peak()
        start = perf_counter()
        longest.append(run(joined((f"./{name}", *words))))
        seconds = perf_counter() - start
        growths.append(proc.peak() - base)
        result, lines = core.view.result, core.view.snapshot()
        require(result is not None and result.status_code == 0, core.view.footer)
        require(len(lines.lines) == core.view.max_lines, f"{len(lines.lines)} lines are kept")
        require(lines.last * (len(lines.lines[-1].text) + 1) == int(size), f"{lines.last} lines came")
        return seconds

    def block(count: int) -> dict[str, object]:
        seconds = [once() for _ in range(count)]
        return {"seconds": seconds, "growth": max(growths), "frame": max(longest)}

    try:
        serve(block)
    finally:
        core.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
