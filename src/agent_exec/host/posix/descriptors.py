"""The descriptors that a forked copy of this process must not keep open.

A copy that held a pipe would keep a command from the end of its input, and
one that held a socket would keep a keeper from seeing that we are gone. The
copy gets the null device in their place: their numbers stay taken, so that
whoever closes them there later closes nothing of another's.
"""

import os
from _thread import RLock

_held: set[int] = set()
_making = RLock()  # nobody forks between the making of a descriptor and its being held


def hold(fd: int) -> int:
    """Keep a descriptor from forked copies; return it back."""
    _held.add(fd)
    return fd


def pipe() -> tuple[int, int]:
    """Make a pipe, both ends of it held."""
    with _making:
        ends = os.pipe()
        _held.update(ends)
    return ends


def close(fd: int) -> None:
    """Close a descriptor that was held, or any other."""
    _held.discard(fd)
    os.close(fd)


def release(fd: int) -> None:
    """Hold a descriptor no more, because someone else closes it."""
    _held.discard(fd)


def _blind() -> None:
    """In a forked copy: put the null device in the place of everything held."""
    _making.release()
    if _held:
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for fd in _held:
            os.dup2(null, fd, inheritable=False)
        os.close(null)
        _held.clear()


os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_blind)
