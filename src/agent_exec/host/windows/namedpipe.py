"""A pipe with a name, by which any process of this user can call its owner, one at a time.

Where something may take long, the caller says how it waits: `wait` is given
an event and says whether that came.
"""

import ctypes
import sys
from time import monotonic, sleep

from agent_exec.host.windows import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Wait = Callable[[int], bool]

if sys.platform == "win32":
    import _winapi
else:
    _winapi: "Any" = None

_SIZE = 1 << 12
_REJECT_REMOTE = 0x8
_BUSY = 231
_NO_DATA = 232
_PATIENCE = 10.0
_PAUSE = 0.005
# Whoever has taken the name may learn who we are, and no more.
_IDENTIFY_ONLY = 0x110000


def create(name: str) -> int:
    """Make the pipe, for one caller at a time; PermissionError if another process has it."""
    mode = _winapi.PIPE_ACCESS_INBOUND | _winapi.FILE_FLAG_OVERLAPPED | _winapi.FILE_FLAG_FIRST_PIPE_INSTANCE
    handle: int = _winapi.CreateNamedPipe(name, mode, _REJECT_REMOTE, 1, _SIZE, _SIZE, 0, 0)
    return handle


def connect(pipe: int, wait: "Wait") -> bool:
    """Wait for a caller; False if `wait` gave up."""
    try:
        transfer = _winapi.ConnectNamedPipe(pipe, overlapped=True)
    except OSError as error:
        if getattr(error, "winerror", 0) == _NO_DATA:
            return True  # it has called and hung up already; what it said is still there
        raise
    return wait(transfer.event) or not _cancelled(transfer)


def read(pipe: int, size: int, wait: "Wait") -> bytes | None:
    """Return what comes to this, or any other, overlapped pipe; None if `wait` gave up.

    BrokenPipeError is the end.
    """
    transfer, error = _winapi.ReadFile(pipe, size, overlapped=True)
    if error == _winapi.ERROR_IO_PENDING and not wait(transfer.event) and _cancelled(transfer):
        return None
    count, _ = transfer.GetOverlappedResult(True)
    return (transfer.getbuffer() or b"")[:count]


def disconnect(pipe: int) -> None:
    """Let the caller go."""
    kernel.check(kernel.dll().DisconnectNamedPipe(ctypes.c_void_p(pipe)))


def call(name: str, data: bytes) -> bool:
    """Call the owner of the pipe and say this; False if there is none, or it has no time for us."""
    pipe = _open(name)
    if pipe is None:
        return False
    try:
        _winapi.WriteFile(pipe, data)
    except OSError:
        return False
    finally:
        kernel.close(pipe)
    return True


def _open(name: str) -> int | None:
    """Call the owner, again and again while it hears another; None if there is no owner, or no hope."""
    deadline = monotonic() + _PATIENCE
    while True:
        try:
            pipe: int = _winapi.CreateFile(
                name, _winapi.GENERIC_WRITE, 0, 0, _winapi.OPEN_EXISTING, _IDENTIFY_ONLY, 0
            )
        except OSError as error:
            if getattr(error, "winerror", 0) != _BUSY or monotonic() > deadline:
                return None
        else:
            return pipe
        sleep(_PAUSE)


def _cancelled(transfer: "Any") -> bool:
    """Cancel a transfer; False if it came to its end just before."""
    transfer.cancel()
    aborted: bool = transfer.GetOverlappedResult(True)[1] == _winapi.ERROR_OPERATION_ABORTED
    return aborted
