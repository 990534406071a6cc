"""Hides the arguments that this process was started with: anyone on the machine may read them."""

import os
import sys


def hide_arguments(title: str) -> None:
    """Show `title` as this process's command line, and as that of its forked copies (Linux).

    The kernel shows the memory in which the arguments came, so that is
    overwritten. Where it cannot be, all stays as it is.
    """
    if sys.platform != "linux":
        return
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[45]), int(fields[46])
        room = end - start
        shown = title.encode()[: room - 1]
        memory = os.open("/proc/self/mem", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(memory, shown.ljust(room, b"\0"), start)
        finally:
            os.close(memory)
    except (OSError, ValueError, IndexError):
        return
