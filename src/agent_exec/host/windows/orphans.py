"""Finds and ends what is left of a command whose owner was killed.

Nothing should be: its job dies with its owner. This is for what was on its
way into the job, or out of it.
"""

import ctypes
from time import monotonic, sleep

from agent_exec.host.windows import console, kernel, signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.identity import Identity

_PAUSE = 0.02
_FORCE = 5.0
_PROCESSES = 0x2
_INVALID_HANDLE = ctypes.c_void_p(-1).value


class _Entry(ctypes.Structure):
    """PROCESSENTRY32W."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("usage", ctypes.c_uint32),
        ("pid", ctypes.c_uint32),
        ("heap", ctypes.c_size_t),
        ("module", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("parent", ctypes.c_uint32),
        ("priority", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
        ("name", ctypes.c_uint16 * 260),
    )


def end_orphans(leader: "Identity", mark: str, number: int, grace: float) -> bool:  # noqa: ARG001 - unseen here
    """Ask all that is left of a command to end, and force it after the grace; say whether nothing is left.

    Found are the leader and those below it, as long as it lives.
    """
    found: dict[int, int] = {}
    try:
        if _pin(leader, found) and number != signals.KILL:
            console.send_break(found, console.EVERYONE)
            _wait_for_all(found, grace)
        deadline = monotonic() + _FORCE
        while _pin(leader, found) or not _wait_for_all(found, _PAUSE):
            if monotonic() > deadline:
                return False
            for handle in reversed(found.values()):
                _terminate(handle, 128 + number)
    finally:
        for handle in found.values():
            kernel.close(handle)
    return True


def _pin(leader: "Identity", found: dict[int, int]) -> int:
    """Add handles of the living leader and its descendants, parents first; return how many were added.

    A handle keeps the pid from others: an ended process is still known as the parent of those that live.
    """
    before = len(found)
    if leader.pid not in found and (handle := _open(leader.pid)) is not None:
        if kernel.creation_time(handle) == leader.start:
            found[leader.pid] = handle
        else:
            kernel.close(handle)
    if not found:
        return 0
    now = ctypes.c_ulonglong()
    kernel.dll().GetSystemTimeAsFileTime(ctypes.byref(now))
    parents = _parents()
    grown = True
    while grown:
        grown = False
        for pid, parent in parents.items():
            if pid in found or parent not in found or (handle := _open(pid)) is None:
                continue
            # A parent's pid may have been another's when this one began, and this pid another's by now.
            if kernel.creation_time(found[parent]) <= kernel.creation_time(handle) <= now.value:
                found[pid] = handle
                grown = True
            else:
                kernel.close(handle)
    return len(found) - before


def _open(pid: int) -> int | None:
    """Return a handle of a process that lives, and that may be one of ours: those we may end."""
    try:
        handle = kernel.open_process(pid, kernel.CONTROL)
    except PermissionError:
        return None
    if handle is not None and kernel.wait(handle, 0):
        kernel.close(handle)
        return None
    return handle


def _terminate(handle: int, code: int) -> None:
    try:
        kernel.terminate(handle, code)
    except PermissionError:
        return  # it is about to end already


def _parents() -> dict[int, int]:
    """Return every process there is, with its parent."""
    snapshot = kernel.dll().CreateToolhelp32Snapshot(_PROCESSES, 0)
    if snapshot == _INVALID_HANDLE:
        kernel.check(0)
    found: dict[int, int] = {}
    try:
        entry = _Entry(size=ctypes.sizeof(_Entry))
        more = kernel.dll().Process32FirstW(ctypes.c_void_p(snapshot), ctypes.byref(entry))
        while more:
            found[entry.pid] = entry.parent
            more = kernel.dll().Process32NextW(ctypes.c_void_p(snapshot), ctypes.byref(entry))
    finally:
        kernel.close(snapshot)
    return found


def _wait_for_all(found: dict[int, int], seconds: float) -> bool:
    """Wait until all of these are gone; False after so many seconds."""
    deadline = monotonic() + seconds
    while not all(kernel.wait(handle, 0) for handle in found.values()):
        if monotonic() >= deadline:
            return False
        sleep(_PAUSE / 4)
    return True
