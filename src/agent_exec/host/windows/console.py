"""Sends a break to the console of a command, which is not ours.

A command has a console of its own, without a window, so that it cannot touch
its owner's. Only a process that is attached to a console can send a break there, and a
process can be attached to one alone: a helper does it, and is gone.
"""

import os
import sys

from agent_exec.host.windows import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_DETACHED_PROCESS = 0x8

EVERYONE = 0
"""The group of all processes of a console, including the helper, which has nothing left to do by then."""

_HELPER = (
    "import ctypes, sys\n"
    "kernel32 = ctypes.WinDLL('kernel32')\n"
    "group, *pids = map(int, sys.argv[1:])\n"
    "if any(map(kernel32.AttachConsole, pids)): kernel32.GenerateConsoleCtrlEvent(1, group)\n"
)


def send_break(processes: "Mapping[int, int]", group: int) -> None:
    """Send a break to a process group on the console of the first of these that has one; return at once.

    The processes are pids with a handle of each. The helper inherits copies
    of the handles, so that the pids stay their own until the break is sent.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        return  # no interpreter to start: the command will meet the end of its grace
    pins = [kernel.duplicate(handle, inheritable=True) for handle in processes.values()]
    words = " ".join(map(str, (group, *processes)))
    try:
        process, thread, _ = kernel.create_process(
            sys.executable,
            f'"{sys.executable}" -IS -c "{_HELPER}" {words}',
            os.path.dirname(sys.executable),
            dict(os.environ),
            inherited=pins,
            flags=_DETACHED_PROCESS,
        )
    except OSError:
        return
    finally:
        for pin in pins:
            kernel.close(pin)
    kernel.close(thread)
    kernel.close(process)
