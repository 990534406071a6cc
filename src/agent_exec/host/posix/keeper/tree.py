"""The tree of processes below this one: see it, signal it, end it.

All of this is for a process that does nothing else and has no threads: a
keeper. On Linux it is made the reaper of its descendants, so that whoever
loses its parent becomes its child, and nobody can escape it by forking.
Elsewhere a process that daemonises itself is lost to us.
"""

import os
import sys
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable, Collection
else:
    import _signal  # without the enums, whose import costs as much as half an interpreter start

_PTRACE_DETACH = 17
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_PATIENT_ROUNDS = 8
SUPERVISOR = b"agent-exec/job"
"""What the owner of a job is called, for people who look: anyone can take a name."""
_PAUSE = 0.0005


def become_reaper(name: bytes = b"agent-exec") -> None:
    """Let every descendant that loses its parent become this process's child."""
    if sys.platform != "linux":
        return
    from agent_exec.host.posix.libc import prctl

    prctl(_PR_SET_NAME, name)  # a command that kills all of Python does not mean us
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


_owners = True
"""Whether there may be supervisors of jobs below us."""

_first = False
"""Whether we are the first process of a box, in which there is nobody but us and what we have started."""


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
    to outlive whoever did. It comes to us because we adopt all that lose
    their parent, and is known by the lock that it holds.
    """
    if not pids or not _owners or sys.platform != "linux":
        return list(pids)
    from agent_exec.host.posix.detached.lock import supervisors

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
            found.extend(map(int, _read(f"{base}/{task}/children", whole=True).split()))
        except FileNotFoundError:
            if not _has_children_file():
                return _children_by_scan(pid)
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
    """Reap who has exited; return the main process's wait status, if it was there, and whether none is left.

    `exited` says that the main process was reaped before: an orphan may wear
    its pid now. Who owns a job is not of this run, and may live for days.
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


def end(main: int, *, exited: bool) -> tuple[int | None, int]:
    """End everything by force; give the main process's wait status, if it was reaped, and how many resist."""
    status: list[int] = []
    survivors = sweep(lambda pid, code: status.append(code) if pid == main and not exited else None)
    return (status[0] if status else None), survivors


def _signal_box(number: int) -> int:
    """Send a signal to every process of the box that we are the first of, in one call."""
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return 1
    return 0


def sweep(reaped: "Callable[[int, int], None]") -> int:
    """End everything below this process by force and reap it; return how many could not be ended.

    Returns when nothing is left. `reaped(pid, status)` hears of every child.
    A group of processes is ended by one call, which no fork in it outruns,
    and killing parents hands us their children: a few rounds over the direct
    children end any honest tree, and a storm of forks that stays in a few
    groups. One that does not is hit as a whole each round.
    """
    usual = _hurry()
    try:
        return _sweep(reaped)
    finally:
        if usual is not None:
            os.sched_setscheduler(0, usual, os.sched_param(0))


def _sweep(reaped: "Callable[[int, int], None]") -> int:
    me = os.getpid()
    rounds = 0
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
                return 0
            if pid == 0:
                break
            if os.WIFSTOPPED(status):
                let_go(pid, status)
                continue
            block = False
            struck.discard(pid)
            immune.discard(pid)
            reaped(pid, status)
        if only_others_left(immune):
            return len(immune)


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
    # A group lies within a session, and the command's began below us: nobody else can be in it. Its
    # number is nobody else's either, for our child has it until it is reaped.
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
    """End what can be found of a tree that nobody owns any more, by its leader's identity and session.

    For the case that its keeper and the factory were both killed: whoever
    has left the session and lost its parent is not found.
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
    stats: dict[int, tuple[int, int, int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stats[int(name)] = _stat(int(name))
            except OSError:
                continue
    if leader in stats and stats[leader][2] != start:
        return []  # another process has the pid now
    found = [pid for pid, (_, session, _) in stats.items() if session == leader]
    for pid in found:  # which grows meanwhile
        found += [other for other, (parent, _, _) in stats.items() if parent == pid and other not in found]
    return found


def boot_id() -> str:
    """Return a name of this boot of the system; empty where the system has none."""
    global _boot  # noqa: PLW0603 - read once, for ever true
    if _boot is None:
        try:
            with open("/proc/sys/kernel/random/boot_id") as file:
                _boot = file.read().strip()
        except OSError:
            _boot = ""
    return _boot


_boot: str | None = None


def is_zombie(pid: int) -> bool:
    """True if a process has exited and only waits to be reaped, or is gone."""
    try:
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 1)[0] in (b"Z", b"X")
    except OSError:
        return True


def parent_and_start(pid: int) -> tuple[int, int]:
    """Return a process's parent and the time it was started, in ticks since boot; raise if it is gone."""
    parent, _, start = _stat(pid)
    return parent, start


def _stat(pid: int) -> tuple[int, int, int]:
    """Return a process's parent, session and start."""
    # The second field is the program's name and may hold anything, brackets too.
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 20)
    return int(fields[1]), int(fields[3]), int(fields[19])


def _signal_stranger(pid: int, number: int, known: dict[int, int], me: int) -> None:
    """Signal a descendant that is not our child, and nobody who has taken over its pid.

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


def _read(path: str, *, whole: bool = False) -> bytes:
    """Read a file of the kernel's; one that may be longer than a page comes in several pieces."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = more = os.read(fd, 1 << 16)
        while whole and more:
            more = os.read(fd, 1 << 16)
            data += more
        return data
    finally:
        os.close(fd)


def _has_children_file() -> bool:
    """True if this kernel lists children; some are built without."""
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def _children_by_scan(pid: int) -> list[int]:
    """Find children by asking every process for its parent."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parent, _ = parent_and_start(int(name))
            except OSError:
                continue
            if parent == pid:
                found.append(int(name))
    return found


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
