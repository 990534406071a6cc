"""The few calls of the C library that Python has no name for.

Made through the bare binding: the package around it costs a third of an
interpreter start.
"""

import _ctypes


def prctl(option: int, value: object) -> None:
    """Set something of this process (Linux)."""
    address = _ctypes.dlsym(_ctypes.dlopen("", 0), "prctl")
    if _ctypes.call_cdeclfunction(address, (option, value, 0, 0, 0)) != 0:
        raise OSError(f"the system refused prctl({option})")
