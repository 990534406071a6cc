"""The few calls of the C library that Python has no name for.

Made from the bare binding: the package around it costs a third of an
interpreter start.
"""

import _ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Data = _ctypes._SimpleCData[int]
else:
    _Data = _ctypes._SimpleCData


class _Int(_Data):
    _type_ = "i"


class _Call(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Int


def prctl(option: int, value: object) -> None:
    """Set something of this process (Linux)."""
    call = _Call(_ctypes.dlsym(_ctypes.dlopen("", 0), "prctl"))
    if call(option, value, 0, 0, 0) != 0:
        error = _ctypes.get_errno()
        raise OSError(error, os.strerror(error), f"prctl({option})")
