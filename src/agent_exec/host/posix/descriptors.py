"""The descriptors that a forked copy of this process must not keep open.

A copy that held a pipe would keep a command from the end of its input, and
one that held a socket would keep a keeper from seeing that we are gone. The
copy gets the null device in their place: their numbers stay taken, so that
whoever closes them there later closes nothing of another's.
"""

import os

_held: set[int] = set()


def hold(fd: int) -> int:
    """Keep a descriptor from forked copies; give it back."""
    _held.add(fd)
    return fd


def close(fd: int) -> None:
    """Close a descriptor that was held, or any other."""
    _held.discard(fd)
    os.close(fd)


def release(fd: int) -> None:
    """Hold a descriptor no more, because someone else closes it."""
    _held.discard(fd)


def _blind() -> None:
    """In a forked copy: put the null device in the place of everything held."""
    if _held:
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for fd in _held:
            os.dup2(null, fd, inheritable=False)
        os.close(null)
        _held.clear()


os.register_at_fork(after_in_child=_blind)
