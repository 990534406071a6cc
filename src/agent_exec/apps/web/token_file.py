"""The secret that every request over HTTP must bear."""

import os
import secrets
import stat
import sys
from errno import ELOOP

from agent_exec.apps.parse import UsageError
from agent_exec.places import make_folder, token_place, write_file

_BYTES = 24  # 192 bits
_LEAST, _MOST = 32, 1024


def token_of_file(path: str, verb: str = "mcp", *, make: bool = True) -> str:
    """Return the secret in a private file, which is made if it is missing, unless `make` is False.

    Raise UsageError for a link, a file that others may read or write, a file
    of another user, and a file without a secret.
    """
    doing = "made"
    try:
        if not make and not os.path.lexists(path):
            raise _unusable(verb, f"{path!r} is missing; name the file that the server printed at its start")
        if path == os.path.abspath(token_place()):
            make_folder(os.path.dirname(path))
        if not os.path.lexists(path):
            token = secrets.token_urlsafe(_BYTES)
            try:
                write_file(path, f"{token}\n".encode(), new=True)
                return token
            except FileExistsError:
                pass  # another server was faster
        doing = "read"
        with open(path, "rb", opener=_open) as file:
            _check(verb, path, os.fstat(file.fileno()))
            text = file.read(_MOST + 1)
    except OSError as error:
        if error.errno == ELOOP:
            raise _unusable(verb, f"{path!r} is a link; name the file itself") from None
        raise _unusable(
            verb, f"{path!r} cannot be {doing}: {error.strerror}; name a file in a folder of yours"
        ) from None
    secret = text.strip()
    if not (_LEAST <= len(secret) <= _MOST and all(33 <= byte < 127 for byte in secret)):
        raise _unusable(
            verb,
            f"{path!r} must hold one word of {_LEAST} to {_MOST} letters, digits and signs;"
            " remove it, and a new one is made",
        )
    return secret.decode()


def _open(path: str, flags: int) -> int:
    # A pipe would have us wait; a link may lead to a file that another user chose.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))


def _check(verb: str, path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _unusable(verb, f"{path!r} is not a file; name another")
    if sys.platform == "win32":
        return  # the rights of a file are those of its folder there
    if found.st_uid != os.geteuid():
        raise _unusable(verb, f"{path!r} belongs to another user; name a file of your own")
    if found.st_mode & 0o077:
        raise _unusable(verb, f"others may read or write {path!r}; remove it, and a private one is made")


def _unusable(verb: str, problem: str) -> UsageError:
    return UsageError(f"--token-file: {problem}", verb)
