"""How files are opened: not through a link, not for a child to inherit, not to wait for."""

import errno
import os
import stat

from agent_exec.model.errors import Interrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.model.cancel import Cancel

FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_BLOCK = 1 << 16
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def open_to_read(path: str) -> int:
    """Open a file for reading; raise OSError for anything that is none, such as a pipe in its place."""
    fd = os.open(path, os.O_RDONLY | _NONBLOCK | FLAGS)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    return fd


def chunks(fd: int, cancel: "Cancel | None" = None) -> "Iterator[bytes]":
    """Yield what can be read from a descriptor, to its end; raise Interrupted once `cancel` is set."""
    from agent_exec.host import wait_to_read

    while True:
        if cancel is not None and not wait_to_read(fd, cancel):
            raise Interrupted("interrupted while the input was read; nothing was done")
        data = os.read(fd, _BLOCK)
        if not data:
            return
        yield data


def create(path: str) -> int:
    """Make a new file for writing, for us alone."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o600)
