"""The input of a job: kept nowhere but in a file without a name, so that it goes when it is not needed."""

import os
import stat

from agent_exec.jobs.store import broken, new_id
from agent_exec.logs.folders import HiddenPath, chunks, open_file, open_own_file
from agent_exec.model.errors import InputTooLarge, InvalidArgument
from agent_exec.places import make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel

SPOOL = ".stdin-"
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def from_descriptor(store: "Store", fd: int, limit: int, cancel: "Cancel | None" = None) -> int:
    """Read a descriptor to its end, at most so many bytes, and return one to read the same from."""
    return _spool(store, _input(fd, cancel), limit)


def _input(fd: int, cancel: "Cancel | None") -> "Iterator[bytes]":
    try:
        yield from chunks(fd, cancel)
    except OSError as error:
        raise InvalidArgument(f"--stdin -: the input cannot be read: {error.strerror}") from None


def from_bytes(store: "Store", data: bytes, limit: int) -> int:
    """Return a descriptor to read these bytes from."""
    return _spool(store, (data,), limit)


def spooled(store: "Store", data: "Iterable[bytes]") -> int:
    """Return a descriptor to read these pieces from, one after the other."""
    return _spool(store, data, 1 << 62)


def from_file(
    path: str,
    *,
    real: str | None = None,
    hidden: "Sequence[str] | None" = None,
    name: str = "--stdin-file",
    limit: int | None = None,
) -> int:
    """Open a file for reading; raise InvalidArgument for one that may have to be waited for.

    It is none of the paths `hidden`. With `real`, where a path of another
    user was found to lead, no link is followed any more. `name` is the
    argument's, for messages. `limit` is how many bytes the file may have.
    """
    try:
        fd = open_own_file(path, hidden) if real is None else open_file(real, hidden or ())
    except HiddenPath:
        raise InvalidArgument(
            f"{name} {path!r} is hidden by the sandbox; name another file", path=path
        ) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a path"
        raise InvalidArgument(f"{name} {path!r} cannot be read: {why}", path=path) from None
    found = os.fstat(fd)
    mode = found.st_mode
    if limit is not None and (found.st_size > limit or not stat.S_ISREG(mode)):
        os.close(fd)
        if stat.S_ISREG(mode):
            raise too_large(f"{name} {path!r}", limit, "make it smaller, or raise the limit")
        raise InvalidArgument(f"{name} {path!r} is not a file, so its size cannot be limited", path=path)
    if stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(fd)):
        set_blocking = getattr(os, "set_blocking", None)
        if set_blocking is not None and stat.S_ISCHR(mode):
            set_blocking(fd, True)  # its reader expects that; to a file it makes no difference
        return fd
    os.close(fd)
    raise InvalidArgument(f"{name} {path!r} is not a file; pass a pipe with --stdin - instead", path=path)


def _spool(store: "Store", chunks: "Iterable[bytes]", limit: int) -> int:
    size = 0
    try:
        fd = _nameless(store.root)
        try:
            for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise too_large("the input", limit, "use --stdin-file, or raise --stdin-max-bytes")
                view = memoryview(chunk)
                while view:
                    view = view[os.write(fd, view) :]
            os.lseek(fd, 0, os.SEEK_SET)
        except BaseException:
            os.close(fd)
            raise
    except OSError as error:
        raise broken(error, store.root) from error
    return fd


def too_large(what: str, limit: int, remedy: str) -> InputTooLarge:
    """Return the error for input beyond a limit of bytes."""
    return InputTooLarge(f"{what} is larger than {limit} bytes; {remedy}", limit=limit)


def _nameless(root: str) -> int:
    """Open a file that has no name, or loses it at once."""
    make_folder(root)
    if hasattr(os, "O_TMPFILE"):
        try:
            return os.open(root, os.O_RDWR | os.O_TMPFILE | _FLAGS, 0o600)
        except OSError:
            pass  # a file system that has none
    path = os.path.join(root, f"{SPOOL}{new_id()}")
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_TEMPORARY", 0) | _FLAGS, 0o600)
    if not hasattr(os, "O_TEMPORARY"):
        os.unlink(path)
    return fd
