"""The configuration of another program as a file: read whole, written whole or not at all."""

import os
import secrets
import stat
import sys
from contextlib import contextmanager
from errno import EACCES
from typing import TYPE_CHECKING, NamedTuple

from agent_exec.model.errors import Busy, ConfigFailed, InvalidConfig
from agent_exec.model.paths import below
from agent_exec.places import make_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
if sys.platform != "win32":
    import fcntl

LARGEST = 64 << 20
_MARK = "\ufeff"


class Found(NamedTuple):
    """A file as it was found, or that there is none."""

    path: str
    """Where it is, links followed."""
    text: str
    mark: str = ""
    """The mark of its encoding that it begins with, if it does."""
    state: os.stat_result | None = None

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return (self.mark + self.text).encode()


def find(path: str, *, project: str | None = None) -> Found:
    """Read a file; nothing is there if it is not there.

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
    """Write a new text in the place of what was found, and keep a copy of that; give where the copy is.

    Whoever reads meanwhile finds the one or the other. Refuses if somebody
    has changed the file since.
    """
    folder = os.path.dirname(found.path)
    new = Found(found.path, text, found.mark).data
    made = None
    try:
        _check_unchanged(found)
        if found.state is not None and not os.access(found.path, os.W_OK):
            raise PermissionError(EACCES, "it may not be written")
        make_folder(folder)
        made = _write_beside(found, new)
        backup = _keep(found)
        with _alone(folder):
            _check_unchanged(found)
            if found.state is None:
                _name(made, found.path)
            else:
                os.replace(made, found.path)
            made = None
    except (FileExistsError, BlockingIOError):
        raise _changed(found) from None
    except OSError as error:
        raise _failed(found.path, "cannot be written", error) from None
    finally:
        if made is not None:
            os.unlink(made)
    _settle(folder)
    return backup


@contextmanager
def _alone(folder: str) -> "Iterator[None]":
    """Keep others of us out of a folder, where that can be; raises BlockingIOError if one is there."""
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
    """Whether a path leads to where nothing is, but could be."""
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


def _write_beside(found: Found, data: bytes) -> str:
    """Write a file beside the other, with its rights; a new one is for the user alone."""
    name = f"{found.path}.{secrets.token_hex(4)}.new"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if found.state is not None and sys.platform != "win32":
                if (found.state.st_uid, found.state.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(descriptor, found.state.st_uid, found.state.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(found.state.st_mode))
            os.fsync(descriptor)
    except BaseException:
        os.unlink(name)
        raise
    return name


def _check_unchanged(found: Found) -> None:
    try:
        with open(found.path, "rb") as file:
            now: bytes | None = file.read(LARGEST + 1)
    except FileNotFoundError:
        now = None
    if now != (None if found.state is None else found.data):
        raise _changed(found)


def _keep(found: Found) -> str | None:
    """Copy what was found to a name that is free, with its rights."""
    if found.state is None:
        return None
    made = _write_beside(found._replace(path=f"{found.path}.bak"), found.data)
    number = 0
    while True:
        name = f"{found.path}.bak" + (f".{number}" if number else "")
        try:
            _name(made, name)
        except FileExistsError:
            if not _holds(name, found.data):
                number += 1
                continue
            os.unlink(made)  # the same as before
        except OSError:
            os.unlink(made)
            raise
        return name


def _name(made: str, name: str) -> None:
    """Give a file a name that nobody has."""
    try:
        os.link(made, name)
    except FileExistsError:
        raise
    except OSError:  # there are no links here
        if os.path.lexists(name):
            raise FileExistsError from None
        os.replace(made, name)
    else:
        os.unlink(made)


def _holds(path: str, data: bytes) -> bool:
    """Whether a file of its own, and no link to what will change, has these bytes."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(data) + 1) == data
    except OSError:
        return False


def _settle(folder: str) -> None:
    """Have the new name on the disk, where folders can be synced."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _changed(found: Found) -> Busy:
    return Busy(f"{found.path} was changed by somebody else just now; try again", file=found.path)


def _failed(path: str, what: str, error: OSError) -> ConfigFailed:
    return ConfigFailed(
        f"{path} {what}: {error.strerror or error}. Nothing was changed; see to that, and try again",
        file=path,
        errno=error.errno,
    )
