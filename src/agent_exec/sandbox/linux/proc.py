"""A private /proc, of which nothing can be written and the kernel's own secrets cannot be read."""

import os

from agent_exec.sandbox.linux import calls
from agent_exec.sandbox.linux.mounts import attach, mask

_QUIET = calls.MOUNT_NOSUID | calls.MOUNT_NODEV | calls.MOUNT_NOEXEC

MASKED = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/pagetypeinfo",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/slabinfo",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/vmallocinfo",
)
"""What of the kernel is covered, where it is there: root without capabilities may read some of it."""


def private_proc() -> None:
    """Cover /proc with one of this process's pid namespace, and mask what nobody needs."""
    attach(calls.new_filesystem("proc", {}, _QUIET), "/proc")
    mask(path for path in MASKED if os.path.lexists(path))


def seal_proc() -> None:
    """Make all of /proc read-only; what is to be set by it must be set before.

    All of it, for lists of what is dangerous are never complete: to the
    kernel, root without capabilities is still the owner of /proc/sys.
    """
    calls.mount_setattr("/proc", calls.MOUNT_RDONLY | _QUIET)
