"""The configuration file of a client: read whole, replaced whole after a backup."""

import os
import stat
import sys
from contextlib import contextmanager
from errno import EACCES
from typing import TYPE_CHECKING, NamedTuple

from agent_exec.model.errors import Busy, ConfigFailed, InvalidConfig
from agent_exec.model.paths import below
from agent_exec.places import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
if sys.platform != "win32":
    import fcntl

LARGEST = 64 << 20
_MARK = "\ufeff"


class Found(NamedTuple):
    """A file as it was read, or its absence."""

    path: str
    """Its path, links resolved."""
    text: str
    mark: str = ""
    """The byte order mark that it begins with, or ""."""
    state: os.stat_result | None = None

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return (self.mark + self.text).encode()


def find(path: str, *, project: str | None = None) -> Found:
    """Read a file; without one, the text is empty and the state None.

    Links are followed, but not out of the folder `project`: the contents of a
    project may not choose which file of the user's is changed.
    """
    try:
        real = os.path.realpath(path, strict=os.path.lexists(path) and not _dangles(path))
    except OSError as error:
        raise _failed(path, "cannot be read", error) from None
    if project is not None and not below(real, (os.path.realpath(project),)):
        raise InvalidConfig(
            f"{path} leads out of the project, to {real}; change that file yourself", file=path
        )
    try:
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return Found(real, "")
    except OSError as error:
        raise _failed(path, "cannot be read", error) from None
    try:
        state = os.fstat(descriptor)
        _check(path, state)
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise _failed(path, "cannot be read", error) from None
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        raise InvalidConfig(
            f"{path} is too large to be a configuration; make it smaller, and try again", file=path
        )
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InvalidConfig(f"{path} is not in UTF-8; save it so, and try again", file=path) from None
    mark = _MARK if text.startswith(_MARK) else ""
    return Found(real, text[len(mark) :], mark, state)


def replace(found: Found, text: str) -> str | None:
    """Write a new text in the place of the one found, after a backup of that; return where the backup is.

    Raise Busy if the file has changed since it was found, or another of us is
    at work in its folder.
    """
    folder = os.path.dirname(found.path)
    backups: list[str] = []

    def ready() -> None:
        if found.state is not None:
            backups.append(_back_up(found, found.state))
        _check_unchanged(found)

    try:
        _check_unchanged(found)
        if found.state is not None and not os.access(found.path, os.W_OK):
            raise PermissionError(EACCES, "it may not be written")
        make_folder(folder)
        with _alone(folder):
            data = Found(found.path, text, found.mark).data
            write_file(found.path, data, like=found.state, new=found.state is None, ready=ready)
    except (FileExistsError, BlockingIOError):
        raise _changed(found) from None
    except OSError as error:
        raise _failed(found.path, "cannot be written", error) from None
    return backups[0] if backups else None


@contextmanager
def _alone(folder: str) -> "Iterator[None]":
    """Lock a folder against others of us, where the system can; raise BlockingIOError if it is locked."""
    descriptor = -1
    try:
        if sys.platform != "win32":
            try:
                descriptor = os.open(folder, os.O_RDONLY)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise
            except OSError:  # it may not be read, or folders cannot be locked here
                pass
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _dangles(path: str) -> bool:
    """True if a path is a dangling link."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _check(path: str, state: os.stat_result) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise InvalidConfig(f"{path} is no file; move it away, and try again", file=path)
    if sys.platform != "win32" and os.geteuid() not in (0, state.st_uid):
        raise InvalidConfig(f"{path} belongs to somebody else; ask them to change it", file=path)


def _check_unchanged(found: Found) -> None:
    try:
        with open(found.path, "rb") as file:
            now: bytes | None = file.read(LARGEST + 1)
    except FileNotFoundError:
        now = None
    if now != (None if found.state is None else found.data):
        raise _changed(found)


def _back_up(found: Found, state: os.stat_result) -> str:
    """Copy a file to the first free name, with its owner and mode; return that name."""
    number = 0
    while True:
        name = f"{found.path}.bak" + (f".{number}" if number else "")
        if _holds(name, found.data):
            return name
        try:
            write_file(name, found.data, like=state, new=True)
        except FileExistsError:
            number += 1
        else:
            return name


def _holds(path: str, data: bytes) -> bool:
    """True if a regular file, no link, has these bytes."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(data) + 1) == data
    except OSError:
        return False


def _changed(found: Found) -> Busy:
    return Busy(f"{found.path} was changed by somebody else just now; try again", file=found.path)


def _failed(path: str, what: str, error: OSError) -> ConfigFailed:
    return ConfigFailed(
        f"{path} {what}: {error.strerror or error}. Nothing was changed; see to that, and try again",
        file=path,
        errno=error.errno,
    )
