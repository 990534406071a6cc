"""Finds and ends what is left of a command whose owner was killed."""

import os
import resource
from time import monotonic, sleep

from agent_exec.host.posix import signals
from agent_exec.host.posix.detached import brand_of
from agent_exec.host.posix.keeper import tree
from agent_exec.host.posix.system import boot_id, identify, is_alive, processes, read, send_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.identity import Identity

_PAUSE = 0.005
_FORCE = 5.0


def end_orphans(leader: "Identity", mark: str, number: int, grace: float) -> bool:
    """Ask all that is left of a command to end, and force it after the grace; say whether nothing is left.

    Found are the processes whose environment holds `mark`, those that were
    branded with its value, those of the command's session, and all below
    them. A session whose leader is gone is the command's only if a marked
    process is in it: its number may be another's by now. Supervisors of other
    jobs are spared.
    """
    if leader.boot not in ("", boot_id()):
        return True  # whatever has its pid now has it by chance
    deadline = monotonic() + (0 if number == signals.KILL else grace)
    # Those once found stay known: a parent that heeds the request is no longer there to find its children by.
    known = _find(leader, mark)
    _signal_each(known, number)
    while known := {one for one in known | _find(leader, mark) if is_alive(one)}:
        now = monotonic()
        if now > deadline + _FORCE:
            return False
        if now >= deadline:
            _signal_each(known, signals.KILL)
        sleep(_PAUSE)
    return True


def _find(leader: "Identity", mark: str) -> "set[Identity]":
    found = _marked(mark)
    if is_alive(leader) or any(_session(pid) == leader.pid for pid in found):
        found.update(tree.members(leader.pid, leader.start))
    spared = {1, os.getpid()}
    found = set(tree.attached(found)) - spared
    ranks = found
    while ranks := {child for pid in ranks for child in tree.attached(tree.children(pid))} - found - spared:
        found |= ranks
    identities = map(identify, found)
    return {one for one in identities if one is not None and is_alive(one)}


def _session(pid: int) -> int:
    """Return the session of a process; -1 if that is gone."""
    try:
        return os.getsid(pid) or -1  # 0 is one that cannot be seen from here
    except OSError:
        return -1


def _marked(mark: str) -> set[int]:
    """Return the processes whose environment holds a mark, or that are branded with its value."""
    found: set[int] = set()
    number, entry = brand_of(mark.rpartition("=")[2]), mark.encode()
    for pid in processes():
        try:
            if resource.prlimit(pid, resource.RLIMIT_RTTIME)[0] == number:
                found.add(pid)
        except OSError:
            pass  # gone, or another user's
        try:
            if entry in read(f"/proc/{pid}/environ").split(b"\0"):
                found.add(pid)
        except OSError:
            continue
    return found


def _signal_each(processes: "set[Identity]", number: int) -> None:
    for process in processes:
        try:
            send_signal(process, number)
            if number != signals.KILL:
                send_signal(process, signals.CONT)  # a stopped process hears nothing else
        except OSError:
            continue
