"""Whether a program on a terminal waits for someone to type, by what the kernel shows of it.

A program waits if every process of the terminal's foreground group is asleep
and one of them is blocked reading the terminal (`exact`), or watches it for
input in a way that programs use at a prompt (`likely`): without the
terminal's own editing or echo, or after an unfinished line. A program that is
busy, or waits for something else, is never taken for one that waits.
"""

import fcntl
import os
import select
import struct
import sys
import termios
from _thread import allocate_lock

from agent_exec.host.posix import descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.host.posix.streams import Reader

_PEER = 0x5441  # TIOCGPTPEER
_SESSION = 0x5429  # TIOCGSID
_TERMINALS = range(136, 144)
_CONTROLLING = os.makedev(5, 0)  # /dev/tty
_MASTER = os.makedev(5, 2)  # /dev/ptmx
_MOST = 64
"""How many processes of a group are looked at; a larger group is never said to wait."""

# Numbers of system calls: x86_64 first, then the numbers that newer architectures share.
_CALLS = {
    "x86_64": {
        "read": (0, 19),
        "poll": (7, 271),
        "select": (23, 270),
        "epoll": (232, 281, 441),
    },
    "aarch64": {"read": (63, 65), "poll": (73,), "select": (72,), "epoll": (22, 441)},
}
_STATE, _PARENT, _GROUP, _THREADS = 0, 1, 2, 17
_POLLFD = struct.Struct("ihh")
_POLLIN = 1


class Attention:
    """What a look at a terminal has shown: `evidence` is "exact", "likely" or "" for a program that is busy.

    `echo` says whether what is typed is shown, by the terminal or by a program
    that edits lines itself; a password is asked for without.
    """

    __slots__ = ("echo", "evidence")

    def __init__(self, evidence: str, *, echo: bool) -> None:
        self.evidence = evidence
        self.echo = echo


class Gaze:
    """Eyes on who is in front of a terminal, by a copy of its master."""

    __slots__ = ("_lock", "_master", "_reader")

    def __init__(self, master: int, reader: "Reader") -> None:
        self._master = descriptors.hold(master)
        self._reader = reader
        self._lock = allocate_lock()

    def look(self, *, unfinished: bool) -> Attention:
        """Look whether someone waits for input; `unfinished` if the last line has no end."""
        writer = self._reader.writer
        if writer is not None and writer.waiting:
            return Attention("", echo=True)  # nobody waits for more while we have some
        with self._lock:
            found = _look(self._master, unfinished=unfinished)
        # What was read, and is on its way to us, came before whatever was seen.
        return Attention("", echo=found.echo) if self._reader.busy else found

    def close(self) -> None:
        """Look no more; harmless when repeated."""
        with self._lock:
            master, self._master = self._master, -1
        if master >= 0:
            descriptors.close(master)


def _look(master: int, *, unfinished: bool) -> Attention:
    """Look at a terminal.

    First whether all that was typed has been read, last whether all that was
    printed has: whoever sleeps between these two waits for more.
    """
    if sys.platform != "linux" or master < 0:
        return Attention("", echo=True)
    try:
        flags = termios.tcgetattr(master)[3]
        echo, editing = bool(flags & termios.ECHO), bool(flags & termios.ICANON)
        evidence = ""
        typed, device = _is_typed(master)
        if not typed and (group := os.tcgetpgrp(master)) > 0:
            evidence = _of_group(
                group, _session(master), device, prompting=unfinished or not (editing and echo)
            )
        if evidence and _is_printed(master):
            evidence = ""
    except (OSError, ValueError, termios.error):
        return Attention("", echo=True)
    return Attention(evidence, echo=echo or not editing)


def _is_printed(master: int) -> bool:
    """Tell whether the program has printed something that nobody has read."""
    return _has_input(master)


def _session(master: int) -> int:
    """Give the session whose terminal it is."""
    return int.from_bytes(fcntl.ioctl(master, _SESSION, bytes(4)), sys.byteorder)


