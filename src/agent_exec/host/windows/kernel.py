"""The calls of Windows that this host makes, with handles as plain numbers and failures as OSError.

Everything here can be imported anywhere, and called on Windows alone.
"""

import ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

if sys.platform == "win32":
    import _winapi
    import msvcrt
    from ctypes import WinDLL, WinError, get_last_error, set_last_error
    from os import set_handle_inheritable
else:
    _winapi: "Any" = None
    msvcrt: "Any" = None
    WinDLL: "Any" = None
    WinError: "Any" = None
    get_last_error: "Any" = None
    set_last_error: "Any" = None
    set_handle_inheritable: "Any" = None

PIPE_SIZE = 1 << 18

LOOK = 0x101000
"""The right to wait for a process and to ask when it was created."""
CONTROL = LOOK | 0x1
"""The right to end it, too."""
ADOPT = CONTROL | 0x100
"""The right to put it into a job, too."""

_FOR_EVER = 0xFFFFFFFF
_LONGEST_WAIT = _FOR_EVER - 1
_INVALID_PARAMETER = 87
_ALREADY_EXISTS = 183
_REJECT_REMOTE = 0x8
_PIPE_ACCESS_OUTBOUND = 0x2
_READ_ATTRIBUTES = 0x80
_WRITE_ATTRIBUTES = 0x100
_SHARE = 0x3
_APPEND = 0x100084
_OPEN_ALWAYS = 4
_LOCK_FAIL_AT_ONCE = 0x1
_LOCK_EXCLUSIVE = 0x2
_LOCK_VIOLATION = 33
_LOCKED_BYTE = 1 << 62


class StartupInfo:
    """How a process is to be started, in the form that the interpreter's own call reads."""

    __slots__ = ("dwFlags", "hStdError", "hStdInput", "hStdOutput", "lpAttributeList", "wShowWindow")

    def __init__(self, stdio: "Sequence[int]", inherited: "Sequence[int]") -> None:
        self.dwFlags = 0x100 if stdio else 0
        self.wShowWindow = 0
        handles: Sequence[int | None] = stdio or (None, None, None)
        self.hStdInput, self.hStdOutput, self.hStdError = handles
        self.lpAttributeList = {"handle_list": [*stdio, *inherited]}


def dll() -> "Any":
    """Return the system's library, with handles as wide as they are."""
    global _dll  # noqa: PLW0603 - loaded once
    if _dll is None:
        library = WinDLL("kernel32", use_last_error=True)
        for name in _MAKERS:
            getattr(library, name).restype = ctypes.c_void_p
        _dll = library
    return _dll


_dll: "Any" = None
_MAKERS = (
    "CreateEventW",
    "CreateIoCompletionPort",
    "CreateJobObjectW",
    "CreateMutexW",
    "CreateToolhelp32Snapshot",
    "OpenMutexW",
)


def check(result: int | None) -> int:
    """Return what a call of the library gave; raise its error if that is nothing."""
    if not result:
        raise WinError(get_last_error())
    return result


def create_named(make: "Any", *words: object) -> tuple[int, bool]:
    """Make something that has a name; say also whether it is new."""
    set_last_error(0)
    handle = check(make(*words))
    return handle, get_last_error() != _ALREADY_EXISTS


def close(handle: int) -> None:
    """Give a handle back."""
    _winapi.CloseHandle(handle)


def duplicate(handle: int, *, inheritable: bool) -> int:
    """Return another handle of the same thing."""
    me = _winapi.GetCurrentProcess()
    copy: int = _winapi.DuplicateHandle(me, handle, me, 0, inheritable, _winapi.DUPLICATE_SAME_ACCESS)
    return copy


def create_event(*, manual: bool) -> int:
    """Make an event that is not set; unless `manual`, the first waiter resets it."""
    return check(dll().CreateEventW(None, manual, False, None))


def set_event(event: int) -> None:
    """Set an event; from any thread."""
    dll().SetEvent(ctypes.c_void_p(event))


