"""The machine: what it is, how busy it is, and waiting until it is calm."""

import os
import platform
import time

from bench import proc

_LOOK = 0.03
_SETTLE = 0.01
_CALM = 0.75
_LONGEST = 2.0
_FOREIGN = 0.05
_SHORT = 0.15


class Gate:
    """Waits before a block until the CPU is idle: never long, and within one budget for the whole run."""

    def __init__(self, budget: float) -> None:
        self._budget = budget
        self._calm = False
        self._seen = [0, 0]
        self._start = 0.0
        self._others: dict[int, int] = {}

    def wait(self) -> None:
        """Return when the CPU is idle, or when patience or budget is at its end."""
        start = time.monotonic()
        while not self._calm:
            self._calm = _idle_share(_LOOK) >= _CALM
            waited = time.monotonic() - start
            if waited >= min(_LONGEST, self._budget):
                break
        self._others = proc.others_used()
        self._start = time.monotonic()
        self._budget -= max(0.0, self._start - start - _LOOK)

    def stayed_calm(self) -> bool:
        """True if the CPU was idle before the block and is again, and others used little of it."""
        seconds = time.monotonic() - self._start
        before = self._others
        theirs = sum(max(0, used - before.get(pid, 0)) for pid, used in proc.others_used().items())
        alone = theirs / os.sysconf("SC_CLK_TCK") <= _FOREIGN * seconds * len(os.sched_getaffinity(0))
        # Of a short block the kernel's clock, which counts in hundredths, tells nothing.
        calm = self._calm and (alone or seconds < _SHORT)
        time.sleep(_SETTLE)  # the block's own last processes are still being taken down
        self._calm = _idle_share(_LOOK) >= _CALM
        calm = calm and self._calm
        self._seen[calm] += 1
        return calm

    def report(self) -> str:
        """Return how many blocks were calm since the last report; nothing if there were none."""
        disturbed, calm = self._seen
        self._seen = [0, 0]
        return f"Calm blocks: {calm} of {calm + disturbed}." if calm + disturbed else ""


def describe() -> list[tuple[str, str]]:
    """Return what a reader has to know of the machine to compare."""
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = int(file.readline().split()[1]) / (1 << 20)
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return [
        ("CPU", _cpu_model()),
        ("cores", str(len(os.sched_getaffinity(0)))),
        ("memory", f"{memory:.0f} GiB"),
        ("kernel", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("load at the start", load),
        ("nice", str(os.nice(0))),
    ]


def _cpu_model() -> str:
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _idle_share(seconds: float) -> float:
    """Return the share of CPU time that nobody used during so many seconds."""
    idle, total = _cpu_ticks()
    time.sleep(seconds)
    idle_then, total_then = _cpu_ticks()
    return (idle_then - idle) / max(1, total_then - total)


def _cpu_ticks() -> tuple[int, int]:
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)
