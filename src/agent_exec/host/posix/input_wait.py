"""Whether a program on a terminal waits for input, by what the kernel shows of it.

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
from _thread import allocate_lock, get_ident
from time import monotonic

from agent_exec.host.posix import descriptors
from agent_exec.host.posix.descriptors import LONGEST_WAIT
from agent_exec.host.posix.procfiles import ProcFiles
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.host.posix.process.streams import Reader

_SESSION = 0x5429  # TIOCGSID
_PEER = 0x5441  # TIOCGPTPEER
_TERMINALS = range(136, 144)
_CONTROLLING = os.makedev(5, 0)  # /dev/tty
_MASTER = os.makedev(5, 2)  # /dev/ptmx
_MOMENT = 0.0001
_FINE = 0.01
_SELECTABLE = 1024
_SPARE = (os.cpu_count() or 1) > 1
_hurrying = allocate_lock()
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
_NUMBERS = _CALLS.get(os.uname().machine)
_STATE, _PARENT, _GROUP, _THREADS = 0, 1, 2, 17
_POLLFD = struct.Struct("ihh")
_POLLIN = 1
_WATCHING = (b"poll_schedule_timeout", b"do_poll", b"do_select", b"do_epoll_wait", b"ep_poll")


class Attention(Value):
    """What a look at a terminal has shown: `evidence` is "exact", "likely" or "" for a program that is busy.

    `echo` says whether what is typed is shown, by the terminal or by a program
    that edits lines itself; a password is asked for without.
    """

    evidence: str
    echo: bool


class Peer:
    """The end that the program has; any thread may use it.

    It is opened when first needed, and closed before the last output is
    taken: as long as any such end is open, a terminal does not tell its end.
    """

    __slots__ = ("_closed", "_fd", "_lock", "_poll", "device")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._poll = select.poll()
        self._fd = -1
        self._closed = False
        self.device = 0
        """Which device it is; 0 if that is not known."""

    def is_typed(self, master: int) -> bool:
        """True if something was typed that the program has not read.

        Unlike FIONREAD, this waits for what is on its way.
        """
        with self._lock:
            if self._closed or (self._fd < 0 and not self._open(master)):
                return self._closed
            ready = self._poll.poll(0)
            if ready and ready[0][1] & ~select.POLLIN:
                self._drop()  # hung up behind our back: the next one sees more
            return bool(ready)

    def close(self) -> None:
        """Hold it no more; harmless when repeated."""
        with self._lock:
            self._closed = True
            self._drop()

    def _open(self, master: int) -> bool:
        try:
            fd = fcntl.ioctl(master, _PEER, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False  # a kernel that cannot
        self._fd = descriptors.hold(fd)
        self._poll.register(fd, select.POLLIN)
        self.device = os.fstat(fd).st_rdev
        return True

    def _drop(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self._poll.unregister(fd)
            descriptors.close(fd)


class Gaze:
    """A view of the foreground of a terminal, by a copy of its master; any thread may use it.

    One thread at a time may attend: it reads the terminal itself, in place of
    the loop's, which saves two threads waking each other for every answer.
    """

    __slots__ = ("_attender", "_closed", "_files", "_lock", "_master", "_peer", "_poll", "_reader", "_wake")

    def __init__(self, master: int, reader: "Reader") -> None:
        self._master = descriptors.hold(master)
        self._reader = reader
        self._peer = reader.face()
        self._files = ProcFiles()
        self._lock = allocate_lock()
        self._poll: select.poll | None = None
        self._wake = -1
        self._attender = 0
        self._closed = False

    def look(self, *, unfinished: bool) -> Attention:
        """Look whether a program waits for input; `unfinished` if the last line has no end."""
        writer = self._reader.writer
        if writer is not None and writer.waiting:
            return Attention("", echo=True)  # none waits for more while we have some
        with self._lock:
            found = _look(self._master, self._peer, self._files, unfinished=unfinished)
        # What was read, and is on its way to us, came before whatever was seen.
        return Attention("", echo=found.echo) if self._reader.busy else found

    def attend(self) -> bool:
        """Begin to read from this thread; False if that cannot be. `leave` must follow in any case."""
        if self._attender == get_ident():
            return True
        with self._lock:
            if self._attender or self._closed:
                return False
            if self._poll is None:
                try:
                    self._wake = descriptors.hold(os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC))
                except OSError:
                    return False  # there are no more descriptors
                self._poll = select.poll()
                self._poll.register(self._master, select.POLLIN)
                self._poll.register(self._wake, select.POLLIN)
            self._attender = get_ident()
        if self._reader.lend():
            return True
        self.leave()
        return False

    def read(self, seconds: float) -> bool:
        """Pass on what is printed, once, if that is within so many seconds and before `wake` is called.

        False if nothing more will be: then it is time to leave.
        """
        assert self._poll is not None
        for fd, events in self._poll.poll(0) or self._hurry(seconds) or self._sleep(seconds):
            if fd == self._wake:
                os.eventfd_read(fd)
            elif not events & select.POLLIN:
                return False
            else:
                self._reader.ready(select.POLLIN)
        return True

    def _hurry(self, seconds: float) -> "list[tuple[int, int]]":
        """Wait a moment without sleeping: most answers come within it, and waking up takes as long.

        One thread at a time does, and none on a machine that has nothing to spare.
        """
        assert self._poll is not None
        ready: list[tuple[int, int]] = []
        if _SPARE and _hurrying.acquire(blocking=False):
            try:
                poll, until = self._poll.poll, monotonic() + min(_MOMENT, seconds)
                while not ready and monotonic() < until:
                    ready = poll(0)
            finally:
                _hurrying.release()
        return ready

    def _sleep(self, seconds: float) -> "list[tuple[int, int]]":
        """Wait for one of our two descriptors."""
        assert self._poll is not None
        if seconds < _FINE and self._master < _SELECTABLE > self._wake:
            # Which counts microseconds, and cannot tell a hang-up from output.
            select.select([self._master, self._wake], (), (), max(0.0, seconds - _MOMENT))
            return self._poll.poll(0)
        # Rounded up, or the last fraction of a millisecond would be a busy wait.
        return self._poll.poll(int(min(seconds, LONGEST_WAIT) * 1000) + (seconds > 0))

    def wake(self) -> None:
        """Let the attending thread return from `read` now."""
        with self._lock:
            if self._attender:
                os.eventfd_write(self._wake, 1)

    def leave(self) -> None:
        """Let the loop read again, if it is this thread that did; harmless when repeated."""
        if self._attender != get_ident():
            return
        self._reader.take_back()
        with self._lock:
            self._attender = 0
            if self._closed:
                self._release()

    def close(self) -> None:
        """Look no more; harmless when repeated."""
        with self._lock:
            self._closed = True
            if not self._attender:
                self._release()
            else:
                os.eventfd_write(self._wake, 1)  # and the attending thread releases it all

    def _release(self) -> None:
        self._files.close()
        self._poll = None
        fds, self._master, self._wake = (self._master, self._wake), -1, -1
        for fd in fds:
            if fd >= 0:
                descriptors.close(fd)


def _look(master: int, peer: Peer, files: ProcFiles, *, unfinished: bool) -> Attention:
    """Look at a terminal.

    First whether all that was typed has been read, last whether all that was
    printed has: a program that sleeps between these two waits for more.
    """
    if sys.platform != "linux" or master < 0:
        return Attention("", echo=True)
    try:
        flags = termios.tcgetattr(master)[3]
        echo, editing = bool(flags & termios.ECHO), bool(flags & termios.ICANON)
        evidence = ""
        if not peer.is_typed(master) and (group := os.tcgetpgrp(master)) > 0:
            look = _Look(files, peer.device, prompting=unfinished or not (editing and echo))
            evidence = look.of_group(group, _session_of(group, master))
        if evidence and _has_input(master):  # printed, and not read yet
            evidence = ""
    except (OSError, ValueError, termios.error):
        return Attention("", echo=True)
    return Attention(evidence, echo=echo or not editing)


def _session_of(group: int, master: int) -> int:
    """Return the session whose terminal it is, which is that of the group before it."""
    try:
        return os.getsid(group)
    except ProcessLookupError:  # the leader of the group is gone
        return int.from_bytes(fcntl.ioctl(master, _SESSION, bytes(4)), sys.byteorder)


def _has_input(fd: int) -> bool:
    """True if there is something to read."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(0))


