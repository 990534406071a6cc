"""A call when the wall clock reaches a moment, also if that clock is set meanwhile."""

import os
import sys
from time import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.host.ports import Loop

_REALTIME, _ABSOLUTE = 0, 1
_LONGEST = 30.0
"""How often to look where the system has no such timer."""


def call_at(loop: "Loop", moment: float, call: "Callable[[], object]") -> None:
    """Call once from inside the loop, at a moment in seconds since 1970; a caller that is early asks again.

    The kernel looks at its clock again whenever that is set (Linux). The
    machine may have slept beyond the moment, so the call may be late.
    """
    timer = _timer(moment)
    if timer < 0:
        loop.after(min(max(0.0, moment - time()), _LONGEST), call)
        return
    from agent_exec.host.posix.descriptors import READ

    def ready(_events: int) -> None:
        loop.unwatch(timer)
        os.close(timer)
        call()

    loop.watch(timer, READ, ready)


def _timer(moment: float) -> int:
    """Return a descriptor that becomes readable at this moment; -1 if there is none to be had."""
    if sys.platform != "linux" or sys.maxsize < 1 << 32:
        return -1
    import _ctypes  # the bare binding, as for inotify: Python 3.11 has no timers of this kind

    thousandths = max(1, round(moment * 1000))  # zero would disarm it
    parts = 0, 0, thousandths // 1000, thousandths % 1000 * 1_000_000
    spec = b"".join(part.to_bytes(8, sys.byteorder) for part in parts)
    library = _ctypes.dlopen("", 0)
    create = _ctypes.dlsym(library, "timerfd_create")
    fd: int = _ctypes.call_cdeclfunction(create, (_REALTIME, os.O_CLOEXEC | os.O_NONBLOCK))
    arm = _ctypes.dlsym(library, "timerfd_settime")
    if fd >= 0 and _ctypes.call_cdeclfunction(arm, (fd, _ABSOLUTE, spec, None)) < 0:
        os.close(fd)
        return -1
    return fd
