"""Finds and ends what is left of a command whose owner was killed: nobody's tree any more."""

import os
from time import monotonic, sleep

from agent_exec.host.posix import signals, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.identity import Identity

_PAUSE = 0.005
_FORCE = 5.0


def end_orphans(leader: "Identity", mark: str, number: int, grace: float) -> bool:
    """Ask all that is left of a command to end, and force it after the grace; say whether nothing is left.

    Found are the processes of the command's session and those below them,
    and every process whose environment holds `mark`.
    """
    deadline = monotonic() + (0 if number == signals.KILL else grace)
    _signal_each(_find(leader, mark), number)
    while left := _find(leader, mark):
        now = monotonic()
        if now > deadline + _FORCE:
            return False
        if now >= deadline:
            _signal_each(left, signals.KILL)
        sleep(_PAUSE)
    return True


def _find(leader: "Identity", mark: str) -> set[int]:
    found = set(tree.members(leader.pid, leader.start))
    wanted = mark.encode()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        found.add(int(name))
            except OSError:
                continue  # gone, or another's
    found.discard(os.getpid())
    return {pid for pid in found if not tree.is_zombie(pid)}


def _signal_each(pids: set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
            if number != signals.KILL:
                os.kill(pid, signals.CONT)  # a stopped process hears nothing else
        except OSError:
            continue
