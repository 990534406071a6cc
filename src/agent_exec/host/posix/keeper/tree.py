"""The tree of processes below this one: see it, signal it, end it.

All of this is for a process that does nothing else and has no threads: a
keeper. On Linux it is made the reaper of its descendants, so that a process
that loses its parent becomes its child, and none can escape it by forking.
Elsewhere a process that daemonises itself is lost to us.
"""

import os
import sys
from time import monotonic, sleep

from agent_exec.host.posix.system import parent_and_start, processes, read, sessions, status

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Collection
else:
    import _signal

_PTRACE_DETACH = 17
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_PATIENT_ROUNDS = 8
SUPERVISOR = b"agent-exec/job"
"""The process name of a job's owner, for people: no proof, since any process can take a name."""
_PAUSE = 0.0005


def become_reaper(name: bytes = b"agent-exec") -> None:
    """Let every descendant that loses its parent become this process's child."""
    if sys.platform != "linux":
        return
    import _ctypes  # the bare binding: the package around it costs a third of an interpreter start

    prctl = _ctypes.dlsym(_ctypes.dlopen("", 0), "prctl")
    # With a name of our own: a command that kills all of Python does not mean us.
    for option, value in ((_PR_SET_NAME, name), (_PR_SET_CHILD_SUBREAPER, 1)):
        if _ctypes.call_cdeclfunction(prctl, (option, value, 0, 0, 0)) != 0:
            raise OSError(f"the system refused prctl({option})")


_owners = True
"""Whether there may be supervisors of jobs below us."""

_first = False
"""Whether we are the first process of a box, in which all others were started by us."""


def own_all() -> None:
    """Take every process below us for our own, from now on."""
    global _owners, _first  # noqa: PLW0603 - of a process that is a box
    _owners = False
    _first = os.getpid() == 1


def only_others_left(immune: "Collection[int]" = ()) -> bool:
    """True if there are children of ours, and all of them are owners themselves or immune.

    Looked at twice: the kernel may leave one out of its list while another exits.
    """
    me = os.getpid()
    for _ in range(2):
        found = children(me)
        if not found or not set(attached(found)) <= set(immune):
            return False
    return True


def attached(pids: "Collection[int]") -> list[int]:
    """Return those that belong to the run.

    A supervisor does not: a command below us has asked for its job, which is
    to outlive that. It comes to us because we adopt all that lose
    their parent, and is known by the lock that it holds.
    """
    if not pids or not _owners or sys.platform != "linux":
        return list(pids)
    from agent_exec.host.posix.lock import supervisors

    spared = supervisors(pids)
    return [pid for pid in pids if pid not in spared]


def children(pid: int) -> list[int]:
    """Return the children of a process; none if it is gone."""
    if sys.platform != "linux":
        return _children_elsewhere(pid)
    found: list[int] = []
    base = f"/proc/{pid}/task"
    try:
        tasks = os.listdir(base)
    except OSError:
        return found
    for task in tasks:
        try:
            found.extend(map(int, read(f"{base}/{task}/children").split()))
        except FileNotFoundError:
            # The thread is gone; or else the kernel was built without such lists.
            if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
                return [child for child, (parent, _, _) in sessions().items() if parent == pid]
        except OSError:
            continue
    return found


def descendants() -> dict[int, int]:
    """Return every process below this one with its parent, parents first."""
    me = os.getpid()
    found: dict[int, int] = {}
    ranks = [me]
    while ranks:
        below: list[int] = []
        for parent in ranks:
            for child in attached(children(parent)):
                if child not in found and child != me:
                    found[child] = parent
                    below.append(child)
        ranks = below
    return found


def count() -> int:
    """Return how many processes live below this one; 0 where the system does not say."""
    living = 0
    for pid in set(processes()) - {1} if _first else descendants():
        try:
            living += status(pid)[0] != b"Z"
        except OSError:
            continue
    return living


def signal_all(number: int) -> int:
    """Send a signal to every process below this one; return how many may not be signalled."""
    if _first:
        return _signal_box(number)
    me = os.getpid()
    found = descendants()
    refused = 0
    for pid, parent in found.items():
        try:
            if parent == me:
                os.kill(pid, number)  # our own child keeps its pid until we reap it
            else:
                _signal_stranger(pid, number, found, me)
        except ProcessLookupError:
            continue
        except PermissionError:
            refused += 1
    return refused


def terminate_all(number: int) -> None:
    """Ask every process below this one to end."""
    signal_all(number)
    signal_all(_signal.SIGCONT)  # a stopped process hears nothing else


def wait_for_none(seconds: float) -> None:
    """Wait until nothing is left below this process, for at most so long; reap meanwhile."""
    deadline = monotonic() + seconds
    while monotonic() < deadline:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            sleep(_PAUSE)
        elif os.WIFSTOPPED(status):
            let_go(pid, status)


def reap(main: int, *, exited: bool) -> tuple[int | None, bool]:
    """Reap what has exited; return the main process's wait status, if it was there, and whether none is left.

    `exited` says that the main process was reaped before: an orphan may wear
    its pid now. A supervisor of a job is not of this run, and may live for days.
    """
    status = None
    while True:
        try:
            pid, code = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, True
        if pid == 0:
            return status, (exited or status is not None) and only_others_left()
        if os.WIFSTOPPED(code):
            let_go(pid, code)
        elif pid == main and not exited:
            status = code


