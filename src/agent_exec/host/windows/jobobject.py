"""A Job Object: a tree of processes that no member can leave.

A process started by a member is a member. The job is killed when its last
handle is closed, and its only handle is ours, unless someone opens it by its
name: a tree dies with its owner, however the owner ends.
"""

import ctypes
from time import monotonic, sleep

from agent_exec.host.windows import kernel

_ACCOUNTING = 1
_PIDS = 3
_COMPLETION_PORT = 7
_EXTENDED_LIMITS = 9
_KILL_ON_CLOSE = 0x2000
_INVALID_HANDLE = ctypes.c_void_p(-1)
_COUNTS = 8
_PID = ctypes.sizeof(ctypes.c_size_t)
_MANY = 1 << 20
# A notice may be lost when the system has no memory for it; so the count is asked for now and then.
_PATIENCE = 1.0
_PAUSE = 0.02


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("process_time", ctypes.c_longlong),
        ("job_time", ctypes.c_longlong),
        ("flags", ctypes.c_uint32),
        ("smallest_set", ctypes.c_size_t),
        ("largest_set", ctypes.c_size_t),
        ("active_limit", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
        ("transfers", ctypes.c_ulonglong * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


class _Accounting(ctypes.Structure):
    """JOBOBJECT_BASIC_ACCOUNTING_INFORMATION."""

    _fields_ = (
        ("times", ctypes.c_longlong * 4),
        ("page_faults", ctypes.c_uint32),
        ("total", ctypes.c_uint32),
        ("active", ctypes.c_uint32),
        ("terminated", ctypes.c_uint32),
    )


class _Port(ctypes.Structure):
    """JOBOBJECT_ASSOCIATE_COMPLETION_PORT."""

    _fields_ = (("key", ctypes.c_void_p), ("port", ctypes.c_void_p))


class Job:
    """A tree of processes; any thread may use it, and its maker closes it when no thread does."""

    __slots__ = ("_handle", "_left", "_port")

    def __init__(self, name: str | None = None) -> None:
        self._port = 0
        self._left = False
        self._handle, new = kernel.create_named(kernel.dll().CreateJobObjectW, None, name)
        if not new:
            # Another's job has this name: ours must do without.
            self.close()
            self._handle = kernel.check(kernel.dll().CreateJobObjectW(None, None))
        try:
            self._limit(_KILL_ON_CLOSE)
        except BaseException:
            self.close()
            raise

    def add(self, process: int) -> None:
        """Make a process a member, for all its life."""
        kernel.check(kernel.dll().AssignProcessToJobObject(self._job, ctypes.c_void_p(process)))

    def active(self) -> int:
        """Return how many members live."""
        found = _Accounting()
        self._query(_ACCOUNTING, found)
        return int(found.active)

    def pids(self) -> list[int]:
        """Return the pids of the members that live."""
        room = 64
        while True:
            # Two counts of 32 bits, the living and the listed, then the pids.
            buffer = ctypes.create_string_buffer(_COUNTS + room * _PID)
            size = ctypes.sizeof(buffer)
            done = kernel.dll().QueryInformationJobObject(self._job, _PIDS, buffer, size, None)
            listed = int.from_bytes(buffer.raw[4:_COUNTS], "little")
            if done and listed < room:
                return [
                    int.from_bytes(buffer.raw[at : at + _PID], "little")
                    for at in range(_COUNTS, _COUNTS + listed * _PID, _PID)
                ]
            if room > _MANY:
                kernel.check(done)
            room *= 4

    def listen(self) -> None:
        """Have the system notify `wait_until_empty` of new and ended members; to be called once.

        Not before it is needed: notifications without a listener would pile up. If the
        system has nothing left for it, the wait looks by itself.
        """
        try:
            port = kernel.check(kernel.dll().CreateIoCompletionPort(_INVALID_HANDLE, None, None, 1))
            self._port = port
            self._set(_COMPLETION_PORT, _Port(None, port))
        except OSError:
            return

    def wait_until_empty(self, seconds: float | None = None) -> bool:
        """Wait until no member lives; False after so many seconds, or when it was `left`."""
        deadline = None if seconds is None else monotonic() + seconds
        message, key, other = ctypes.c_uint32(), ctypes.c_size_t(), ctypes.c_void_p()
        while self.active():
            left = _PATIENCE if deadline is None else min(_PATIENCE, deadline - monotonic())
            if left < 0:
                return False
            if self._left:
                return False
            if not self._port:
                sleep(min(left, _PAUSE))
                continue
            kernel.dll().GetQueuedCompletionStatus(
                ctypes.c_void_p(self._port),
                ctypes.byref(message),
                ctypes.byref(key),
                ctypes.byref(other),
                int(left * 1000) + 1,
            )
        return True

    def spare(self) -> None:
        """Let the members live on when this is closed."""
        self._limit(0)

    def leave(self) -> None:
        """Let the members live on when this is closed, and end the wait for them."""
        self.spare()
        self._left = True
        if self._port:
            kernel.dll().PostQueuedCompletionStatus(ctypes.c_void_p(self._port), 0, None, None)

    def kill(self, code: int) -> None:
        """End every member by force; they are gone when `wait_until_empty` says so."""
        kernel.dll().TerminateJobObject(self._job, code)

    def close(self) -> None:
        """Close the handles, which kills the remaining members; harmless when repeated."""
        for handle in (self._handle, self._port):
            if handle:
                kernel.close(handle)
        self._handle = self._port = 0

    @property
    def _job(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._handle)

    def _limit(self, flags: int) -> None:
        limits = _Limits()
        limits.flags = flags
        self._set(_EXTENDED_LIMITS, limits)

    def _set(self, kind: int, value: ctypes.Structure) -> None:
        done = kernel.dll().SetInformationJobObject(
            self._job, kind, ctypes.byref(value), ctypes.sizeof(value)
        )
        kernel.check(done)

    def _query(self, kind: int, value: ctypes.Structure) -> None:
        done = kernel.dll().QueryInformationJobObject(
            self._job, kind, ctypes.byref(value), ctypes.sizeof(value), None
        )
        kernel.check(done)