def wait_any(handles: "Sequence[int]", seconds: float | None) -> int | None:
    """Return the index of the first handle that is signalled; None after so many seconds.

    In the main thread Ctrl-C ends the wait, as KeyboardInterrupt or whatever
    the caller's handler raises; InterruptedError if it raises nothing.
    """
    found = _winapi.WaitForMultipleObjects(handles, False, _milliseconds(seconds))
    return None if found == _winapi.WAIT_TIMEOUT else found


def wait(handle: int, seconds: float | None) -> bool:
    """Wait for one handle, deaf to Ctrl-C; False after so many seconds."""
    found: int = _winapi.WaitForSingleObject(handle, _milliseconds(seconds))
    return found == 0


def create_process(
    program: str,
    line: str,
    cwd: str,
    env: dict[str, str],
    *,
    stdio: "Sequence[int]" = (),
    inherited: "Sequence[int]" = (),
    flags: int,
) -> tuple[int, int, int]:
    """Start a process that inherits these handles alone; return its handle, its thread's and its pid."""
    for handle in (*stdio, *inherited):
        set_handle_inheritable(handle, True)
    process, thread, pid, _ = _winapi.CreateProcess(
        program, line, None, None, True, flags, env, cwd, StartupInfo(stdio, inherited)
    )
    return process, thread, pid


def resume(thread: int) -> None:
    """Let a thread run that was created suspended."""
    if dll().ResumeThread(ctypes.c_void_p(thread)) == -1:
        raise WinError(get_last_error())


def open_process(pid: int, access: int) -> int | None:
    """Return a handle of the process with this pid; None if there is none."""
    if pid <= 0:
        return None
    try:
        handle: int = _winapi.OpenProcess(access, False, pid)
    except OSError as error:
        if getattr(error, "winerror", 0) == _INVALID_PARAMETER:
            return None
        raise
    # The system overlooks the last two bits of a pid.
    if dll().GetProcessId(ctypes.c_void_p(handle)) != pid:
        close(handle)
        return None
    return handle


def creation_time(process: int) -> int:
    """Return when a process was created, in units of 100 ns since the year 1601."""
    times = [ctypes.c_ulonglong() for _ in range(4)]
    check(dll().GetProcessTimes(ctypes.c_void_p(process), *map(ctypes.byref, times)))
    return times[0].value


def exit_code(process: int) -> int:
    """Return the exit code of a process that has exited."""
    code: int = _winapi.GetExitCodeProcess(process)
    return code


def terminate(process: int, code: int) -> bool:
    """End one process by force; False if it was gone already."""
    try:
        _winapi.TerminateProcess(process, code)
    except PermissionError:
        if wait(process, 0):
            return False
        raise
    return True


def null(*, writing: bool = False) -> int:
    """Open the null device for reading or writing."""
    access = _winapi.GENERIC_WRITE if writing else _winapi.GENERIC_READ
    handle: int = _winapi.CreateFile("NUL", access, _SHARE, 0, _winapi.OPEN_EXISTING, 0, 0)
    return handle


def appended(path: str) -> int:
    """Open a file, made if it is not there, at whose end all is written."""
    handle: int = _winapi.CreateFile(path, _APPEND, _SHARE, 0, _OPEN_ALWAYS, 0, 0)
    return handle


def handle_of(fd: int) -> int:
    """Return the handle behind a descriptor, which keeps it."""
    handle: int = msvcrt.get_osfhandle(fd)
    return handle


def descriptor(handle: int) -> int:
    """Make a descriptor of a handle, which closes it."""
    set_handle_inheritable(handle, False)
    fd: int = msvcrt.open_osfhandle(handle, 0)
    return fd


