"""What the system tells of processes, and of this one's environment."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal

    from agent_exec.model.identity import Ancestor, Identity
else:
    import _signal  # without the enums, whose import costs as much as half an interpreter start

_STATE, _PARENT, _GROUP, _SESSION, _START = 0, 1, 2, 3, 19


def read(path: str, *, whole: bool = True) -> bytes:
    """Return a file of the kernel's; one that is longer than a page comes in several pieces."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = more = os.read(fd, 1 << 16)
        while whole and more:
            more = os.read(fd, 1 << 16)
            data += more
        return data
    finally:
        os.close(fd)


def status(pid: int) -> list[bytes]:
    """Return what the kernel says of a process, from its state on; raise OSError if it is gone."""
    # The field before is the program's name and may hold anything, brackets too.
    return read(f"/proc/{pid}/stat", whole=False).rpartition(b")")[2].split()


def parent_and_start(pid: int) -> tuple[int, int]:
    """Return a process's parent and its start, in ticks since boot; raise OSError if it is gone."""
    fields = status(pid)
    return int(fields[_PARENT]), int(fields[_START])


def start_of(pid: int) -> int:
    """Return when a process was started, in ticks since boot; 0 if it is gone."""
    try:
        return parent_and_start(pid)[1]
    except OSError:
        return 0


def processes() -> list[int]:
    """Return the pids of all processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def sessions() -> dict[int, tuple[int, int, int]]:
    """Return the parent, the session and the start of every process."""
    found: dict[int, tuple[int, int, int]] = {}
    for pid in processes():
        try:
            fields = status(pid)
        except OSError:
            continue
        found[pid] = int(fields[_PARENT]), int(fields[_SESSION]), int(fields[_START])
    return found


def exit_code(pid: int) -> int:
    """Reap a child and return its exit code; 0 if it was reaped elsewhere, or children are ignored."""
    try:
        _, found = os.waitpid(pid, 0)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(found)


def boot_id() -> str:
    """Return a name of this boot of the system; empty where the system has none."""
    global _boot  # noqa: PLW0603 - read once, and never changes
    if _boot is None:
        try:
            _boot = read("/proc/sys/kernel/random/boot_id").decode().strip()
        except OSError:
            _boot = ""
    return _boot


_boot: str | None = None


def identify(pid: int) -> "Identity | None":
    """Return the identity of the process that has this pid now; None if there is none."""
    from agent_exec.model.identity import Identity

    if sys.platform == "linux":
        try:
            return Identity(pid, parent_and_start(pid)[1], boot_id())
        except OSError:
            return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return Identity(pid, 0, "")


def moment_of_start(identity: "Identity") -> float | None:
    """Return when a process was started, in seconds since 1970 by the clock of now; None if unknown."""
    if sys.platform != "linux":
        return None
    from time import CLOCK_BOOTTIME, clock_gettime, time

    return time() - clock_gettime(CLOCK_BOOTTIME) + identity.start / os.sysconf("SC_CLK_TCK")


def is_alive(identity: "Identity") -> bool:
    """True if exactly this process still runs; one that has exited and only waits to be reaped does not."""
    if sys.platform != "linux":
        return identify(identity.pid) == identity
    try:
        fields = status(identity.pid)
    except OSError:
        return False
    return (int(fields[_START]), boot_id()) == (identity.start, identity.boot) and fields[_STATE] not in (
        b"Z",
        b"X",
    )


def send_signal(identity: "Identity", number: int) -> bool:
    """Signal exactly this process; False if it is gone, even if another has its pid now.

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


def own_processes() -> "tuple[Ancestor, ...]":
    """Return this process and its ancestors, and the system's first, whose end is the end of all."""
    from agent_exec.model.identity import Ancestor

    if sys.platform != "linux":
        me = Ancestor(os.getpid(), parent=os.getppid(), group=os.getpgid(0), session=os.getsid(0))
        return me, Ancestor(os.getppid()), Ancestor(1)
    found: list[Ancestor] = []
    pid = os.getpid()
    while pid >= 1:
        try:
            one = _ancestor(pid)
        except (OSError, ValueError, IndexError):
            break  # it has gone, or may not be looked at
        found.append(one)
        pid = one.parent or 0
    if all(one.pid != 1 for one in found):
        found.append(Ancestor(1))
    return tuple(found)


def _ancestor(pid: int) -> "Ancestor":
    import pwd

    from agent_exec.model.identity import Ancestor

    head, _, rest = read(f"/proc/{pid}/stat").rpartition(b")")
    fields = rest.split()
    line = read(f"/proc/{pid}/cmdline").rstrip(b"\0").replace(b"\0", b" ")
    owner = os.stat(f"/proc/{pid}").st_uid
    try:
        user = pwd.getpwuid(owner).pw_name
    except KeyError:
        user = str(owner)
    return Ancestor(
        pid,
        os.fsdecode(head.partition(b"(")[2]),
        line=os.fsdecode(line),
        parent=int(fields[_PARENT]),
        group=int(fields[_GROUP]),
        session=int(fields[_SESSION]),
        user=user,
    )


def own_environment() -> dict[bytes, bytes]:
    """Return a snapshot of our own environment, without the nameless entry that a parent may have made."""
    # The plain mapping behind it, if it is there: a copy through the front takes 30 times as long.
    found: dict[bytes, bytes] = dict(getattr(os.environb, "_data", os.environb))
    found.pop(b"", None)
    return found


def inherited_environment() -> dict[bytes, bytes]:
    """Return the environment that this process was started with, before the interpreter added to it."""
    try:
        entries = read("/proc/self/environ").split(b"\0")
    except OSError:
        return own_environment()
    found: dict[bytes, bytes] = {}
    for entry in entries:
        name, equals, value = entry.partition(b"=")
        if equals and name:
            found.setdefault(name, value)  # of two, the first is what programs see
    return found


def shell(line: str) -> list[str]:
    """Return the argv that has the system's shell run a line."""
    return ["sh", "-c", line]
