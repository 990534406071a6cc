"""Landlock: what may be written to, by folders, whatever is mounted; a second wall behind the mounts.

Only writing is handled, so reading needs no rule. What it denies gives
EACCES (EXDEV for a link or rename to another folder's rights), and EPERM for
signals and abstract sockets that lead out.
"""

import os
import stat
import struct
from errno import ENOSYS, EOPNOTSUPP

from agent_exec.sandbox.closing import Closing
from agent_exec.sandbox.linux.calls import failure, invoke, open_path

WRITE_FILE = 1 << 1
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

_SCOPE_ABSTRACT_UNIX = 1
_SCOPE_SIGNAL = 2

_FIRST = WRITE_FILE | REMOVE_DIR | REMOVE_FILE
_FIRST |= MAKE_CHAR | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_BLOCK | MAKE_SYM
_OF_FILES = WRITE_FILE | TRUNCATE | IOCTL_DEV
_NEVER = MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV

_VERSION = 1
_PATH_BENEATH = 1


def abi() -> int:
    """Return the version of the kernel's Landlock; 0 if it has none, or it is switched off."""
    try:
        return invoke("landlock_create_ruleset", None, 0, _VERSION)
    except OSError as problem:
        if problem.errno in (ENOSYS, EOPNOTSUPP):
            return 0
        raise


def handled(version: int) -> int:
    """Return the rights to write that a version of Landlock knows."""
    rights = _FIRST
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        if version >= since:
            rights |= right
    return rights


class Ruleset:
    """What may be written to; made once, and good for any number of processes that restrict themselves.

    Signals and abstract sockets that lead out are denied if `scope` says so
    (from ABI 6 on). The first version denies every link and rename between folders.
    """

    __slots__ = ("_fd", "_rights", "scope")

    def __init__(self) -> None:
        version = abi()
        if version == 0:
            raise failure(EOPNOTSUPP, "landlock_create_ruleset")
        self._rights = handled(version)
        self.scope = version >= 6
        fields = [self._rights]
        if self.scope:
            fields += [0, _SCOPE_ABSTRACT_UNIX | _SCOPE_SIGNAL]  # and nothing about the network
        attributes = struct.pack(f"{len(fields)}Q", *fields)
        self._fd = invoke("landlock_create_ruleset", attributes, len(attributes), 0)

    def allow_write(self, where: str | int) -> None:
        """Let all below a path, or what a descriptor stands for, be changed; but no devices be made there."""
        self._allow(where, self._rights & ~_NEVER)

    def allow_devices(self, where: str) -> None:
        """Let the devices below a path be written to and controlled, and nothing be made or removed."""
        self._allow(where, _OF_FILES & self._rights)

    def restrict_self(self) -> None:
        """Apply the rules to this thread and all its children, irrevocably; needs no_new_privs."""
        invoke("landlock_restrict_self", self._fd, 0)

    def close(self) -> None:
        """Forget the rules; restricted processes stay so. Harmless when repeated."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _allow(self, where: str | int, rights: int) -> None:
        with Closing(open_path(where) if isinstance(where, str) else os.dup(where)) as fd:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                rights &= _OF_FILES
            rule = struct.pack("=Qi", rights, fd)
            invoke("landlock_add_rule", self._fd, _PATH_BENEATH, rule, 0, path=str(where))