def pipe(*, reading: bool) -> tuple[int, int]:
    """Make a pipe whose first end is ours, to read from or to write to, and whose other is a child's.

    Our end can be waited for together with other things, which an anonymous
    pipe cannot; so the pipe has a name that cannot be guessed.
    """
    name = rf"\\.\pipe\agent-exec-{os.getpid()}-{os.urandom(16).hex()}"
    direction = _winapi.PIPE_ACCESS_INBOUND if reading else _PIPE_ACCESS_OUTBOUND
    mode = direction | _winapi.FILE_FLAG_OVERLAPPED | _winapi.FILE_FLAG_FIRST_PIPE_INSTANCE
    ours = _winapi.CreateNamedPipe(name, mode, _REJECT_REMOTE, 1, PIPE_SIZE, PIPE_SIZE, 0, 0)
    # Some C libraries look at, or set, the mode of a pipe that they are given.
    access = _winapi.GENERIC_WRITE | _READ_ATTRIBUTES if reading else _winapi.GENERIC_READ | _WRITE_ATTRIBUTES
    try:
        return ours, _winapi.CreateFile(name, access, 0, 0, _winapi.OPEN_EXISTING, 0, 0)
    except BaseException:
        close(ours)
        raise


def read(handle: int, size: int, stop: int, patience: float) -> bytes:
    """Wait for bytes and read them; none is no end, but what someone wrote.

    BrokenPipeError is the end. TimeoutError says that nothing is there and
    that `stop` was set, so many seconds ago.
    """
    transfer, error = _winapi.ReadFile(handle, size, overlapped=True)
    if error == _winapi.ERROR_IO_PENDING:
        _settle(transfer, stop, patience)
    count, _ = transfer.GetOverlappedResult(True)
    return (transfer.getbuffer() or b"")[:count]


def write(handle: int, data: bytes, stop: int) -> int:
    """Wait until something of this can be written, and write it; return how much.

    BrokenPipeError says that the reader is gone, TimeoutError that `stop`
    was set first.
    """
    transfer, error = _winapi.WriteFile(handle, data, overlapped=True)
    if error == _winapi.ERROR_IO_PENDING:
        _settle(transfer, stop, 0)
    count: int = transfer.GetOverlappedResult(True)[0]
    return count


def lock(fd: int, *, exclusive: bool) -> bool:
    """Lock a file's far end; False if another holds it."""
    flags = _LOCK_FAIL_AT_ONCE | (_LOCK_EXCLUSIVE if exclusive else 0)
    file = ctypes.c_void_p(msvcrt.get_osfhandle(fd))
    if dll().LockFileEx(file, flags, 0, 1, 0, ctypes.byref(_locked_byte())):
        return True
    if get_last_error() in (_LOCK_VIOLATION, _winapi.ERROR_IO_PENDING):
        return False
    raise WinError(get_last_error())


def unlock(fd: int) -> None:
    """Undo a lock."""
    file = ctypes.c_void_p(msvcrt.get_osfhandle(fd))
    check(dll().UnlockFileEx(file, 0, 1, 0, ctypes.byref(_locked_byte())))


def _locked_byte() -> "Any":
    """Return the place of the byte we lock, as an OVERLAPPED: two words unused, the place, and no event."""
    word = ctypes.sizeof(ctypes.c_void_p)
    return ctypes.create_string_buffer(bytes(2 * word) + _LOCKED_BYTE.to_bytes(8, "little") + bytes(word))


def _settle(transfer: "Any", stop: int, patience: float) -> None:
    """Wait until a transfer is over; once `stop` is set, cancel it after so many seconds."""
    if wait_any((transfer.event, stop), None) == 0 or wait(transfer.event, patience):
        return
    transfer.cancel()
    # It may have come to its end just before.
    if transfer.GetOverlappedResult(True)[1] == _winapi.ERROR_OPERATION_ABORTED:
        raise TimeoutError


def _milliseconds(seconds: float | None) -> int:
    """Return a time to wait, rounded up: the last fraction would be a busy wait."""
    if seconds is None:
        return _FOR_EVER
    return min(int(seconds * 1000) + (seconds > 0), _LONGEST_WAIT)
