"""What a process gives up of its own rights, and ways to see that it has."""

import os
from errno import EINVAL, EPERM, ESRCH

from agent_exec.sandbox.closing import Closing
from agent_exec.sandbox.linux import calls

_SET_PDEATHSIG = 1
_SET_DUMPABLE = 4
_BOUNDING_DROP = 24
_SET_SECUREBITS = 28
_SET_NO_NEW_PRIVS = 38
_AMBIENT = 47
_AMBIENT_CLEAR = 4

_KILL = 9
_SETPCAP = 1 << 8
_MOST_CAPABILITIES = 64
# No capabilities for being root, none by changing the user, none kept, none raised; all locked.
_SECUREBITS = 0b1110_1111

_CPU, _FSIZE, _DATA, _CORE, _NPROC, _NOFILE, _MEMLOCK, _AS = 0, 1, 2, 4, 6, 7, 8, 9
_SIGPENDING, _MSGQUEUE, _NICE, _RTPRIO = 11, 12, 13, 14

_ALWAYS = (
    (_CORE, 1),  # 0 would still start the machine's own handler of crashes
    (_MEMLOCK, 1 << 20),
    (_SIGPENDING, 1024),  # timers too
    (_MSGQUEUE, 0),  # they cannot be opened in a box; yet they could be made, and would stay
    (_NICE, 0),
    (_RTPRIO, 0),
)
"""Limits of every command. The kernel counts most of this for the user, whose other processes need room."""

_FEWEST_FILES = 1024
"""A process may have so many descriptors even if those of the whole box could be too many for the machine."""


def die_with_parent(parent: int) -> None:
    """Be killed when the parent, or rather its thread that forked us, ends.

    `parent` is its expected pid: one that is gone already is never heard of
    (ESRCH). In a new pid namespace, a parent outside has the pid 0. A change
    of user undoes this.
    """
    calls.prctl(_SET_PDEATHSIG, _KILL)
    if os.getppid() != parent:
        raise calls.failure(ESRCH, "prctl", why="the parent is gone")


def forbid_dumps() -> None:
    """Make this process non-dumpable; exec resets that."""
    calls.prctl(_SET_DUMPABLE, 0)


def forbid_new_privileges() -> None:
    """Let no program that this process executes, or any below it, give it more rights than it has."""
    calls.prctl(_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up every capability, of every set, and the ways to get them back.

    An ordinary user outside any namespace may not empty the bounding set;
    there it means nothing once new privileges are forbidden.
    """
    if capabilities()["CapEff"] & _SETPCAP:
        calls.prctl(_SET_SECUREBITS, _SECUREBITS)
        _empty_bounding()
    calls.prctl(_AMBIENT, _AMBIENT_CLEAR)
    calls.capset(0, 0, 0)
    left = capabilities()
    if any(left[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")):
        raise calls.failure(EPERM, "capset", why=f"capabilities are left: {left}")


def limit(
    *,
    cpu: int | None = None,
    memory: int | None = None,
    file_size: int | None = None,
    processes: int | None = None,
) -> None:
    """Set limits for this process and each below it, in seconds, bytes and numbers; some always hold.

    Never above what is allowed already. A process that has used up its time gets
    SIGXCPU, and killed a second later. Memory is what a process has for
    itself and may write: what programs only reserve, as all that compile
    while they run do, does not count.
    """
    for resource, value in (*_ALWAYS, (_DATA, memory), (_FSIZE, file_size), (_NPROC, processes)):
        if value is not None:
            _limit(resource, value, value)
    if cpu is not None:
        _limit(_CPU, cpu, cpu + 1)


def limit_files(most: int | None, processes: int | None) -> None:
    """Bound the descriptors of this process and each below it, of which there may be so many.

    A command may have as many descriptors under way in sockets as it may
    have open, and they count for its user: another process that may have no
    more open cannot send any then. So it is never more than half of what our
    owner, which can raise its own limit, may have; nor so many that all
    processes of a box could open all files that the machine allows.
    """
    soft, hard = calls.prlimit(_NOFILE)
    machine = int(_read("/proc/sys/fs/file-max")) // 2 // (processes or _FEWEST_FILES)
    bound = min(hard // 2, max(machine, _FEWEST_FILES), hard if most is None else most)
    calls.prlimit(_NOFILE, (min(soft, bound), bound))


def end_first() -> None:
    """Let this process and all below it be ended before others when the machine runs out of memory."""
    with Closing(os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)) as fd:
        os.write(fd, b"1000")


def capabilities(pid: int | str = "self") -> dict[str, int]:
    """Return the sets of capabilities of a process: CapInh, CapPrm, CapEff, CapBnd, CapAmb."""
    return {name: int(text, 16) for name, text in _status(pid).items() if name.startswith("Cap")}


def seccomp_mode(pid: int | str = "self") -> int:
    """Return how a process's system calls are filtered: 0 not at all, 2 by programs."""
    return int(_status(pid)["Seccomp"])


def no_new_privs_set(pid: int | str = "self") -> bool:
    """True if a process and all below it can get no new privileges."""
    return _status(pid)["NoNewPrivs"] == "1"


def _empty_bounding() -> None:
    for capability in range(_MOST_CAPABILITIES):
        try:
            calls.prctl(_BOUNDING_DROP, capability)
        except OSError as problem:
            if problem.errno == EINVAL and capability > 0:  # the kernel knows no more of them
                break
            raise
    if capabilities()["CapBnd"]:
        raise calls.failure(EPERM, "prctl", why="the bounding set is not empty")


def _limit(resource: int, soft: int, hard: int) -> None:
    _, most = calls.prlimit(resource)
    calls.prlimit(resource, (min(soft, most), min(hard, most)))


def _status(pid: int | str) -> dict[str, str]:
    fields = (line.partition(":") for line in _read(f"/proc/{pid}/status").split("\n"))
    return {name: value.strip() for name, _, value in fields}


def _read(path: str) -> str:
    with Closing(os.open(path, os.O_RDONLY | os.O_CLOEXEC)) as fd:
        return os.read(fd, 1 << 14).decode(errors="replace")
