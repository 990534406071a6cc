"""Finds out which processes are our own: this one, and those it descends from."""

import os
import sys

from agent_exec.model.identity import Ancestor


def own_processes() -> tuple[Ancestor, ...]:
    """Return this process and those above it, and the system's first, whose end is the end of all."""
    if sys.platform != "linux":
        me = Ancestor(os.getpid(), parent=os.getppid(), group=os.getpgid(0), session=os.getsid(0))
        return me, Ancestor(os.getppid()), Ancestor(1)
    found: list[Ancestor] = []
    pid = os.getpid()
    while pid >= 1:
        try:
            one = _look(pid)
        except (OSError, ValueError, IndexError):
            break  # it has gone, or is not for us to see
        found.append(one)
        pid = one.parent or 0
    if all(one.pid != 1 for one in found):
        found.append(Ancestor(1))
    return tuple(found)


def _look(pid: int) -> Ancestor:
    with open(f"/proc/{pid}/stat", "rb") as file:
        stat = file.read()
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        line = file.read()
    name = stat[stat.index(b"(") + 1 : stat.rindex(b")")]
    fields = stat[stat.rindex(b")") + 2 :].split()
    return Ancestor(
        pid,
        os.fsdecode(name),
        line=os.fsdecode(line.rstrip(b"\0").replace(b"\0", b" ")),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        user=_user(os.stat(f"/proc/{pid}").st_uid),
    )


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