def _is_typed(master: int) -> tuple[bool, int]:
    """Tell whether something was typed that the program has not read, and which device the other end is."""
    try:
        slave = fcntl.ioctl(master, _PEER, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False, 0  # a kernel that cannot open the other end
    try:
        return _has_input(slave), os.fstat(slave).st_rdev
    finally:
        os.close(slave)


def _has_input(fd: int) -> bool:
    """Tell whether an end of a terminal has input; unlike FIONREAD, this waits for what is on its way."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(0))


def _of_group(group: int, session: int, device: int, *, prompting: bool) -> str:
    """Say whether a group waits for its terminal: no one may be awake, and one must watch it."""
    evidence = ""
    for count, (pid, seen) in enumerate(_members(group, session)):
        if count >= _MOST or not _asleep(pid, seen):
            return ""
        if evidence != "exact":
            evidence = _watches(pid, device, prompting=prompting) or evidence
    return evidence


def _members(group: int, session: int) -> "Iterator[tuple[int, list[str]]]":
    """Give the processes of a group, with what is known of each.

    They are its leader, its siblings, whoever was adopted by the parent of
    the session, and all below them.
    """
    known: dict[int, list[str]] = {}
    waiting = [group]
    for one in {group, session}:
        try:
            known[one] = _status(one)
            waiting += _children(int(known[one][_PARENT]))
        except OSError:
            continue  # a leader that is gone
    if group not in known:
        waiting += _children(session)
    seen = set()
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        try:
            status = known.get(pid) or _status(pid)
            if int(status[_GROUP]) == group:
                yield pid, status
                waiting += _children(pid, threads=int(status[_THREADS]))
        except OSError:
            continue


def _asleep(pid: int, status: "list[str]") -> bool:
    """Whether every thread of a process sleeps, as one does that waits for something."""
    if status[_STATE] != "S" or status[_THREADS] == "1":
        return status[_STATE] == "S"
    return all(_status(int(task), pid)[_STATE] in "SI" for task in os.listdir(f"/proc/{pid}/task"))


def _watches(pid: int, device: int, *, prompting: bool) -> str:
    """Say how a process waits for its terminal: "exact" blocked in a read, "likely" watching it, "" not."""
    numbers = _CALLS.get(os.uname().machine)
    try:
        words = _read(f"/proc/{pid}/syscall").split()
    except OSError:  # not ours to see: another process may not be traced here
        return _by_channel(pid, device, prompting=prompting)
    if numbers is None or len(words) < 3 or not words[0].isdigit():
        return ""
    call, first, second = int(words[0]), int(words[1], 16), int(words[2], 16)
    if call in numbers["read"]:
        return "exact" if _is_terminal(_device(pid, first), device) else ""
    if not prompting:
        return ""
    if call in numbers["poll"]:
        watched = _polled(pid, first, second)
    elif call in numbers["select"]:
        watched = _selected(pid, first, second)
    elif call in numbers["epoll"]:
        watched = _registered(pid, first)
    else:
        return ""
    devices = [_device(pid, fd) for fd in watched]
    if _MASTER in devices:
        return ""  # it passes on what is typed: whoever it is for is behind another terminal
    return "likely" if any(_is_terminal(one, device) for one in devices) else ""


def _by_channel(pid: int, device: int, *, prompting: bool) -> str:
    """Say the same by where in the kernel a process sleeps, which tells less."""
    channel = _read(f"/proc/{pid}/wchan")
    if channel in ("wait_woken", "n_tty_read"):
        return "likely"
    watching = channel in ("poll_schedule_timeout", "do_poll", "do_select", "do_epoll_wait", "ep_poll")
    return "likely" if prompting and watching and _is_terminal(_device(pid, 0), device) else ""


def _polled(pid: int, address: int, count: int) -> list[int]:
    """Give the descriptors that a poll watches for input."""
    if not 0 < count <= 1024:
        return []
    data = _memory(pid, address, count * _POLLFD.size)
    return [fd for fd, events, _ in _POLLFD.iter_unpack(data) if events & _POLLIN and fd >= 0]


def _selected(pid: int, count: int, address: int) -> list[int]:
    """Give the descriptors that a select watches for input."""
    if not 0 < count <= 1024 or not address:
        return []
    bits = int.from_bytes(_memory(pid, address, (count + 63) // 64 * 8), "little")
    return [fd for fd in range(count) if bits >> fd & 1]


def _registered(pid: int, epoll: int) -> list[int]:
    """Give the descriptors that an epoll watches."""
    lines = _read(f"/proc/{pid}/fdinfo/{epoll}").splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("tfd:")]


def _device(pid: int, fd: int) -> int:
    """Give the device that a process has open; 0 if it is none."""
    try:
        return os.stat(f"/proc/{pid}/fd/{fd}").st_rdev
    except OSError:
        return 0


def _is_terminal(found: int, device: int) -> bool:
    """Tell whether a device is our terminal; any is, if ours is not known."""
    return (
        found in (device, _CONTROLLING) if device else os.major(found) in _TERMINALS or found == _CONTROLLING
    )


def _memory(pid: int, address: int, size: int) -> bytes:
    """Read memory of a process that is asleep."""
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.pread(fd, size, address)
    finally:
        os.close(fd)
    if len(data) != size:
        raise ValueError("memory that is not there")
    return data


def _children(pid: int, *, threads: int = 1) -> list[int]:
    """Give the children of a process, also those that its other threads have started."""
    try:
        tasks = [str(pid)] if threads == 1 else os.listdir(f"/proc/{pid}/task")
        return [int(word) for task in tasks for word in _read(f"/proc/{pid}/task/{task}/children").split()]
    except OSError:
        return []


def _status(task: int, pid: int = 0) -> "list[str]":
    """Give what is known of a process, or of one of its threads, from its state on."""
    path = f"/proc/{pid}/task/{task}/stat" if pid else f"/proc/{task}/stat"
    return _read(path).rpartition(")")[2].split()


def _read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 16).decode(errors="replace")
    finally:
        os.close(fd)
