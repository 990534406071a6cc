"""Sends a break to the console of a command, which is not ours.

A command has a console of its own, without a window, so that it cannot touch
its owner's. Only who is attached to a console can send a break there, and a
process can be attached to one alone: a helper does it, and is gone.
"""

import os
import sys

from agent_exec.host.windows import kernel

_DETACHED_PROCESS = 0x8

# Group 0 is everyone on that console; the helper too, which by then has nothing left to do.
_HELPER = (
    "import ctypes, sys\n"
    "kernel32 = ctypes.WinDLL('kernel32')\n"
    "if kernel32.AttachConsole(int(sys.argv[1])): kernel32.GenerateConsoleCtrlEvent(1, 0)\n"
)


def send_break(pid: int, handle: int) -> None:
    """Send a break to everyone on the console of this process, and return at once.

    Nothing happens if it has no console. The helper inherits a handle of the
    process, so that its pid stays its own until the break is sent.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        return  # no interpreter to start: the command will meet the end of its grace
    pin = kernel.duplicate(handle, inheritable=True)
    try:
        process, thread, _ = kernel.create_process(
            sys.executable,
            f'"{sys.executable}" -IS -c "{_HELPER}" {pid}',
            os.path.dirname(sys.executable),
            dict(os.environ),
            inherited=(pin,),
            flags=_DETACHED_PROCESS,
        )
    except OSError:
        return
    finally:
        kernel.close(pin)
    kernel.close(thread)
    kernel.close(process)