def _signal_box(number: int) -> int:
    """Send a signal to every process of the box that we are the first of, in one call."""
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return 1
    return 0


def end(main: int = 0, *, exited: bool = True) -> tuple[int | None, int, int]:
    """End everything below this process by force, and reap it.

    Return when nothing is left: the wait status of the main process, if it
    was reaped here, how many processes could not be ended, and how many were. A group of
    processes is ended by one call, which no fork in it outruns, and killing
    parents hands us their children: a few rounds over the direct children end
    any honest tree, and a storm of forks that stays in a few groups. One that
    does not is hit as a whole each round.
    """
    usual = _hurry()
    try:
        return _end(main, exited=exited)
    finally:
        if usual is not None:
            os.sched_setscheduler(0, usual, os.sched_param(0))


def _end(main: int, *, exited: bool) -> tuple[int | None, int, int]:
    me = os.getpid()
    rounds = ended = 0
    ending: int | None = None
    struck: set[int] = set()  # and not reaped yet: their pids are theirs
    immune: set[int] = set()
    while True:
        fresh = set(children(me)) - struck
        if fresh:
            rounds += 1
            if rounds > _PATIENT_ROUNDS:
                signal_all(_signal.SIGKILL)
            struck |= fresh
            immune |= strike(attached(fresh), me)
        block = not fresh and not only_others_left(immune)
        while True:
            try:
                pid, status = os.waitpid(-1, 0 if block else os.WNOHANG)
            except ChildProcessError:
                return ending, 0, ended
            if pid == 0:
                break
            if os.WIFSTOPPED(status):
                let_go(pid, status)
                continue
            block = False
            ended += 1
            struck.discard(pid)
            immune.discard(pid)
            if pid == main and not exited and ending is None:
                ending = status
        if only_others_left(immune):
            return ending, len(immune), ended


def strike(pids: "Collection[int]", me: int) -> set[int]:
    """End children of ours by force, each with all of its group; return those that we may not end."""
    if _first:
        _signal_box(_signal.SIGKILL)
        return set()
    immune: set[int] = set()
    groups: set[int] = set()
    for pid in pids:
        try:
            groups.add(os.getpgid(pid))
        except OSError:
            pass
    # A group lies within a session, and the command's began below us: no other can be in it. Its
    # number is no other's either, for our child has it until it is reaped.
    for group in groups - {0, 1, os.getpgid(me)}:
        try:
            os.killpg(group, _signal.SIGKILL)
        except OSError:
            pass
    for pid in pids:
        try:
            os.kill(pid, _signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            immune.add(pid)
    return immune


def _hurry() -> int | None:
    """Run before all others if we may, as root does; return how we were scheduled before, None if we may not.

    Among a thousand that fork, an equal gets a thousandth of the time.
    """
    try:
        usual = os.sched_getscheduler(0)
        if usual in (os.SCHED_RR, os.SCHED_FIFO):
            return None
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except (AttributeError, OSError):
        return None
    return usual


def let_go(pid: int, status: int) -> None:
    """Let a child go on that has stopped because it made us its tracer, with the signal that it stopped for.

    Programs do so to keep debuggers away; nothing else stops before our eyes.
    """
    if sys.platform != "linux":
        return
    import ctypes

    number = os.WSTOPSIG(status)
    ptrace = ctypes.CDLL(None).ptrace
    ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    ptrace(_PTRACE_DETACH, pid, None, 0 if number == _signal.SIGTRAP else number)


def end_session(leader: int, start: int) -> None:
    """End what can be found of a tree without an owner, by its leader's identity and session.

    For the case that its keeper and the factory were both killed: a process
    that has left the session and lost its parent is not found.
    """
    for _ in range(_PATIENT_ROUNDS):
        found = members(leader, start)
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, _signal.SIGKILL)
            except OSError:
                continue
        sleep(_PAUSE)


def members(leader: int, start: int) -> list[int]:
    """Return the processes of a session, and those below them; the system's own has no leader of ours."""
    if leader <= 1:
        return []
    stats = sessions()
    if leader in stats and stats[leader][2] != start:
        return []  # another process has the pid now
    found = [pid for pid, (_, session, _) in stats.items() if session == leader]
    for pid in found:  # which grows meanwhile
        found += [other for other, (parent, _, _) in stats.items() if parent == pid and other not in found]
    return found


def _signal_stranger(pid: int, number: int, known: dict[int, int], me: int) -> None:
    """Signal a descendant that is not our child, and no process that has taken over its pid.

    The descriptor pins the process; a parent that is ours then proves that
    it is the one we saw.
    """
    if not hasattr(os, "pidfd_open"):
        os.kill(pid, number)
        return
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return
    try:
        parent, _ = parent_and_start(pid)
        if parent == me or parent in known:
            _signal.pidfd_send_signal(fd, number)
    except FileNotFoundError:
        return
    finally:
        os.close(fd)


def _children_elsewhere(pid: int) -> list[int]:
    """Ask the system's process library, where there is no /proc (macOS; untested there)."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    room = 1024
    while True:
        buffer = (ctypes.c_int * room)()
        count = library.proc_listchildpids(pid, buffer, ctypes.sizeof(buffer))
        if count < room:
            return list(buffer[: max(0, count)])
        room *= 2