class _Look:
    """One look at the processes before a terminal, which is this device."""

    __slots__ = ("_device", "_files", "_prompting", "_read")

    def __init__(self, files: ProcFiles, device: int, *, prompting: bool) -> None:
        self._files = files
        self._read = files.read
        self._device = device
        self._prompting = prompting

    def of_group(self, group: int, session: int) -> str:
        """Return how a group waits for its terminal: none may be awake, and one must watch it."""
        alone = self._of_one(group) if group == session else None
        if alone is not None:
            return alone
        evidence = ""
        for count, (pid, seen) in enumerate(self._members(group, session)):
            if count >= _MOST or not self._asleep(pid, seen):
                return ""
            if evidence != "exact":
                evidence = self._watches(pid) or evidence
        return evidence

    def _of_one(self, group: int) -> str | None:
        """Return the same for a group of one process, such as a shell; None if there may be others."""
        try:
            seen = self._status(f"/proc/{group}/stat")
            others = self._read(f"/proc/{int(seen[_PARENT])}/task/{int(seen[_PARENT])}/children")
            if seen[_THREADS] != b"1" or others.split() != [b"%d" % group]:
                return None
            if seen[_STATE] != b"S":
                return ""
            evidence = self._watches(group)
            return evidence if not self._read(f"/proc/{group}/task/{group}/children") else None
        except OSError:
            return None

    def _members(self, group: int, session: int) -> "Iterator[tuple[int, list[bytes]]]":
        """Return the processes of a group, with what is known of each.

        They are its leader, its siblings, those adopted by the parent of the
        session, and all below them.
        """
        known: dict[int, list[bytes]] = {}
        waiting = [group]
        for one in (group,) if group == session else (group, session):
            try:
                known[one] = self._status(f"/proc/{one}/stat")
                waiting += self._children(int(known[one][_PARENT]))
            except OSError:
                continue  # a leader that is gone
        if group not in known:
            waiting += self._children(session)
        seen = set()
        while waiting:
            pid = waiting.pop()
            if pid in seen:
                continue
            seen.add(pid)
            try:
                if pid not in known and os.getpgid(pid) != group:
                    continue
                status = known.get(pid) or self._status(f"/proc/{pid}/stat")
                if int(status[_GROUP]) == group:
                    yield pid, status
                    waiting += self._children(pid, threads=int(status[_THREADS]))
            except OSError:
                continue

    def _asleep(self, pid: int, status: "list[bytes]") -> bool:
        """True if every thread of a process sleeps, as one does that waits for something."""
        if status[_STATE] != b"S" or status[_THREADS] == b"1":
            return status[_STATE] == b"S"
        tasks = os.listdir(f"/proc/{pid}/task")
        return all(self._status(f"/proc/{pid}/task/{task}/stat")[_STATE] in b"SI" for task in tasks)

    def _watches(self, pid: int) -> str:
        """Return how a process waits for its terminal: "exact" blocked in a read, "likely" watching it."""
        try:
            words = self._read(f"/proc/{pid}/syscall").split(None, 3)
        except OSError:  # not ours to see: another process may not be traced here
            return self._by_channel(pid)
        if _NUMBERS is None or len(words) < 3 or not words[0].isdigit():
            return ""
        call, first, second = int(words[0]), int(words[1], 16), int(words[2], 16)
        if call in _NUMBERS["read"]:
            return "exact" if self._is_terminal(self._files.device(pid, first)) else ""
        if not self._prompting:
            return ""
        if call in _NUMBERS["poll"]:
            watched = _polled(self._files, pid, first, second)
        elif call in _NUMBERS["select"]:
            watched = _selected(self._files, pid, first, second)
        elif call in _NUMBERS["epoll"]:
            watched = self._registered(pid, first)
        else:
            return ""
        devices = [self._files.device(pid, fd) for fd in watched]
        if _MASTER in devices:
            return ""  # it passes on what is typed to a program behind another terminal
        return "likely" if any(map(self._is_terminal, devices)) else ""

    def _by_channel(self, pid: int) -> str:
        """Return the same by where in the kernel a process sleeps, which tells less."""
        channel = self._read(f"/proc/{pid}/wchan")
        if channel in (b"wait_woken", b"n_tty_read"):
            return "likely"
        watches = self._prompting and channel in _WATCHING
        return "likely" if watches and self._is_terminal(self._files.device(pid, 0)) else ""

    def _registered(self, pid: int, epoll: int) -> list[int]:
        """Return the descriptors that an epoll watches."""
        lines = self._read(f"/proc/{pid}/fdinfo/{epoll}").splitlines()
        return [int(line.split()[1]) for line in lines if line.startswith(b"tfd:")]

    def _is_terminal(self, found: int) -> bool:
        """True if a device is our terminal; any is, if ours is not known."""
        if self._device:
            return found in (self._device, _CONTROLLING)
        return os.major(found) in _TERMINALS or found == _CONTROLLING

    def _children(self, pid: int, *, threads: int = 1) -> list[int]:
        """Return the children of a process, also those that its other threads have started."""
        try:
            tasks = [str(pid)] if threads == 1 else os.listdir(f"/proc/{pid}/task")
            files = [f"/proc/{pid}/task/{task}/children" for task in tasks]
            return [int(word) for file in files for word in self._read(file).split()]
        except OSError:
            return []

    def _status(self, path: str) -> "list[bytes]":
        """Return what is known of a process, or of one of its threads, from its state on."""
        return self._read(path).rpartition(b")")[2].split(None, _THREADS + 1)


def _polled(files: ProcFiles, pid: int, address: int, count: int) -> list[int]:
    """Return the descriptors that a poll watches for input."""
    if not 0 < count <= 1024:
        return []
    data = _memory(files, pid, address, count * _POLLFD.size)
    return [fd for fd, events, _ in _POLLFD.iter_unpack(data) if events & _POLLIN and fd >= 0]


def _selected(files: ProcFiles, pid: int, count: int, address: int) -> list[int]:
    """Return the descriptors that a select watches for input."""
    if not 0 < count <= 1024 or not address:
        return []
    bits = int.from_bytes(_memory(files, pid, address, (count + 63) // 64 * 8), "little")
    return [fd for fd in range(count) if bits >> fd & 1]


def _memory(files: ProcFiles, pid: int, address: int, size: int) -> bytes:
    """Read memory of a process that is asleep."""
    data = files.read_at(f"/proc/{pid}/mem", size, address)
    if len(data) != size:
        raise ValueError("memory that is not there")
    return data
