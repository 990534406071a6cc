"""Where the sockets of servers are: a folder of the user's own, a name for each server."""

import os
import socket
import stat
import sys
from contextlib import contextmanager

from agent_exec.host import connect_unix
from agent_exec.model.errors import StoreFailed, Unsupported
from agent_exec.places import make_folder, servers_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIX = ".sock"
_LONGEST = 107
"""How many bytes the path of a socket may have; a longer one is used through a descriptor of its folder."""
_BACKLOG = 128
_ROOM = 16


def listen(server: str) -> tuple[socket.socket, str]:
    """Return a socket that listens for viewers of a server, and its path; for this user alone."""
    if sys.platform == "win32":
        raise Unsupported("this system has no Unix sockets")
    folder = servers_folder()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        make_folder(folder)
        _check(folder)
        _sweep()
        with _reached(folder) as short:
            fresh = os.path.join(short, f"{server}.new")
            listener.bind(fresh)
            listener.listen(_BACKLOG)
            # Only now it has its name: a socket of that kind that nothing listens at is a dead server's.
            os.rename(fresh, os.path.join(short, server + _SUFFIX))
        listener.setblocking(False)
    except BaseException as error:
        listener.close()
        if isinstance(error, OSError):
            raise StoreFailed(f"no socket can be made in {folder!r}: {error.strerror}", path=folder) from None
        raise
    return listener, os.path.join(folder, server + _SUFFIX)


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end of a connection."""
    if sys.platform == "win32":
        raise Unsupported("this system does not say who connects")
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(found[:4], sys.byteorder), int.from_bytes(found[4:8], sys.byteorder)


def servers() -> list[str]:
    """Return the names of servers that have a socket, living or dead; the oldest first."""
    folder = servers_folder()
    found = []
    for name in _names(folder):
        if name.endswith(_SUFFIX):
            try:
                found.append((os.lstat(os.path.join(folder, name)).st_mtime, name.removesuffix(_SUFFIX)))
            except OSError:
                continue
    return [name for _, name in sorted(found)]


def connect(server: str, seconds: float | None = None) -> socket.socket | None:
    """Return a connection to a server, whose calls take at most so many seconds; None if there is none.

    The socket of a dead server is removed.
    """
    if not server.isalnum() or not server.isascii():
        return None
    folder = servers_folder()
    try:
        with _reached(folder) as short:
            path = os.path.join(short, server + _SUFFIX)
            try:
                return connect_unix(path, seconds)
            except ConnectionRefusedError:
                remove(path)
                return None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreFailed(
            f"server {server} cannot be reached: {error.strerror or 'it does not answer'}; try again",
            server=server,
        ) from None


def remove(path: str) -> None:
    """Remove a socket; harmless when repeated."""
    try:
        os.unlink(path)
    except OSError:
        return


def _sweep() -> None:
    """Remove the sockets of dead servers."""
    for name in servers():
        try:
            connection = connect(name, 0)
        except StoreFailed:  # it lives, and has much to do
            continue
        if connection is not None:
            connection.close()


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _check(folder: str) -> None:
    """Raise StoreFailed unless the folder is the user's alone."""
    found = os.lstat(folder)
    if sys.platform != "win32" and (found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode)):
        raise StoreFailed(f"the folder {folder!r} is not yours; remove it, or set XDG_DATA_HOME", path=folder)
    if found.st_mode & 0o077:
        os.chmod(folder, 0o700)


@contextmanager
def _reached(folder: str) -> "Iterator[str]":
    """Yield a path of a folder that is short enough for the sockets in it."""
    if len(os.fsencode(folder)) + _ROOM <= _LONGEST or sys.platform != "linux":
        yield folder
        return
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)
