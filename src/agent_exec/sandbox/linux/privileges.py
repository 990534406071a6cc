"""What a process gives up of its own rights, and ways to see that it has."""

import os
from errno import EINVAL, EPERM, ESRCH

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

_CPU, _FSIZE, _CORE, _NPROC, _NOFILE, _AS = 0, 1, 4, 6, 7, 9


def die_with_parent(parent: int) -> None:
    """Be killed when the parent, or rather its thread that forked us, ends.

    `parent` is who it should be: one that is gone already is never heard of
    (ESRCH). In a new pid namespace, a parent outside has the pid 0. A change
    of user undoes this.
    """
    calls.prctl(_SET_PDEATHSIG, _KILL)
    if os.getppid() != parent:
        raise calls.failure(ESRCH, "prctl", why="the parent is gone")


def forbid_dumps() -> None:
    """Let nobody of the same user look into this process; what it executes is looked into as ever."""
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
    files: int | None = None,
    processes: int | None = None,
) -> None:
    """Set limits for this process and each below it, in seconds, bytes and numbers; no core files.

    Never above what is allowed already. Who has used up its time is told by
    SIGXCPU, and killed a second later.
    """
    _limit(_CORE, 0, 0)
    for resource, value in ((_AS, memory), (_FSIZE, file_size), (_NOFILE, files), (_NPROC, processes)):
        if value is not None:
            _limit(resource, value, value)
    if cpu is not None:
        _limit(_CPU, cpu, cpu + 1)


def capabilities(pid: int | str = "self") -> dict[str, int]:
    """Give the sets of capabilities of a process: CapInh, CapPrm, CapEff, CapBnd, CapAmb."""
    return {name: int(text, 16) for name, text in _status(pid).items() if name.startswith("Cap")}


def seccomp_mode(pid: int | str = "self") -> int:
    """Give how a process's system calls are filtered: 0 not at all, 2 by programs."""
    return int(_status(pid)["Seccomp"])


def no_new_privs_set(pid: int | str = "self") -> bool:
    """Whether a process and all below it can get no new privileges."""
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
    fd = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b""
        while piece := os.read(fd, 1 << 14):
            text += piece
    finally:
        os.close(fd)
    fields = (line.partition(":") for line in text.decode(errors="replace").split("\n"))
    return {name: value.strip() for name, _, value in fields}
