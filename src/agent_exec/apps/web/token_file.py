"""The secret that every request over HTTP must bear."""

import os
import secrets
import stat
import sys
from errno import ELOOP

from agent_exec.apps.usage import UsageError
from agent_exec.places import make_folder, write_file
from agent_exec.settings import token_place

_BYTES = 24  # 192 bits
_LEAST, _MOST = 32, 1024


def token_of_file(path: str) -> str:
    """Return the secret in a private file, which is made if it is missing.

    Raise UsageError for a link, a file that others may read or write, a file
    of another user, and a file without a secret.
    """
    try:
        if path == os.path.abspath(token_place()):
            make_folder(os.path.dirname(path))
        return _made(path)
    except FileExistsError:
        pass
    except OSError as error:
        raise _cannot(path, "made", error) from None
    try:
        with open(path, "rb", opener=_opened) as file:
            _check(path, os.fstat(file.fileno()))
            text = file.read(_MOST + 1)
    except OSError as error:
        if error.errno == ELOOP:
            raise UsageError(f"--token-file: {path!r} is a link; name the file itself", "mcp") from None
        raise _cannot(path, "read", error) from None
    token = text.strip()
    if not (_LEAST <= len(token) <= _MOST and token.isascii() and all(33 <= byte < 127 for byte in token)):
        raise UsageError(
            f"--token-file: {path!r} must hold one word of {_LEAST} to {_MOST} letters, digits and signs;"
            " remove it, and a new one is made",
            "mcp",
        )
    return token.decode()


def _made(path: str) -> str:
    """Write a new secret into a new file; raise FileExistsError if there is one."""
    if os.path.lexists(path):
        raise FileExistsError
    token = secrets.token_urlsafe(_BYTES)
    write_file(path, f"{token}\n".encode(), new=True)
    return token


def _cannot(path: str, what: str, error: OSError) -> UsageError:
    return UsageError(
        f"--token-file: {path!r} cannot be {what}: {error.strerror}; name a file in a folder of yours", "mcp"
    )


def _opened(path: str, flags: int) -> int:
    # A pipe would have us wait; a link may lead to what another chose.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))


def _check(path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"--token-file: {path!r} is no file; name another", "mcp")
    if sys.platform == "win32":
        return  # the rights of a file are those of its folder there
    if found.st_uid != os.geteuid():
        raise UsageError(f"--token-file: {path!r} belongs to somebody else; name one of your own", "mcp")
    if found.st_mode & 0o077:
        raise UsageError(
            f"--token-file: others may read or write {path!r}; remove it, and a private one is made",
            "mcp",
        )
