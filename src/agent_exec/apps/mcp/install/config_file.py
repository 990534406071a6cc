"""The configuration file of a client: read whole, replaced whole after a backup."""

import os
import stat
import sys
from contextlib import contextmanager
from errno import EACCES
from itertools import count
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
_NO_FILE = "is not a file; move it away, and try again"


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
    real = os.path.realpath(path)
    if project is not None and not below(real, (os.path.realpath(project),)):
        raise InvalidConfig(
            f"{path} leads out of the project, to {real}; change that file yourself", file=path
        )
    try:
        with open(real, "rb", opener=_open) as file:
            state = os.fstat(file.fileno())
            data = file.read(LARGEST + 1) if stat.S_ISREG(state.st_mode) else b""
            problem = _problem(state, data)
    except FileNotFoundError:
        return Found(real, "")
    except IsADirectoryError:
        raise InvalidConfig(f"{path} {_NO_FILE}", file=path) from None
    except OSError as error:
        raise _failed(path, "cannot be read", error) from None
    if problem:
        raise InvalidConfig(f"{path} {problem}", file=path)
    text = data.decode()
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


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe would have us wait


def _problem(state: os.stat_result, data: bytes) -> str:
    """Return the reason why a file is not to be changed; "" if there is none."""
    if not stat.S_ISREG(state.st_mode):
        return _NO_FILE
    if sys.platform != "win32" and os.geteuid() not in (0, state.st_uid):
        return "belongs to another user; ask that user to change it"
    if len(data) > LARGEST:
        return "is too large to be a configuration; make it smaller, and try again"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "is not in UTF-8; save it so, and try again"
    return ""


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
    name = f"{found.path}.bak"
    for number in count(1):
        if os.path.isfile(name) and not os.path.islink(name):
            with open(name, "rb") as file:
                if file.read(len(found.data) + 1) == found.data:
                    break
        try:
            write_file(name, found.data, like=state, new=True)
            break
        except FileExistsError:
            name = f"{found.path}.bak.{number}"
    return name


def _changed(found: Found) -> Busy:
    return Busy(f"{found.path} was changed by another program just now; try again", file=found.path)


def _failed(path: str, what: str, error: OSError) -> ConfigFailed:
    return ConfigFailed(
        f"{path} {what}: {error.strerror or error}. Nothing was changed; see to that, and try again",
        file=path,
        errno=error.errno,
    )
