"""What the tests share: programs that misbehave, and ways to see what is there."""

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

CHILDREN = Path(__file__).parent / "children"


def child(name: str, *arguments: object) -> list[str]:
    """Return the argv of one of the programs under tests/children."""
    return [sys.executable, "-IS", str(CHILDREN / f"{name}.py"), *map(str, arguments)]


def python(code: str, *arguments: object) -> list[str]:
    """Return the argv of a small Python program."""
    return [sys.executable, "-IS", "-c", code, *map(str, arguments)]


def wait_until(condition: Callable[[], object], *, seconds: float = 20.0, fail: bool = True) -> bool:
    """Wait for a condition; fail the test if it does not come true in any reasonable time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            if fail:
                raise AssertionError(f"never came true: {condition}")
            return False
        time.sleep(0.002)
    return True


def exists(pid: int) -> bool:
    """True if a process with this pid exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def descriptors() -> dict[int, str]:
    """Return the open descriptors of this process and what they are."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the one that read the folder
    return found


def own_children() -> set[int]:
    """Return the pids of this process's own children, zombies too."""
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        try:
            found.update(map(int, Path(f"/proc/self/task/{task}/children").read_text().split()))
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread that has just ended
    return found


def newest_pid() -> int:
    """Return the pid that was given to the newest process or thread of this machine."""
    return int(Path("/proc/loadavg").read_text().split()[-1])


def pids_since(newest: int) -> list[int]:
    """Return the pids of the processes that were started after the one with this pid; pids are given in turn."""
    last = newest_pid()
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    if newest <= last:
        return [pid for pid in pids if newest < pid <= last]
    return [pid for pid in pids if pid > newest or pid <= last]


def processes_marked(mark: str, pids: Iterable[int] | None = None) -> dict[int, str]:
    """Return the processes, or those of `pids`, whose environment or arguments hold this text, but not ourselves."""
    found = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pids is None else pids:
        if pid == os.getpid():
            continue
        try:
            arguments = read_bytes(f"/proc/{pid}/cmdline")
            if mark.encode() in arguments or mark.encode() in read_bytes(f"/proc/{pid}/environ"):
                found[pid] = arguments.decode().replace("\0", " ")
        except (OSError, UnicodeDecodeError):
            continue
    return found


def read_bytes(path: str) -> bytes:
    """Return what a file holds, without the cost of a Path: thousands are read."""
    with open(path, "rb", buffering=0) as file:
        return file.read()


def peak_memory() -> int:
    """Return the most memory this process has held since the last reset, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")
