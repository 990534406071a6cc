"""The terminal interface under a flood: interface feed BYTES LINE, or interface app BYTES WRITER WORDS...

`feed` fills the view with chunks such as pipes give. `app` has the whole
interface, without a terminal, with its output view open, and presses keys.
"""

import asyncio
import os
import sys
from time import perf_counter

from textual import events
from textual.pilot import Pilot

from agent_exec.apps.shell.app import ShellApp
from agent_exec.apps.shell.settings import Settings
from agent_exec.faces.slash.line import ShellCommandRequest, joined
from agent_exec.faces.slash.permission import ShellPermission
from agent_exec.faces.slash.view import ShellOutputView
from bench import proc
from bench.worker import require, serve

CHUNK = 1 << 18
EVERY = 0.02


def feed(size: str, line: str) -> None:
    """Measure the view alone."""
    text = line.encode() + b"\n"
    chunk = text * (CHUNK // len(text))
    chunks = int(size) // len(chunk)

    def block(count: int) -> dict[str, object]:
        view = ShellOutputView()
        seconds = []
        for _ in range(count):
            view.start(ShellCommandRequest("writer", (), "/"))
            start = perf_counter()
            for _ in range(chunks):
                view.feed("stdout", chunk)
            kept = len(view)
            seconds.append(perf_counter() - start)
            require(kept == view.max_lines, f"{kept} lines are kept")
        return {"seconds": seconds, "bytes": chunks * len(chunk), "lines": chunks * chunk.count(b"\n")}

    serve(block)


class Measure:
    """What one flood took: its time, the frames drawn, the slowest key, and how far memory grew."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.frames = 0
        self.keys: list[float] = []
        self.growth = 0


async def flood(app: ShellApp, pilot: Pilot[None], line: str) -> Measure:
    """Have a command flood the open view while keys are pressed."""
    found = Measure()
    pane = app.main.pane.lines
    core = app.core

    async def settle(generation: int) -> None:
        while core.view.generation < generation or core.running is not None:
            await asyncio.sleep(0.001)

    before = core.view.generation
    core.submit("/shell true", app.main.files.path)
    await settle(before + 1)
    await pilot.press("ctrl+o")
    while app.main.output != "open":
        await asyncio.sleep(0.001)
    pressed = asyncio.Event()
    moved = pane.action_move

    def move(rows: int) -> None:
        moved(rows)
        pressed.set()

    pane.action_move = move  # type: ignore[method-assign]
    base, frames = proc.resident(), pane.frames
    proc.reset_peak()
    start = perf_counter()
    execution = core.submit(line, app.main.files.path).execution
    require(execution is not None, "it was refused")
    assert execution is not None
    while not execution.done:
        await asyncio.sleep(EVERY)
        pressed.clear()
        then = perf_counter()
        app.post_message(events.Key("up" if len(found.keys) % 2 else "down", None))
        await pressed.wait()
        found.keys.append(perf_counter() - then)
    found.seconds = perf_counter() - start
    found.growth = proc.peak() - base
    await pilot.pause(0.1)
    found.frames = pane.frames - frames
    require(len(core.view) == core.view.max_lines, f"{len(core.view)} lines are kept")
    pane.action_move = moved  # type: ignore[method-assign]
    await pilot.press("ctrl+o")
    return found


async def floods(folder: str, line: str, count: int) -> list[Measure]:
    """Have one interface flooded so many times."""
    app = ShellApp(Settings(folder, ShellPermission(True, env={}), theme="dark"))
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            return [await flood(app, pilot, line) for _ in range(count)]
    finally:
        app.core.close()


def flooded(writer: str, *words: str) -> None:
    """Measure the whole interface."""
    folder, name = os.path.split(os.path.realpath(writer))
    line = f"/shell {joined((f'./{name}', *words))}"

    def block(count: int) -> dict[str, object]:
        found = asyncio.run(floods(folder, line, count))
        keys = sorted(key for one in found for key in one.keys)
        return {
            "seconds": [one.seconds for one in found],
            "frames": sum(one.frames for one in found) / sum(one.seconds for one in found),
            "key": keys[-1],
            "usual": keys[len(keys) // 2],
            "keys": len(keys),
            "growth": max(one.growth for one in found),
        }

    serve(block)


if __name__ == "__main__":
    if sys.argv[1] == "feed":
        feed(*sys.argv[2:])
    else:
        flooded(*sys.argv[2:])
