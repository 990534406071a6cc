"""The few calls of the C library that Python has no name for.

Made through the bare binding: the package around it costs a third of an
interpreter start.
"""

import _ctypes
import os
import sys


def prctl(option: int, value: object) -> None:
    """Set something of this process (Linux)."""
    address = _ctypes.dlsym(_ctypes.dlopen("", 0), "prctl")
    if _ctypes.call_cdeclfunction(address, (option, value, 0, 0, 0)) != 0:
        raise OSError(f"the system refused prctl({option})")


def inotify(path: bytes, events: int) -> int:
    """Return a descriptor that tells when something happens to a file; -1 if there is none to be had."""
    if sys.platform != "linux":
        return -1
    library = _ctypes.dlopen("", 0)
    init = _ctypes.dlsym(library, "inotify_init1")
    fd: int = _ctypes.call_cdeclfunction(init, (os.O_CLOEXEC | os.O_NONBLOCK,))
    add = _ctypes.dlsym(library, "inotify_add_watch")
    if fd >= 0 and _ctypes.call_cdeclfunction(add, (fd, path, events)) < 0:
        os.close(fd)
        return -1
    return fd
