"""Standard input as the input of a command: a redirected file is taken, a pipe only on request."""

import os
import sys
from stat import S_ISFIFO, S_ISREG


def redirected() -> bool:
    """True if standard input is a file at its beginning.

    A file that was read before belongs to the reader: a script, or a loop
    that goes through its lines.
    """
    try:
        found = os.fstat(0)
        return S_ISREG(found.st_mode) and found.st_size > 0 and os.lseek(0, 0, os.SEEK_CUR) == 0
    except OSError:
        return False


def has_unread_pipe() -> bool:
    """True if standard input is a pipe with data in it."""
    if sys.platform == "win32":
        return False
    try:
        if not S_ISFIFO(os.fstat(0).st_mode):
            return False
        import select

        watch = select.poll()
        watch.register(0, select.POLLIN)
        return any(event & select.POLLIN for _, event in watch.poll(0))
    except OSError:
        return False
