"""What a box costs, printed and not judged: `pytest -s -n 0 -p no:randomly tests/sandbox/work/test_measure.py`."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import agent_exec
from agent_exec.engine.engine import close_shared
from agent_exec.sandbox.profile import BoxLimits
from sandbox.work.boxes import SOURCE, Space, host


def _ms(what: Callable[[], object]) -> float:
    began = time.perf_counter()
    what()
    return (time.perf_counter() - began) * 1000


def _row(name: str, times: list[float]) -> str:
    times = sorted(times)
    return f"{name}: median {times[len(times) // 2]:.2f} ms, p90 {times[len(times) * 9 // 10]:.2f} ms, best {times[0]:.2f} ms"


def _say(capsys: pytest.CaptureFixture[str], *lines: str) -> None:
    with capsys.disabled():
        print("", *lines, sep="\n    ")


def test_commands(room: Space, capsys: pytest.CaptureFixture[str]) -> None:
    plain = [_ms(lambda: agent_exec.run(["true"], cwd=str(room.root)))]
    boxed = [_ms(lambda: room.run("true"))]
    first = boxed[0]
    for _ in range(200):
        plain.append(_ms(lambda: agent_exec.run(["true"], cwd=str(room.root))))
        boxed.append(_ms(lambda: room.run("true")))
    del plain[0], boxed[0]
    ratio = sorted(boxed)[100] / sorted(plain)[100]
    single = []
    for number in range(15):
        other = room.wearing(limits=BoxLimits(open_files=1000 + number))
        single.append(_ms(lambda other=other: other.run("true")))  # type: ignore[misc]
    close_shared()
    cold = _ms(lambda: room.run("true"))
    _say(
        capsys,
        _row("plain", plain),
        _row("boxed", boxed),
        f"ratio of the medians {ratio:.2f}",
        f"first boxed command {first:.1f} ms; with a factory to start, too {cold:.1f} ms",
        _row("a new box for each", single),
    )


def test_looking_at_many_files(room: Space, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in range(40):
        (room.root / f"d{folder}").mkdir()
        for number in range(500):
            os.close(os.open(room.root / f"d{folder}" / str(number), os.O_CREAT))
    find = ["find", str(room.root), "-newer", "/etc/passwd"]
    first = _ms(lambda: room.run("true"))
    outside, within = [], []
    for _ in range(5):
        outside.append(_ms(lambda: agent_exec.run(find)))
        within.append(_ms(lambda: room.run(*find)))
    reading = f"cat {room.root}/d*/* >/dev/null"
    opened = [_ms(lambda: host("sh", "-c", reading, cwd=room.root)) for _ in range(3)]
    boxed = [_ms(lambda: room.run("sh", "-c", reading)) for _ in range(3)]
    _say(
        capsys,
        f"first command with 20 000 files in the root {first:.1f} ms",
        _row("find outside", outside),
        _row("find inside", within),
        _row("cat of 20 000 files outside", opened),
        _row("cat of 20 000 files inside", boxed),
    )


def test_memory(room: Space, capsys: pytest.CaptureFixture[str], nothing_left: str) -> None:
    before = _helpers()
    agent_exec.run(["true"])
    plain = _helpers() - before
    room.run("true")
    boxed = _helpers() - before - plain
    lines = [
        f"{name}: {', '.join(f'{_pss(pid):.1f} MB PSS' for pid in sorted(pids))}"
        for name, pids in (("factory and plain keeper", plain), ("box", boxed))
    ]
    _say(capsys, *lines)


def _helpers() -> set[int]:
    """Give the helpers of this process: they are told whose they are."""
    found = set()
    for name in os.listdir("/proc"):
        try:
            if (
                name.isdigit()
                and f"\0{os.getpid()}\0{SOURCE}".encode() in Path(f"/proc/{name}/cmdline").read_bytes()
            ):
                found.add(int(name))
        except OSError:
            continue
    return found


def _pss(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return int(text.partition("\nPss:")[2].split()[0]) / 1024
