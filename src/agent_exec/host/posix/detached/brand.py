"""A number that every process of a job inherits and no program looks at: in a limit that nothing reaches.

It tells whose a process is that has emptied its environment, left its session
and lost its parent: the time that a process may compute in real time without
a pause, in microseconds, is set to some ten thousand years for each job.
"""

import os
import resource
import sys

_LEAST = 1 << 58


def brand(name: str) -> None:
    """Mark this process, and all that it starts from now on, with a number made of a name (Linux)."""
    if sys.platform == "linux":
        try:
            _, most = resource.getrlimit(resource.RLIMIT_RTTIME)
            resource.setrlimit(resource.RLIMIT_RTTIME, (_number(name), most))
        except (OSError, ValueError):
            return  # somebody has set a limit that goes before ours


def branded(name: str) -> set[int]:
    """Return the processes that are marked with a name, as far as we may look."""
    found: set[int] = set()
    if sys.platform == "linux":
        wanted = _number(name)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if resource.prlimit(int(pid), resource.RLIMIT_RTTIME)[0] == wanted:
                    found.add(int(pid))
            except OSError:
                continue  # gone, or another's
    return found


def _number(name: str) -> int:
    number = 0xCBF29CE484222325
    for byte in name.encode():
        number = (number ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return _LEAST + number % _LEAST
