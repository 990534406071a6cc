"""Finds out who a process is, and signals exactly that one."""

import os
import sys

from agent_exec.host.posix.keeper.tree import boot_id, is_zombie, parent_and_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal

    from agent_exec.model.identity import Identity
else:
    import _signal


def identify(pid: int) -> "Identity | None":
    """Return the identity of the process that has this pid now; None if there is none."""
    from agent_exec.model.identity import Identity

    if sys.platform == "linux":
        try:
            _, start = parent_and_start(pid)
        except OSError:
            return None
        return Identity(pid, start, boot_id())
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return Identity(pid, 0, "")


def is_alive(identity: "Identity") -> bool:
    """True if exactly this process still runs; one that has exited and only waits to be reaped does not."""
    if identify(identity.pid) != identity:
        return False
    return sys.platform != "linux" or not is_zombie(identity.pid)


def send_signal(identity: "Identity", number: int) -> bool:
    """Signal exactly this process; False if it is gone, whoever has its pid now.

    Where the kernel has process descriptors, the identity is checked while
    one pins the process, so that no other can take its place in between.
    """
    if not hasattr(os, "pidfd_open"):
        if not is_alive(identity):
            return False
        os.kill(identity.pid, number)
        return True
    try:
        fd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    try:
        if not is_alive(identity):
            return False
        _signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True
